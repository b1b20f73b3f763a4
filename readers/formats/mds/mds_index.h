// SPDX-License-Identifier: Apache-2.0
// The index.json of a folder of MDS shards (Source: mosaicml-streaming 0.13,
// streaming/base/format/mds/writer.py and base/writer.py).
#ifndef MILLHOPPER_READERS_FORMATS_MDS_MDS_INDEX_H_
#define MILLHOPPER_READERS_FORMATS_MDS_MDS_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

// A column of all samples.
struct MdsColumn {
  std::string name;
  std::string encoding;  // "int", "ndarray:float32:3,4" ...
  uint32_t size = 0;     // of its bytes in every sample; 0 if each sample says its own

  bool operator==(const MdsColumn& other) const {
    return name == other.name && encoding == other.encoding && size == other.size;
  }
};

struct MdsShard {
  // A file in the folder of the index, or in a folder below it.
  struct Stored {
    std::string name;  // "" if there is none
    uint64_t bytes = 0;
  };

  Stored raw;
  Stored zip;               // the same content, compressed
  std::string compression;  // of zip: "zstd", without its level
  uint64_t samples = 0;
  // Where its content begins if the contents of all shards lie one after another; a multiple of
  // kBufferAlignment.
  uint64_t begin = 0;
};

struct MdsIndex {
  std::vector<MdsColumn> columns;  // the same in all shards; none if there is no shard
  std::vector<MdsShard> shards;

  uint64_t samples() const;
};

// Reads an index. Throws what reading the file throws, kDataLoss with the file if it is no index of
// MDS shards, or names files outside of its folder, and kResourceLimit if it is too large.
MdsIndex ReadMdsIndex(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_MDS_MDS_INDEX_H_
