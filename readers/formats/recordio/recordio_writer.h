// SPDX-License-Identifier: Apache-2.0
// Writes RecordIO files in every dialect.
#ifndef MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_WRITER_H_
#define MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "framework/io/output_file.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_chunk.h"

namespace millhopper {

struct RecordIOOptions {
  RecordIODialect dialect = RecordIODialect::kFluid;
  RecordIOCompressor compressor = RecordIOCompressor::kNone;
  // A chunk ends before the record with which it would exceed one of these, uncompressed. A larger
  // record is its own chunk.
  uint64_t chunk_bytes = uint64_t{1} << 20;
  uint32_t chunk_records = 1000000;
};

// One file, which has its name once it is whole (framework/io/output_file.h). One thread at a time.
class RecordIOWriter {
 public:
  // Throws what OutputFile does, and kInvalidArgument for limits out of range.
  RecordIOWriter(std::string path, const RecordIOOptions& options, const OutputRules& rules = {});

  // Adds a record. Throws kIo if the system does not take the bytes, kResourceLimit for a record
  // that no reader would accept.
  void Write(const char* record, size_t size);
  void Write(const std::string& record) { Write(record.data(), record.size()); }
  // Writes the last chunk and closes the file, which has no name yet. To be called once, last;
  // Close or CommitRecordIO (recordio_commit.h) do. Throws kIo.
  void Finish();
  // Finishes the file and gives it its name, without a manifest. Throws kIo.
  void Close();

  // The slots that fit each record, which CommitRecordIO lists in the manifest; empty unless set.
  void set_slots(NamedSlots slots) { slots_ = std::move(slots); }
  const NamedSlots& slots() const { return slots_; }

  OutputFile& output() { return output_; }
  const OutputFile& output() const { return output_; }
  uint64_t records() const { return records_; }
  uint64_t chunks() const { return chunks_; }
  uint64_t bytes() const { return output_.bytes(); }

 private:
  void Flush();

  const RecordIOOptions options_;
  OutputFile output_;
  NamedSlots slots_;
  std::string payload_;
  uint32_t payload_records_ = 0;
  uint64_t records_ = 0;
  uint64_t chunks_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_WRITER_H_
