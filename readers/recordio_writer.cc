// SPDX-License-Identifier: Apache-2.0
#include "readers/recordio_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "framework/error.h"
#include "framework/limits.h"

namespace millrace {
namespace {

constexpr size_t kLengthBytes = 4;

}  // namespace

RecordIOWriter::RecordIOWriter(std::string path, const RecordIOOptions& options)
    : path_(std::move(path)), partial_path_(path_ + ".partial"), options_(options) {
  Require(options.chunk_bytes >= 1 && options.chunk_bytes <= kMaxChunkBytes, "chunks of ",
          options.chunk_bytes, " bytes; 1 to ", kMaxChunkBytes, " are possible");
  Require(options.chunk_records >= 1 && options.chunk_records <= kMaxChunkRecords, "chunks of ",
          options.chunk_records, " records; 1 to ", kMaxChunkRecords, " are possible");
  struct stat status;
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::kIo, "exists and is not a regular file").InFile(path_, -1);
  }
  descriptor_ = ::open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) ThrowSystemError("cannot create");
}

RecordIOWriter::~RecordIOWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_path_.c_str());
}

void RecordIOWriter::ThrowSystemError(const char* what) const {
  const int number = errno;
  throw Error(ErrorCode::kIo, StrCat(what, ": ", std::strerror(number)))
      .InFile(partial_path_, static_cast<int64_t>(bytes_));
}

void RecordIOWriter::Write(const char* record, size_t size) {
  if (size > kMaxRecordBytes - kLengthBytes) {
    throw Error(ErrorCode::kResourceLimit, StrCat("a record of ", size, " bytes; the limit is ",
                                                  kMaxRecordBytes - kLengthBytes))
        .InFile(path_, static_cast<int64_t>(bytes_));
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
        .InFile(path_, static_cast<int64_t>(bytes_));
  }
  RecordIOHeader header;
  header.records = payload_records_;
  header.checksum = RecordIOChecksum(options_.dialect, stored.data(), stored.size());
  header.compressor_code = RecordIOCompressorCode(options_.dialect, options_.compressor);
  header.payload_bytes = static_cast<uint32_t>(stored.size());
  char bytes[kRecordIOHeaderBytes];
  WriteRecordIOHeader(header, options_.dialect, bytes);
  WriteBytes(bytes, sizeof(bytes));
  WriteBytes(stored.data(), stored.size());
  payload_.clear();
  payload_records_ = 0;
  ++chunks_;
}

void RecordIOWriter::WriteBytes(const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) ThrowSystemError("cannot write");
    bytes += written;
    size -= static_cast<size_t>(written);
    bytes_ += static_cast<uint64_t>(written);
  }
}

void RecordIOWriter::Close() {
  Flush();
  // Some file systems say only now that there was no room.
  const bool closed = ::close(descriptor_) == 0;
  descriptor_ = -1;
  if (!closed || std::rename(partial_path_.c_str(), path_.c_str()) != 0) {
    const int number = errno;
    ::unlink(partial_path_.c_str());
    errno = number;
    ThrowSystemError(closed ? "cannot be renamed" : "cannot close");
  }
}

}  // namespace millrace
