// SPDX-License-Identifier: Apache-2.0
// The format `fixed`: binary records of one size without any frame; the declared slots are cut from
// each in order. Nothing in such a file says what it is, so it needs its prefix.
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/fixed_size_source.h"

namespace millhopper {
namespace {

// What a slot takes of each record.
struct Field {
  size_t bytes;
  size_t steps;  // along axis 0
  bool is_bool;
};

class FixedFormat final : public FileFormat {
 public:
  explicit FixedFormat(const FormatArguments& arguments)
      : FileFormat(AgreeOnSlots(arguments.declared, {})),
        partial_(arguments.attributes.Get<bool>("drop_last") ? FixedSizeSource::Partial::kLeftOut
                                                             : FixedSizeSource::Partial::kError) {
    for (size_t i = 0; i < slots().size(); ++i) AddField(i, slots()[i]);
    Require(record_bytes_ > 0, "the declared slots have no bytes at all");
  }

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    std::vector<FixedSizeSource::Column> columns;
    columns.push_back({std::make_unique<ByteStream>(file.path, file.buffer_type), record_bytes_});
    return std::make_unique<FixedSizeSource>(std::move(columns), std::nullopt, partial_);
  }

  // The size of a compressed file does not tell its number of records.
  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    uint64_t records = 0;
    for (const FileEntry& file : files) {
      const ByteStream stream(file.path);
      if (!stream.plain()) return std::nullopt;
      records += stream.file().size() / record_bytes_;
    }
    return records;
  }

  bool chunks_tell_records() const override { return true; }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    size_t offset = 0;
    for (size_t slot = 0; slot < fields_.size(); ++slot) {
      const Field& field = fields_[slot];
      char* out = rows->Append(slot, n * field.steps);
      for (const Ticket& ticket : Prefetched(tickets, n, slot == 0)) {
        const char* bytes = ticket.bytes + offset;
        if (field.is_bool) CheckBools(bytes, field.bytes, slot);
        std::memcpy(out, bytes, field.bytes);
        out += field.bytes;
      }
      offset += field.bytes;
    }
  }

 private:
  void AddField(size_t slot, const SlotSpec& spec) {
    Require(spec.lod_level == 0, "slot ", slot,
            " has levels of detail; records of one size have none");
    for (const int64_t dim : spec.dims) {
      Require(dim >= 0, "slot ", slot, " has dims ", ToString(spec.dims),
              "; the size of a record follows from them, so each must be given");
    }
    const size_t bytes =
        CheckedProduct(static_cast<size_t>(Product(spec.dims)), SizeOf(spec.dtype));
    record_bytes_ += bytes;
    if (bytes > kMaxRecordBytes || record_bytes_ > kMaxRecordBytes) {
      Throw(ErrorCode::kResourceLimit, "a record of more than ", kMaxRecordBytes, " bytes");
    }
    fields_.push_back({bytes, static_cast<size_t>(spec.dims[0]), spec.dtype == DataType::kBool});
  }

  static void CheckBools(const char* bytes, size_t n, size_t slot) {
    if (AreBools(bytes, n)) return;
    Throw(ErrorCode::kDataLoss, "slot ", slot, ": a bool is 0 or 1, not ",
          int{static_cast<unsigned char>(bytes[FirstOtherThanBool(bytes)])});
  }

  const FixedSizeSource::Partial partial_;
  std::vector<Field> fields_;
  size_t record_bytes_ = 0;
};

FormatSchema Schema() {
  return std::move(
      FormatSchema("binary records of one size, cut by the declared slots; plain, gzip, zstd, lz4, "
                   "bzip2, xz")
          .Attr({"drop_last", false,
                 "whether a last record that is not whole is left out; else it is an error after "
                 "the whole ones"}));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<FixedFormat>(arguments);
}

}  // namespace

REGISTER_FILE_FORMAT(fixed, Schema, Make);

}  // namespace millhopper
