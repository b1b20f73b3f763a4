// SPDX-License-Identifier: Apache-2.0
// The limit of a workload that reads files: the work that no reader can leave out, on the same
// bytes, with the libraries that our readers are linked with.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_LIMITS_LIMIT_H_
#define MILLHOPPER_TESTS_BENCHMARKS_LIMITS_LIMIT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/benchmarks/data.h"

namespace millhopper {

// The work for each chunk of the files: the checksum that is stored with it; if it is compressed,
// decompression and the checksums of what comes out; and one copy of the expanded bytes from memory
// to memory. Nothing is listed, planned or parsed, and no system call is made. Of large files only
// a first part is used, which is far larger than any cache.
class FileLimit {
 public:
  explicit FileLimit(const DataSet& data);
  ~FileLimit();
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

  // Does all of the work once more, on the calling thread. Returns its processor time in seconds
  // per record.
  double SecondsPerRecord();

 private:
  // Memory mapped from the system, with all its pages loaded beforehand.
  struct Mapping {
    char* begin = nullptr;
    size_t size = 0;
  };
  // A part of a chunk that is compressed by itself.
  struct Block {
    const char* data;
    size_t size;
    size_t expanded;
    bool compressed;
  };
  struct Piece {
    const char* data;  // as stored
    size_t size;
    bool checksum;
    bool gzip;
    std::vector<Block> blocks;  // of snappy
    size_t expanded;
  };

  void Add(const std::string& path, bool recordio);
  void AddChunks(const Mapping& file);
  void AddSnappyBlocks(Piece* piece);
  void Work(const Piece& piece, char* out);

  std::vector<Mapping> mappings_;
  std::vector<Piece> pieces_;
  size_t expanded_bytes_ = 0;
  size_t file_bytes_ = 0;  // of the files as a whole
  size_t used_bytes_ = 0;  // the part of them that the pieces hold
  double records_ = 0;
  Mapping out_;
  std::vector<char> hot_;  // where a chunk is expanded
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_LIMITS_LIMIT_H_
