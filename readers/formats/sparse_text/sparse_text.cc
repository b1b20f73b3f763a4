// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/sparse_text/sparse_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/line_source.h"
#include "readers/support/line_ends.h"

namespace millhopper {

std::vector<std::string> FirstRecords(const std::string& path) {
  std::vector<std::string> lines = SampledLines(path);
  const auto is_comment = [](const std::string& line) {
    return line[line.find_first_not_of(" \t")] == '#';
  };
  lines.erase(std::remove_if(lines.begin(), lines.end(), is_comment), lines.end());
  return lines;
}

void SeenNumbers::Add(const std::vector<std::string_view>& values) {
  static const std::vector<Field> types = ParseFields({"i int64[]", "u uint64[]"});
  const auto all_are = [&](const Field& field) {
    return std::all_of(values.begin(), values.end(), [&](std::string_view value) {
      char number[sizeof(uint64_t)];
      const char* const end = value.data() + value.size();
      return field.Read(value.data(), end, number) == end;
    });
  };
  int64_ = int64_ && all_are(types[0]);
  uint64_ = uint64_ && all_are(types[1]);
  least_ = records_ == 0 ? values.size() : std::min(least_, values.size());
  most_ = std::max(most_, values.size());
  ++records_;
}

const char* SeenNumbers::type() const { return int64_ ? "int64" : uint64_ ? "uint64" : "float64"; }

SparseTextFormat::SparseTextFormat(const FormatArguments& arguments, std::vector<Field> fields)
    : SearchedFormat(arguments, AgreeOnSlots(arguments.declared, SlotsOf(fields))),
      fields_(std::move(fields)),
      skips_(AnySkips(fields_)) {
  for (const Field& field : fields_) RefuseCellOptions(field);
}

std::unique_ptr<IndexableSource> SparseTextFormat::OpenWithoutIndex(const FileEntry& file) {
  return MakeLineSource(std::make_unique<ByteStream>(file.path, file.buffer_type),
                        LoneCr::kEndsLine, [this](std::string_view* line, uint64_t offset) {
                          if (offset == 0) line->remove_prefix(Utf8MarkBytes(*line));
                          const size_t begin = line->find_first_not_of(" \t");
                          if (begin == std::string_view::npos || (*line)[begin] == '#')
                            return false;
                          return !skips_ || !IsLeftOut(*line);
                        });
}

std::string SparseTextFormat::PlaceName(const FileEntry& file, uint64_t offset) const {
  return LineName(file.path, offset, LoneCr::kEndsLine);
}

void SparseTextFormat::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  FieldRows field_rows(fields_, n, rows);
  for (const Ticket& ticket : Prefetched(tickets, n)) {
    LoadLine({ticket.bytes, ticket.size}, &field_rows);
  }
}

}  // namespace millhopper
