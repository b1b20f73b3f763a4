// SPDX-License-Identifier: Apache-2.0
// The limit of a workload that reads files: what no reader can leave out, on the same bytes, with
// the libraries that ours is linked with.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_LIMIT_H_
#define MILLHOPPER_TESTS_BENCHMARKS_LIMIT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/benchmarks/data.h"

namespace millhopper {

// Per chunk of the files: the checksum that is stored with it; if it is compressed, decompression
// and the checksums of what comes out; and one copy of the expanded bytes from memory to memory.
// Nothing is framed, listed, planned or parsed, and no call of the system is made. Of large files
// the first part is taken, far larger than any cache.
class FileLimit {
 public:
  explicit FileLimit(const DataSet& data);
  ~FileLimit();
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

  // Does all of it once more, on the calling thread, and returns its processor time: seconds a
  // record.
  double SecondsPerRecord();

 private:
  // Memory of the system, filled in beforehand.
  struct Mapping {
    char* begin = nullptr;
    size_t size = 0;
  };
  // A stretch of a block that is compressed by itself.
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
  size_t used_bytes_ = 0;  // of them in pieces
  double records_ = 0;
  Mapping out_;
  std::vector<char> hot_;  // where a chunk is expanded
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_LIMIT_H_
