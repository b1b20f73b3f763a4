// SPDX-License-Identifier: Apache-2.0
#include "tests/files/element_cache_files.h"

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace millhopper {
namespace {

constexpr size_t kSlotsAt = 24;       // after the magic number and the key
constexpr size_t kSlotBytes = 16;     // of a slot without its dims
constexpr size_t kRankAt = 12;        // in a slot
constexpr size_t kCheckedBytes = 16;  // of a block, before its checksum
constexpr size_t kHeadBytes = 24;     // of a block

template <typename T>
T At(const std::string& file, size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof(value));
  return value;
}

void SetChecksum(size_t at, uint64_t seed, const std::string& checked, std::string* file) {
  const uint64_t checksum = XXH3_64bits_withSeed(checked.data(), checked.size(), seed);
  std::memcpy(file->data() + at, &checksum, sizeof(checksum));
}

// Where the checksum of the head stands, or npos.
size_t EndOfHead(const std::string& file) {
  size_t at = kSlotsAt + sizeof(uint32_t);
  if (file.size() < at) return std::string::npos;
  for (uint32_t left = At<uint32_t>(file, kSlotsAt); left > 0; --left) {
    if (file.size() - at < kSlotBytes) return std::string::npos;
    const size_t dims = At<uint32_t>(file, at + kRankAt) * sizeof(int64_t);
    at += kSlotBytes;
    if (file.size() - at < dims) return std::string::npos;
    at += dims;
  }
  return file.size() - at < sizeof(uint64_t) ? std::string::npos : at;
}

}  // namespace

std::string WithRightChecksums(std::string file) {
  const size_t head = EndOfHead(file);
  if (head == std::string::npos) return file;
  SetChecksum(head, 0, file.substr(0, head), &file);
  for (size_t at = head + sizeof(uint64_t); file.size() - at >= kHeadBytes;) {
    const bool is_end = At<uint32_t>(file, at) == 0;
    const uint64_t body = is_end ? 0 : At<uint64_t>(file, at + 8);
    if (body > file.size() - at - kHeadBytes) return file;
    SetChecksum(at + kCheckedBytes, at,
                file.substr(at, kCheckedBytes) + file.substr(at + kHeadBytes, body), &file);
    at += kHeadBytes + body;
  }
  return file;
}

}  // namespace millhopper
