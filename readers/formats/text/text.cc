// SPDX-License-Identifier: Apache-2.0
// The format `text`: a record is a line without its end (LF or CR LF), as bytes; an LF at the end
// of the file opens no further line, and a CR without an LF is a byte like any other.
#include <memory>
#include <string>
#include <utility>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/chunks/line_source.h"
#include "readers/index/indexable_format.h"
#include "readers/support/byte_records.h"
#include "readers/support/line_ends.h"

namespace millhopper {
namespace {

class TextFormat final : public SearchedFormat {
 public:
  explicit TextFormat(const FormatArguments& arguments)
      : SearchedFormat(arguments, AgreeOnSlots(arguments.declared, {BytesSlot()})) {}

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    LoadBytes(tickets, n, rows);
  }

  std::string PlaceName(const FileEntry& file, uint64_t offset) const override {
    return LineName(file.path, offset, LoneCr::kIsText);
  }

 private:
  std::unique_ptr<IndexableSource> OpenWithoutIndex(const FileEntry& file) override {
    auto stream = std::make_unique<ByteStream>(file.path, file.buffer_type);
    return MakeLineSource(std::move(stream), LoneCr::kIsText, nullptr);
  }
  std::string Rules() const override { return "text"; }
  bool leaves_out_records() const override { return false; }
};

FormatSchema Schema() {
  return std::move(
      FormatSchema("lines of text as bytes, without their ends; plain, gzip, zstd, lz4, bzip2, xz")
          .Extension(".txt")
          .Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<TextFormat>(arguments);
}

}  // namespace

REGISTER_FILE_FORMAT(text, Schema, Make);

}  // namespace millhopper
