// SPDX-License-Identifier: Apache-2.0
// The format `multislot` of Paddle's MultiSlotDataFeed: a line is a record, "n v1 ... vn" for each
// slot in order. n is 1 or more: writers pad a slot that has no value.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "readers/fields/guessed_type.h"
#include "readers/formats/sparse_text/sparse_text.h"

namespace millhopper {
namespace {

class MultiSlotFormat final : public SparseTextFormat {
 public:
  MultiSlotFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : SparseTextFormat(arguments, std::move(fields)), others_(OthersOf(arguments.attributes)) {
    for (size_t slot = 0; slot < this->fields().size(); ++slot) {
      const Field& field = this->fields()[slot];
      const std::string where = StrCat("field '", Escaped(field.name), "': ");
      Require(!field.bytes && field.decode == Field::Decode::kNone, where,
              "a slot holds numbers, so bytes and decode= are not for it");
      Require(field.missing != Field::Missing::kSkip, where,
              "each slot of multislot has values, so missing=skip is not for it");
      const size_t number = NumberOf(field.name, slot);
      if (order_.size() <= number) order_.resize(number + 1);
      Require(!order_[number].has_value(), where, "slot #", number, " is named twice");
      order_[number] = slot;
    }
  }

 private:
  // "#3" names the slot of the file; other names count from the first on.
  static size_t NumberOf(const std::string& name, size_t position) {
    if (name[0] != '#') return position;
    size_t number = 0;
    const bool digits = name.size() > 1 && name.size() < 6 &&
                        name.find_first_not_of("0123456789", 1) == std::string::npos;
    Require(digits, "field '", Escaped(name), "': a slot of the file is named #0, #1 ...");
    for (const char digit : name.substr(1)) number = 10 * number + static_cast<size_t>(digit - '0');
    return number;
  }

  void LoadLine(std::string_view line, FieldRows* rows) const override {
    static const Field count_field = ParseFields({"n int64[]"}).front();
    Tokens tokens(line);
    std::string_view token;
    for (size_t number = 0; number < order_.size(); ++number) {
      if (!tokens.Next(&token)) {
        Throw(ErrorCode::kDataLoss, "the line ends before slot #", number);
      }
      int64_t count;
      const auto values = [&] {
        count_field.ReadAll(token, reinterpret_cast<char*>(&count));
        // Each value takes a character and a blank before it.
        if (count < 1 || static_cast<uint64_t>(count) > tokens.rest().size() / 2) {
          Throw(
              ErrorCode::kDataLoss, "it says that it has ", count,
              count < 1 ? " values; a slot has one or more" : " values, but the line is too short");
        }
      };
      const auto fail_short = [] { Throw(ErrorCode::kDataLoss, "the line ends in its values"); };
      if (!order_[number]) {
        if (others_ == Others::kError) RefuseSlot(number);
        values();
        for (; count > 0; --count) {
          if (!tokens.Next(&token)) fail_short();
        }
        continue;
      }
      const size_t slot = *order_[number];
      const Field& field = fields()[slot];
      ForField(field, [&] {
        values();
        char* place = rows->Take(slot, static_cast<size_t>(count));
        for (; count > 0; --count, place += field.value_bytes()) {
          if (!tokens.Next(&token)) fail_short();
          field.ReadAll(token, place);
        }
      });
    }
    if (others_ == Others::kError && tokens.Next(&token)) RefuseSlot(order_.size());
  }

  [[noreturn]] static void RefuseSlot(size_t number) {
    RefuseOther(StrCat("the line has a slot #", number), StrCat("#", number, " float64[-1]"));
  }

  bool IsLeftOut(std::string_view) const override { return false; }

  const Others others_;
  // The slot of the reader for each slot of the file; nothing if it is not read.
  std::vector<std::optional<size_t>> order_;
};

FittingFields Guess(const std::string& path, const AttributeMap&) {
  static const Field count_field = ParseFields({"n uint16[]"}).front();
  std::vector<SeenNumbers> slots;
  for (const std::string& line : FirstRecords(path)) {
    Tokens tokens(line);
    std::string_view token;
    for (size_t number = 0; tokens.Next(&token); ++number) {
      uint16_t count = 0;
      const char* const end = token.data() + token.size();
      if (count_field.Read(token.data(), end, reinterpret_cast<char*>(&count)) != end) break;
      std::vector<std::string_view> values;
      while (values.size() < count && tokens.Next(&token)) values.push_back(token);
      if (values.empty() || values.size() < count) break;  // reading tells what is wrong
      if (number == slots.size()) slots.emplace_back();
      slots[number].Add(values);
    }
  }
  FittingFields fields;
  for (size_t number = 0; number < slots.size(); ++number) {
    const SeenNumbers& slot = slots[number];
    const std::string dims = slot.ragged() ? "-1" : slot.values() == 1 ? "" : StrCat(slot.values());
    fields.entries.push_back(StrCat("#", number, " ", slot.type(), "[", dims, "]"));
  }
  return fields;
}

FormatSchema Schema() {
  return std::move(
      FormatSchema("lines \"n v1 ... vn\" for each slot, as Paddle's MultiSlotDataFeed reads them; "
                   "plain, gzip, zstd, lz4, bzip2, xz")
          .Attr(OthersAttribute())
          .InferFields(Guess)
          .Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc)
          .Attr(FieldsAttribute("any, in the order of the file, or #3 for a slot of the file, by "
                                "its number from 0 on; other slots are passed over")));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<MultiSlotFormat>(arguments, RequiredFields(arguments.attributes));
}

REGISTER_FILE_FORMAT(multislot, Schema, Make);

}  // namespace
}  // namespace millhopper
