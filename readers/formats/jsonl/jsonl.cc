// SPDX-License-Identifier: Apache-2.0
// The formats `jsonl`, a JSON value in each line (jsonlines.org), and `json`, the items of a list
// or values one after another, over any number of lines. Blank lines are no records.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/chunks/line_source.h"
#include "readers/fields/fields.h"
#include "readers/fields/guessed_type.h"
#include "readers/fields/json_fields.h"
#include "readers/formats/jsonl/json_values.h"
#include "readers/index/indexable_format.h"
#include "readers/support/line_ends.h"

namespace millhopper {
namespace {

enum class Records { kLines, kValues };

class JsonFormat final : public SearchedFormat {
 public:
  JsonFormat(const FormatArguments& arguments, Records records)
      : JsonFormat(arguments, records, RequiredFields(arguments.attributes)) {}

  std::string PlaceName(const FileEntry& file, uint64_t offset) const override {
    return LineName(file.path, offset, LoneCr::kEndsLine);
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    parser_.Load(tickets, n, rows);
  }

 private:
  JsonFormat(const FormatArguments& arguments, Records records, std::vector<Field> fields)
      : SearchedFormat(arguments, AgreeOnSlots(arguments.declared, SlotsOf(fields))),
        records_(records),
        parser_(std::move(fields), OthersOf(arguments.attributes)),
        skips_(AnySkips(parser_.fields())) {}

  std::unique_ptr<IndexableSource> OpenWithoutIndex(const FileEntry& file) override {
    auto stream = std::make_unique<ByteStream>(file.path, file.buffer_type);
    if (records_ == Records::kValues) {
      if (stream->can_be_read_once_only()) {
        throw Error(ErrorCode::kInvalidArgument,
                    "it can be read once only, and its beginning tells whether it is a list; "
                    "jsonl: before its name reads lines of JSON")
            .InFile(file.path, 0);
      }
      std::function<bool(std::string_view)> is_record;
      if (skips_) {
        is_record = [this](std::string_view value) { return !parser_.IsLeftOut(value); };
      }
      return MakeJsonValueSource(std::move(stream), IsJsonList(file.path), std::move(is_record));
    }
    return MakeLineSource(std::move(stream), LoneCr::kEndsLine,
                          [this](std::string_view* line, uint64_t offset) {
                            if (offset == 0) line->remove_prefix(Utf8MarkBytes(*line));
                            return !IsBlank(*line) && (!skips_ || !parser_.IsLeftOut(*line));
                          });
  }
  std::string Rules() const override { return records_ == Records::kLines ? "jsonl" : "json"; }
  bool leaves_out_records() const override { return skips_; }

  const Records records_;
  const JsonParser parser_;
  const bool skips_;
};

FittingFields GuessBy(const std::string& path, const std::vector<std::string>& records,
                      const std::vector<uint64_t>& begins) {
  try {
    return GuessJsonFields(records);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
  // Looks for the record that is wrong: its call throws.
  for (size_t i = 0; i < records.size(); ++i) {
    try {
      GuessJsonFields({records[i]});
    } catch (const Error& error) {
      const std::string place = LineName(path, begins[i], LoneCr::kEndsLine);
      throw error.InFile(path, static_cast<int64_t>(begins[i]))
          .WithContext(StrCat("in ", place, ", which begins at byte ", begins[i]));
    }
  }
  return {};
}

// Later values of other kinds are no values of types that were guessed.
FittingFields WithExactNumbers(FittingFields fields, const AttributeMap& given) {
  const bool any = std::any_of(fields.entries.begin(), fields.entries.end(),
                               [](const auto& entry) { return HeadOf(entry).type != kTextType; });
  if (any && given.Get<std::string>(kNumbers).empty()) {
    fields.attributes.Set(kNumbers, std::string(kExactNumbers));
  }
  return fields;
}

FittingFields GuessLines(const std::string& path, const AttributeMap& given) {
  std::vector<uint64_t> begins;
  const std::vector<std::string> lines = SampledLines(path, &begins);
  return WithExactNumbers(GuessBy(path, lines, begins), given);
}

FittingFields GuessValues(const std::string& path, const AttributeMap& given) {
  std::vector<uint64_t> begins;
  const std::vector<std::string> values = SampledJsonValues(path, &begins);
  return WithExactNumbers(GuessBy(path, values, begins), given);
}

std::unique_ptr<FieldsOfRecords> FieldsOfAll(const FittingFields&, const AttributeMap&) {
  return std::make_unique<JsonFieldsOfRecords>();
}

FormatSchema With(FormatSchema schema) {
  return std::move(
      schema
          .Attr(FieldsAttribute("keys of the outermost object, or JSON pointers such as /user/id"))
          .Attr(OthersAttribute())
          .Attr(NumbersAttribute())
          .Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc));
}

FormatSchema JsonlSchema() {
  return std::move(With(FormatSchema("lines of JSON; plain, gzip, zstd, lz4, bzip2, xz"))
                       .Extension(".jsonl")
                       .Extension(".ndjson")
                       .InferFields(&GuessLines)
                       .InferFieldsOfRecords(&FieldsOfAll));
}

FormatSchema JsonSchema() {
  return std::move(With(FormatSchema("one list of JSON, the items of which are the records, or "
                                     "values one after another; plain, gzip, zstd, lz4, bzip2, xz"))
                       .Extension(".json")
                       .InferFields(&GuessValues)
                       .InferFieldsOfRecords(&FieldsOfAll));
}

std::unique_ptr<FileFormat> MakeJsonl(const FormatArguments& arguments) {
  return std::make_unique<JsonFormat>(arguments, Records::kLines);
}

std::unique_ptr<FileFormat> MakeJson(const FormatArguments& arguments) {
  return std::make_unique<JsonFormat>(arguments, Records::kValues);
}

REGISTER_FILE_FORMAT(jsonl, JsonlSchema, MakeJsonl);
REGISTER_FILE_FORMAT(json, JsonSchema, MakeJson);

}  // namespace
}  // namespace millhopper
