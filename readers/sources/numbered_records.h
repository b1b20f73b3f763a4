// SPDX-License-Identifier: Apache-2.0
// The records of several files, numbered through, each of which can be read by itself.
#ifndef MILLHOPPER_READERS_SOURCES_NUMBERED_RECORDS_H_
#define MILLHOPPER_READERS_SOURCES_NUMBERED_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/ref_counted.h"
#include "framework/reader/file_format.h"

namespace millhopper {

// Files of records of one size (FileSource::Records). Numbers count through the files in the order
// in which they were added. Once all are added, any thread may call what is const.
class NumberedRecords final : public RefCounted {
 public:
  // Throws kInvalidArgument with the file's name if its records cannot be read by themselves, and
  // what FileSource::Records throws.
  void Add(std::unique_ptr<FileSource> source, const std::string& path);

  uint64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  // Of each record; there must be one.
  size_t record_bytes() const { return tables_.front().record_bytes; }
  // Whether all records lie in mapped files.
  bool mapped() const { return mapped_; }
  // Whether each record is one stretch of a file, so that many are read by one call as fast as one
  // stretch of their size.
  bool in_one_piece() const { return in_one_piece_; }

  // Where a record is, in the terms of a reader that reads the whole file.
  struct Place {
    uint32_t file;    // in the order of Add
    uint64_t chunk;   // the byte of the file at which its chunk begins,
    uint32_t record;  // which record of that it is,
    uint32_t index;   // and how many bytes after that byte it begins
    uint64_t offset() const { return chunk + index; }
  };
  Place PlaceOf(uint64_t number) const {
    const size_t file = FileOf(number);
    const RecordTable& table = tables_[file];
    const uint64_t in_file = number - FirstOf(file);
    const uint64_t record = in_file % table.in_chunk;
    return {static_cast<uint32_t>(file), table.begin + (in_file - record) * table.bytes_in_file,
            static_cast<uint32_t>(record), static_cast<uint32_t>(record * table.bytes_in_file)};
  }
  // Reads n consecutive records to `out`, one after another. Throws as FileSource::ReadRecords.
  void Read(uint64_t first, size_t n, char* out) const;
  // Copies n records of mapped files to `out`, one after another. Throws if one of the files has
  // changed since it was opened (Mapping::CheckUnchanged); then what was copied must not be used.
  void Copy(const uint64_t* numbers, size_t n, char* out) const;

 private:
  size_t FileOf(uint64_t number) const;
  uint64_t FirstOf(size_t file) const { return file == 0 ? 0 : ends_[file - 1]; }
  const char* AddressOf(uint64_t number) const;
  void CheckUnchanged(const uint64_t* numbers, size_t n) const;

  std::vector<std::unique_ptr<FileSource>> sources_;
  std::vector<RecordTable> tables_;
  std::vector<uint64_t> ends_;  // records up to the end of each file
  bool mapped_ = true;
  bool in_one_piece_ = true;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_NUMBERED_RECORDS_H_
