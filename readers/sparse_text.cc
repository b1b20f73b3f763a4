// SPDX-License-Identifier: Apache-2.0
#include "readers/sparse_text.h"

#include <utility>

#include "framework/io/byte_stream.h"
#include "readers/line_source.h"

namespace millhopper {

SparseTextFormat::SparseTextFormat(const FormatArguments& arguments, std::vector<Field> fields)
    : FileFormat(AgreeOnSlots(arguments.declared, SlotsOf(fields))),
      fields_(std::move(fields)),
      skips_(AnySkips(fields_)) {}

std::unique_ptr<FileSource> SparseTextFormat::Open(const FileEntry& file) {
  return MakeLineSource(std::make_unique<ByteStream>(file.path, file.buffer_type),
                        [this](std::string_view* line, uint64_t) {
                          const size_t begin = line->find_first_not_of(" \t");
                          if (begin == std::string_view::npos || (*line)[begin] == '#')
                            return false;
                          return !skips_ || !IsLeftOut(*line);
                        });
}

std::string SparseTextFormat::PlaceName(const FileEntry& file, uint64_t offset) const {
  return LineName(file.path, offset);
}

void SparseTextFormat::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  FieldRows field_rows(fields_, n, rows);
  for (size_t i = 0; i < n; ++i) LoadLine({tickets[i].bytes, tickets[i].size}, &field_rows);
}

}  // namespace millhopper
