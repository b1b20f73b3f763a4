// SPDX-License-Identifier: Apache-2.0
// Writes RecordIO files in every dialect.
#ifndef MILLRACE_READERS_RECORDIO_WRITER_H_
#define MILLRACE_READERS_RECORDIO_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "readers/recordio_chunk.h"

namespace millrace {

struct RecordIOOptions {
  RecordIODialect dialect = RecordIODialect::kFluid;
  RecordIOCompressor compressor = RecordIOCompressor::kNone;
  // A chunk ends before the record with which it would exceed one of these, uncompressed. A larger
  // record is a chunk of its own.
  uint64_t chunk_bytes = uint64_t{1} << 20;
  uint32_t chunk_records = 1000000;
};

// Writes to "<path>.partial" and gives the file its name in Close, so that a file of this name is
// always whole. One thread at a time.
class RecordIOWriter {
 public:
  // Throws kIo if the file cannot be created, kInvalidArgument for limits out of range.
  RecordIOWriter(std::string path, const RecordIOOptions& options);
  // Removes what was written unless Close has succeeded.
  ~RecordIOWriter();
  RecordIOWriter(const RecordIOWriter&) = delete;
  RecordIOWriter& operator=(const RecordIOWriter&) = delete;

  // Adds a record. Throws kIo if the system does not take the bytes, kResourceLimit for a record
  // that no reader would accept.
  void Write(const char* record, size_t size);
  void Write(const std::string& record) { Write(record.data(), record.size()); }
  // Writes the last chunk and closes the file. Throws kIo. To be called once, last.
  void Close();

  uint64_t records() const { return records_; }
  uint64_t chunks() const { return chunks_; }
  uint64_t bytes() const { return bytes_; }  // of the file so far

 private:
  void Flush();
  void WriteBytes(const char* bytes, size_t size);
  [[noreturn]] void ThrowSystemError(const char* what) const;

  const std::string path_;
  const std::string partial_path_;
  const RecordIOOptions options_;
  int descriptor_;
  std::string payload_;
  uint32_t payload_records_ = 0;
  uint64_t records_ = 0;
  uint64_t chunks_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_READERS_RECORDIO_WRITER_H_
