// SPDX-License-Identifier: Apache-2.0
// The format `jsonl`: a JSON value in each line (jsonlines.org); blank lines are no records.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/chunks/line_source.h"
#include "readers/fields/fields.h"
#include "readers/fields/json_fields.h"
#include "readers/index/indexable_format.h"
#include "readers/support/line_ends.h"

namespace millhopper {
namespace {

class JsonlFormat final : public SearchedFormat {
 public:
  explicit JsonlFormat(const FormatArguments& arguments)
      : JsonlFormat(arguments, RequiredFields(arguments.attributes)) {}

  std::string PlaceName(const FileEntry& file, uint64_t offset) const override {
    return LineName(file.path, offset, LoneCr::kEndsLine);
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    parser_.Load(tickets, n, rows);
  }

 private:
  JsonlFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : SearchedFormat(arguments, AgreeOnSlots(arguments.declared, SlotsOf(fields))),
        parser_(std::move(fields)),
        skips_(AnySkips(parser_.fields())) {}

  std::unique_ptr<IndexableSource> OpenWithoutIndex(const FileEntry& file) override {
    return MakeLineSource(std::make_unique<ByteStream>(file.path, file.buffer_type),
                          LoneCr::kEndsLine, [this](std::string_view* line, uint64_t offset) {
                            if (offset == 0) line->remove_prefix(Utf8MarkBytes(*line));
                            return !IsBlank(*line) && (!skips_ || !parser_.IsLeftOut(*line));
                          });
  }
  std::string Rules() const override { return "jsonl"; }
  bool leaves_out_records() const override { return skips_; }

  const JsonParser parser_;
  const bool skips_;
};

FittingFields Guess(const std::string& path, const AttributeMap&) {
  std::vector<uint64_t> begins;
  const std::vector<std::string> lines = SampledLines(path, &begins);
  try {
    return GuessJsonFields(lines);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
  // Looks for the line that is wrong: its call throws.
  for (size_t i = 0; i < lines.size(); ++i) {
    try {
      GuessJsonFields({lines[i]});
    } catch (const Error& error) {
      const std::string place = LineName(path, begins[i], LoneCr::kEndsLine);
      throw error.InFile(path, static_cast<int64_t>(begins[i]))
          .WithContext(StrCat("in ", place, ", which begins at byte ", begins[i]));
    }
  }
  return {};
}

FormatSchema Schema() {
  return std::move(
      FormatSchema("lines of JSON; plain, gzip, zstd, lz4, bzip2, xz")
          .Extension(".jsonl")
          .Extension(".ndjson")
          .Attr(FieldsAttribute("keys of the outermost object, or JSON pointers such as /user/id"))
          .InferFields(&Guess)
          .Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<JsonlFormat>(arguments);
}

REGISTER_FILE_FORMAT(jsonl, Schema, Make);

}  // namespace
}  // namespace millhopper
