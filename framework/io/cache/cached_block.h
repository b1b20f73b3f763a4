// SPDX-License-Identifier: Apache-2.0
// An entry of a cache of remote files (remote_cache.h): a block of an object, as a file.
//
// Integers are little-endian; a checksum is XXH3 with 64 bits.
//
//   "MHBLOCK1" | 32 bytes that say what the block is | u64 bytes of the block
//   u64 checksum of each piece of the block, which has 64 KiB, the last one less
//   u64 checksum of all before it | the block
//
// Entries are not synced to the disk: after a crash of the machine a part may be missing or zeros,
// and then a checksum is wrong, as it is where the disk has changed a bit. Checksums of pieces let
// a few bytes be read without the whole block.
#ifndef MILLHOPPER_FRAMEWORK_IO_CACHE_CACHED_BLOCK_H_
#define MILLHOPPER_FRAMEWORK_IO_CACHE_CACHED_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "framework/io/digest.h"

namespace millhopper {

// A SHA-256 of everything that the bytes of a block depend on.
using BlockDigest = std::array<uint8_t, kSha256Bytes>;

// What stands before a block.
std::string CachedBlockHead(const BlockDigest& digest, const char* block, size_t size);

// How many bytes an open entry says that its block has; nothing if it is no entry. Reading it tells
// whether that is so.
std::optional<uint64_t> CachedBlockBytes(int descriptor);

// Reads bytes of the block of an open entry, which must be this one and have `block_size` bytes.
// Returns the time of the file's last change. Nothing if it is another entry, or if a piece that
// the bytes lie in is not what was written; `out` may have any bytes then.
std::optional<time_t> ReadCachedBlock(int descriptor, const BlockDigest& digest, size_t block_size,
                                      size_t offset, char* out, size_t size);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_CACHE_CACHED_BLOCK_H_
