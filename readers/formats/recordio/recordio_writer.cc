// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/recordio/recordio_writer.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

constexpr size_t kLengthBytes = 4;

const RecordIOOptions& Checked(const RecordIOOptions& options) {
  Require(options.chunk_bytes >= 1 && options.chunk_bytes <= kMaxChunkBytes, "chunks of ",
          options.chunk_bytes, " bytes; 1 to ", kMaxChunkBytes, " are possible");
  Require(options.chunk_records >= 1 && options.chunk_records <= kMaxChunkRecords, "chunks of ",
          options.chunk_records, " records; 1 to ", kMaxChunkRecords, " are possible");
  return options;
}

}  // namespace

RecordIOWriter::RecordIOWriter(std::string path, const RecordIOOptions& options,
                               const OutputRules& rules)
    : options_(Checked(options)), output_(std::move(path), rules) {}

void RecordIOWriter::Write(const char* record, size_t size) {
  if (size > kMaxRecordBytes - kLengthBytes) {
    throw Error(ErrorCode::kResourceLimit, StrCat("a record of ", size, " bytes; the limit is ",
                                                  kMaxRecordBytes - kLengthBytes))
        .InFile(output_.path(), static_cast<int64_t>(bytes()));
  }
  if (payload_records_ > 0 && (payload_records_ == options_.chunk_records ||
                               payload_.size() + kLengthBytes + size > options_.chunk_bytes)) {
    Flush();
  }
  const auto length = static_cast<uint32_t>(size);
  payload_.append(reinterpret_cast<const char*>(&length), kLengthBytes);
  payload_.append(record, size);
  ++payload_records_;
  ++records_;
}

void RecordIOWriter::Flush() {
  if (payload_records_ == 0) return;
  std::string compressed;
  if (options_.compressor != RecordIOCompressor::kNone) {
    compressed = CompressRecordIO(options_.dialect, options_.compressor, payload_);
  }
  const std::string& stored =
      options_.compressor == RecordIOCompressor::kNone ? payload_ : compressed;
  if (stored.size() > kMaxChunkBytes) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("a chunk of ", stored.size(), " bytes; the limit is ", kMaxChunkBytes))
        .InFile(output_.path(), static_cast<int64_t>(bytes()));
  }
  RecordIOHeader header;
  header.records = payload_records_;
  header.checksum = RecordIOChecksum(options_.dialect, stored.data(), stored.size());
  header.compressor_code = RecordIOCompressorCode(options_.dialect, options_.compressor);
  header.payload_bytes = static_cast<uint32_t>(stored.size());
  char bytes[kRecordIOHeaderBytes];
  WriteRecordIOHeader(header, options_.dialect, bytes);
  output_.Write(bytes, sizeof(bytes));
  output_.Write(stored);
  payload_.clear();
  payload_records_ = 0;
  ++chunks_;
}

void RecordIOWriter::Finish() {
  Flush();
  payload_ = std::string();  // of many files of a set there may be more than memory has room for
  output_.Finish();
}

void RecordIOWriter::Close() {
  Finish();
  output_.Publish();
}

}  // namespace millhopper
