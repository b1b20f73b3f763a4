// SPDX-License-Identifier: Apache-2.0
// The format `libsvm`: a line "label index:value index:value ... # comment" for each record, with
// "qid:7" after the label in data for ranking (www.csie.ntu.edu.tw/~cjlin/libsvm, README, and
// www.cs.cornell.edu/people/tj/svm_light).
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "readers/formats/sparse_text/sparse_text.h"

namespace millhopper {
namespace {

constexpr char kNames[] = "label, qid, index, value, dense";

class LibsvmFormat final : public SparseTextFormat {
 public:
  LibsvmFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : SparseTextFormat(arguments, std::move(fields)),
        first_index_(arguments.attributes.Get<int32_t>("first_index")) {
    for (const Field& field : this->fields()) Check(field);
  }

 private:
  // What a line says.
  struct Line {
    std::string_view label, qid, features;
    size_t feature_count = 0;
  };

  static void Check(const Field& field) {
    const std::string& name = field.name;
    const std::string where = StrCat("field '", Escaped(name), "': ");
    Require(
        name == "label" || name == "qid" || name == "index" || name == "value" || name == "dense",
        where, "a line of libsvm has only ", kNames);
    Require(!field.bytes && !field.names_things() && field.decode == Field::Decode::kNone, where,
            "bytes, hash=, vocab= and decode= are for text, and a line of libsvm has numbers");
    Require((name != "index" && name != "value") || (field.sequence && field.values == 1), where,
            "a record has any number of them, so its dims are [-1]");
    Require(name != "dense" || !field.sequence, where,
            "its dims say how many features there are, such as float32[13]");
    Require(name != "qid" || (!field.sequence && field.values == 1), where, "it is one number");
  }

  static Line Parse(std::string_view text) {
    text = text.substr(0, text.find('#'));
    Line line;
    Tokens tokens(text);
    std::string_view token;
    if (!tokens.Next(&line.label)) Throw(ErrorCode::kDataLoss, "the line has no label");
    line.features = tokens.rest();
    while (tokens.Next(&token)) {
      if (token.substr(0, 4) == "qid:" && line.qid.empty() && line.feature_count == 0) {
        line.qid = token.substr(4);
        line.features = tokens.rest();
      } else {
        ++line.feature_count;
      }
    }
    return line;
  }

  // Calls feature(index, value) with the text of both.
  template <typename Feature>
  static void ForEachFeature(const Line& line, const Feature& feature) {
    Tokens tokens(line.features);
    for (std::string_view token; tokens.Next(&token);) {
      const size_t colon = token.find(':');
      if (colon == std::string_view::npos) {
        Throw(ErrorCode::kDataLoss, "'", Escaped(std::string(token.substr(0, 60))),
              "' is no index:value");
      }
      feature(token.substr(0, colon), token.substr(colon + 1));
    }
  }

  void LoadLine(std::string_view text, FieldRows* rows) const override {
    const Line line = Parse(text);
    for (size_t slot = 0; slot < fields().size(); ++slot) {
      ForField(fields()[slot], [&] { LoadSlot(line, slot, rows); });
    }
  }

  void LoadSlot(const Line& line, size_t slot, FieldRows* rows) const {
    const Field& field = fields()[slot];
    if (field.name == "label") {
      size_t count = 0;
      ForEachPart(line.label, ',', [&](std::string_view) { ++count; });
      char* place = rows->Take(slot, count);
      ForEachPart(line.label, ',', [&](std::string_view label) {
        field.ReadAll(label, place);
        place += field.value_bytes();
      });
    } else if (field.name == "qid") {
      if (line.qid.empty()) return rows->AppendDefault(slot, "the line has no qid:");
      field.ReadAll(line.qid, rows->Take(slot, 1));
    } else if (field.name == "dense") {
      LoadDense(line, slot, rows);
    } else {
      const bool indices = field.name == "index";
      char* place = rows->Take(slot, line.feature_count);
      ForEachFeature(line, [&](std::string_view index, std::string_view value) {
        field.ReadAll(indices ? index : value, place);
        place += field.value_bytes();
      });
    }
  }

  void LoadDense(const Line& line, size_t slot, FieldRows* rows) const {
    static const Field index_field = ParseFields({"index int64[]"}).front();
    const Field& field = fields()[slot];
    char* const place = rows->Take(slot, field.values);
    field.WriteDefault(field.values, place);
    ForEachFeature(line, [&](std::string_view index, std::string_view value) {
      int64_t number;
      index_field.ReadAll(index, reinterpret_cast<char*>(&number));
      if (number < first_index_ || number - first_index_ >= static_cast<int64_t>(field.values)) {
        Throw(ErrorCode::kDataLoss, "the index ", number, " is not in ", first_index_, " to ",
              first_index_ + static_cast<int64_t>(field.values) - 1, ", which ",
              ToString(field.slot), " has room for");
      }
      field.ReadAll(value,
                    place + static_cast<size_t>(number - first_index_) * field.value_bytes());
    });
  }

  bool IsLeftOut(std::string_view text) const override {
    text = text.substr(0, text.find('#'));
    for (const Field& field : fields()) {
      if (field.missing == Field::Missing::kSkip && field.name == "qid" &&
          text.find("qid:") == std::string_view::npos) {
        return true;
      }
    }
    return false;
  }

  const int64_t first_index_;
};

FormatSchema Schema() {
  return std::move(
      FormatSchema("lines \"label index:value ...\" of LIBSVM and SVMlight; plain, gzip, zstd, "
                   "lz4, bzip2, xz")
          .Extension(".svm")
          .Extension(".libsvm")
          .Extension(".svmlight")
          .Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc)
          .Attr(FieldsAttribute(StrCat(kNames,
                                       " (the values at their indices, and default= "
                                       "elsewhere); without fields they are \"label "
                                       "float32[]\", \"index int64[-1]\", \"value "
                                       "float32[-1]\"")))
          .Attr(AttributeSchema("first_index", int32_t{1}, "the index of the first value of dense")
                    .AtLeast(0)));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  std::vector<Field> fields =
      ParseFields(arguments.attributes.Get<std::vector<std::string>>("fields"));
  if (fields.empty()) {
    fields = ParseFields({"label float32[]", "index int64[-1]", "value float32[-1]"});
  }
  return std::make_unique<LibsvmFormat>(arguments, std::move(fields));
}

REGISTER_FILE_FORMAT(libsvm, Schema, Make);

}  // namespace
}  // namespace millhopper
