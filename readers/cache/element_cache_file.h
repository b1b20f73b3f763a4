// SPDX-License-Identifier: Apache-2.0
// Files that hold the elements of a pass of a reader: the entries of a cache on a disk.
//
// All integers are little-endian; a checksum is XXH3 with 64 bits.
//
//   "MHCACHE2" | 16 bytes of the key | u32 slots | per slot: i32 type, i32 levels of detail, u32
//   whether type and dims are known, u32 rank, that many i64 dims | u64 checksum of all before it
//   blocks: u32 elements | u32 0 | u64 bytes of the body | u64 checksum | body
//   the end: u32 0 | u32 1 | u64 elements of all blocks | u64 checksum
//
// The body of a block is a u32 size for each element, then the elements: the five numbers of a
// RecordId (u64 pass, sample, part, chunk, u32 file, record), then the tensor of each slot as
// tensor_stream.h writes it. The checksum of a block, and of the end, is seeded with the byte of
// the file at which it begins and covers all of it but itself, so that a block at another place
// or of another length is noticed as well as a bit that has changed.
#ifndef MILLHOPPER_READERS_CACHE_ELEMENT_CACHE_FILE_H_
#define MILLHOPPER_READERS_CACHE_ELEMENT_CACHE_FILE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/record_id.h"
#include "framework/io/file.h"
#include "framework/io/output_file.h"
#include "framework/reader/file_format.h"

namespace millhopper {

// Identifies the elements in a file: a digest of everything that they depend on.
using CacheKey = std::array<char, 16>;

// The digest of a description.
CacheKey CacheKeyOf(const std::string& description);
// 32 hexadecimal digits.
std::string ToString(const CacheKey& key);

// Writes a file, which gets its name when it is whole. One thread at a time. Everything may throw
// kIo (a full disk), after which the file can only be dropped.
class ElementCacheWriter {
 public:
  // `may_grow` is called before more is written, with the size that the file is about to have; it
  // throws if that is too much.
  ElementCacheWriter(const std::string& path, const CacheKey& key,
                     const std::vector<SlotSpec>& slots,
                     std::function<void(uint64_t bytes)> may_grow);

  // Throws kResourceLimit for an element that a file cannot hold.
  void Add(const RecordId& id, const std::vector<LoDTensor>& element);
  // Writes the rest and gives the file its name.
  void Publish();

 private:
  // Writes a block with the body that these parts make.
  void WriteBlock(uint32_t elements, const std::vector<std::string_view>& body);
  // Writes the block that is being filled, if it has elements.
  void Flush();

  OutputFile file_;
  const std::function<void(uint64_t bytes)> may_grow_;
  std::string sizes_, elements_;  // of the block that is being filled
  uint64_t added_ = 0;            // elements so far
};

// Reads one file. Its tickets point to the bytes of elements that are whole.
class ElementCacheFormat final : public FileFormat {
 public:
  // Reads the head of the file. Throws kDataLoss if it is damaged, or that of another version or
  // another key, and what File::Read throws.
  static std::unique_ptr<ElementCacheFormat> Read(std::unique_ptr<const File> file,
                                                  const CacheKey& key);

  // Sources that are opened from now on begin with the block that holds this element, counted from
  // 0. Returns how many elements come before that block. Reads only the heads of blocks. Throws
  // kInvalidArgument if the file has fewer elements, and kDataLoss for heads that are damaged.
  uint64_t StartWith(uint64_t element);
  // Where elements lie, as in the names of their tickets: Chunk::offset and the number within the
  // chunk. `elements` ascend. Reads and throws as StartWith.
  std::vector<RecordId> PlacesOf(const std::vector<uint64_t>& elements) const;

  // The elements of that file, which `file` must name. Damage is kDataLoss.
  std::unique_ptr<FileSource> Open(const FileEntry& file) override;
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override;

  // What the bytes of a ticket say.
  static RecordId IdOf(const Ticket& ticket);
  // Appends one element to rows with the slots of the file. Throws kDataLoss.
  static void LoadElement(const Ticket& ticket, Rows* rows);

 private:
  ElementCacheFormat(std::vector<SlotSpec> slots, std::unique_ptr<const File> file,
                     uint64_t first_block)
      : FileFormat(std::move(slots)),
        file_(std::move(file)),
        first_block_(first_block),
        start_byte_(first_block) {}

  // Calls f with each block of the file; returns how many elements they have.
  template <typename F>
  uint64_t ForEachBlock(const F& f) const;

  const std::shared_ptr<const File> file_;
  const uint64_t first_block_;  // the byte at which it begins
  // The block that what is opened begins with, and the elements before it.
  uint64_t start_byte_;
  uint64_t start_element_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CACHE_ELEMENT_CACHE_FILE_H_
