// SPDX-License-Identifier: Apache-2.0
// The format `ctr_svm`, the "svm" form of Paddle's create_ctr_reader: a line "label feasign:slot
// feasign:slot ..." for each record. (Its "csv" form is `csv` with delimiter " " and separator
// ",".)
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "readers/fields/guessed_type.h"
#include "readers/formats/sparse_text/sparse_text.h"

namespace millhopper {
namespace {

class CtrSvmFormat final : public SparseTextFormat {
 public:
  CtrSvmFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : SparseTextFormat(arguments, std::move(fields)), others_(OthersOf(arguments.attributes)) {
    for (size_t slot = 0; slot < this->fields().size(); ++slot) {
      const Field& field = this->fields()[slot];
      const std::string where = StrCat("field '", Escaped(field.name), "': ");
      Require(!field.bytes && field.decode == Field::Decode::kNone, where,
              "a slot holds numbers, so bytes and decode= are not for it");
      const bool is_label = field.name == "label";
      Require(
          is_label != field.sequence && field.values == 1, where,
          is_label ? "it is one number" : "a slot has any number of signs, so its dims are [-1]");
      Require(slots_.emplace(field.name, slot).second, where, "it is named twice");
    }
  }

 private:
  // Calls sign(text, slot) for each sign of a slot that is wanted.
  template <typename Sign>
  void ForEachSign(Tokens tokens, const Sign& sign) const {
    for (std::string_view token; tokens.Next(&token);) {
      const size_t colon = token.find(':');
      if (colon == std::string_view::npos) {
        Throw(ErrorCode::kDataLoss, "'", Escaped(std::string(token.substr(0, 60))),
              "' is no feasign:slot");
      }
      const std::string_view slot = token.substr(colon + 1);
      const auto found = slots_.find(slot);
      if (found != slots_.end()) {
        sign(token.substr(0, colon), found->second);
      } else if (others_ == Others::kError) {
        RefuseOther(StrCat("the line has the slot '", Escaped(std::string(slot)), "'"),
                    StrCat(slot, " int64[-1] missing=default"));
      }
    }
  }

  void LoadLine(std::string_view line, FieldRows* rows) const override {
    static const Field label_field = ParseFields({"label int64[]"}).front();
    thread_local std::vector<std::vector<std::string_view>> signs;
    Tokens tokens(line);
    std::string_view label;
    tokens.Next(&label);
    if (signs.size() < fields().size()) signs.resize(fields().size());
    for (auto& of_slot : signs) of_slot.clear();
    ForEachSign(tokens, [&](std::string_view sign, size_t slot) { signs[slot].push_back(sign); });
    for (size_t slot = 0; slot < fields().size(); ++slot) {
      const Field& field = fields()[slot];
      ForField(field, [&] {
        if (field.name == "label") {
          int64_t clicks;
          label_field.ReadAll(label, reinterpret_cast<char*>(&clicks));
          field.Write(int64_t{clicks > 0}, rows->Take(slot, 1));
          return;
        }
        if (signs[slot].empty()) return rows->AppendDefault(slot, "the line has no sign of it");
        char* place = rows->Take(slot, signs[slot].size());
        for (const std::string_view sign : signs[slot]) {
          field.ReadAll(sign, place);
          place += field.value_bytes();
        }
      });
    }
  }

  bool IsLeftOut(std::string_view line) const override {
    Tokens tokens(line);
    std::string_view label;
    tokens.Next(&label);
    std::vector<bool> present(fields().size());
    try {
      ForEachSign(tokens, [&](std::string_view, size_t slot) { present[slot] = true; });
    } catch (const Error&) {
      return false;
    }
    for (size_t slot = 0; slot < fields().size(); ++slot) {
      const Field& field = fields()[slot];
      if (field.missing == Field::Missing::kSkip && field.name != "label" && !present[slot]) {
        return true;
      }
    }
    return false;
  }

  const Others others_;
  std::unordered_map<std::string_view, size_t> slots_;  // by the name in fields()
};

FittingFields Guess(const std::string& path, const AttributeMap&) {
  const std::vector<std::string> records = FirstRecords(path);
  // By length first, so that numbers are in order.
  std::map<std::pair<size_t, std::string>, SeenNumbers> slots;
  for (const std::string& record : records) {
    std::map<std::string_view, std::vector<std::string_view>> signs;
    Tokens tokens(record);
    std::string_view token;
    tokens.Next(&token);
    while (tokens.Next(&token)) {
      const size_t colon = std::min(token.find(':'), token.size() - 1);
      if (colon > 0) signs[token.substr(colon + 1)].push_back(token.substr(0, colon));
    }
    for (const auto& [slot, of_slot] : signs) {
      slots[{slot.size(), std::string(slot)}].Add(of_slot);
    }
  }
  FittingFields fields = {{"label int64[]"}, {}};
  for (const auto& [key, slot] : slots) {
    const std::string& name = key.second;
    if (name == "label" || !CanBeNamed(name)) {
      fields.left_out.push_back(
          StrCat("'", Escaped(name), "': the slot cannot be the name of a field"));
      continue;
    }
    const char* const missing = slot.records() < records.size() ? " missing=default" : "";
    fields.entries.push_back(EntryFor(name, StrCat(slot.type(), "[-1]", missing)));
  }
  return fields;
}

FormatSchema Schema() {
  return std::move(
      FormatSchema("lines \"label feasign:slot ...\" of Paddle's CTR reader; plain, gzip, zstd, "
                   "lz4, bzip2, xz")
          .Attr(OthersAttribute())
          .InferFields(Guess)
          .Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc)
          .Attr(FieldsAttribute("label, which is 1 for numbers above 0 and else 0, and slots such "
                                "as \"101 int64[-1] default=0\"; other slots are passed over")));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<CtrSvmFormat>(arguments, RequiredFields(arguments.attributes));
}

REGISTER_FILE_FORMAT(ctr_svm, Schema, Make);

}  // namespace
}  // namespace millhopper
