// SPDX-License-Identifier: Apache-2.0
// Source: XXH3 (https://github.com/Cyan4973/xxHash).
#include "readers/index/chunk_index.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/memory/buffer.h"
#include "readers/index/indexed_source.h"
#include "readers/support/stored_number.h"

namespace millhopper {
namespace {

// The head has its own checksum, so that a count needs no more than the head.
//
//   byte 0 magic | 8 u32 version | 12 u32 bytes of the rules | 16 u64 bytes of the file
//   24 u64 checksum of its ends | 32 u64 chunks | 40 u64 records | 48 u64 checksum of the table
//   56 the rules | u64 checksum of all before
//
// and then the table, for each chunk u32 length | u32 records | u64 checksum.
constexpr std::string_view kMagic = "\x89MHI\r\n\x1a\n";
constexpr uint32_t kVersion = 1;
// A new version is also due when chunks begin at other places: readers with an index and without it
// would not exchange positions any more. What decides, besides the formats and SizeClass:
static_assert(kReadBlockBytes == size_t{1} << 20 && kBufferAlignment == 64 &&
                  kMostIndexedRecords == 1 << 16,
              "with these the places where chunks begin are others, so kVersion must be another");
constexpr size_t kFixedBytes = 56;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kEntryBytes = 16;
constexpr uint32_t kMaxRulesBytes = 4096;

// How much of each end of a file is looked at: a small part of it, so that a reader of a few chunks
// of many files does not read more to check the files than to read them.
constexpr uint64_t kLeastEndBytes = uint64_t{4} << 10;
constexpr uint64_t kMostEndBytes = uint64_t{64} << 10;
constexpr uint64_t kEndPart = 64;

size_t EndBytes(uint64_t file_bytes) {
  return static_cast<size_t>(
      std::min(file_bytes, std::clamp(file_bytes / kEndPart, kLeastEndBytes, kMostEndBytes)));
}

template <typename T>
void Put(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

[[noreturn]] void Damaged(const std::string& path, uint64_t offset, const std::string& problem) {
  throw Error(ErrorCode::kDataLoss, StrCat("the index is damaged: ", problem,
                                           "; delete it, or make it again with recordio index"))
      .InFile(path, static_cast<int64_t>(offset));
}

// What the head says, whose checksum is right.
struct Head {
  std::string rules;
  uint64_t file_bytes, ends, chunks, records, table_checksum;
  uint64_t size;  // of the head
};

Head ReadHead(const File& index) {
  const std::string& path = index.path();
  if (index.size() < kFixedBytes + kChecksumBytes) {
    Damaged(path, 0, StrCat("it has ", index.size(), " bytes"));
  }
  std::string bytes(kFixedBytes, '\0');
  index.Read(0, bytes.data(), bytes.size());
  if (std::string_view(bytes).substr(0, kMagic.size()) != kMagic) {
    Damaged(path, 0, "it does not begin as an index does");
  }
  const auto version = StoredNumber<uint32_t>(&bytes[8]);
  if (version != kVersion) {
    throw Error(ErrorCode::kDataLoss, StrCat("an index of version ", version, "; known is ",
                                             kVersion, "; make it again with recordio index"))
        .InFile(path, 8);
  }
  const auto rules_bytes = StoredNumber<uint32_t>(&bytes[12]);
  if (rules_bytes > kMaxRulesBytes || index.size() < kFixedBytes + rules_bytes + kChecksumBytes) {
    Damaged(path, 12, StrCat(rules_bytes, " bytes of rules"));
  }
  Head head;
  head.size = kFixedBytes + rules_bytes + kChecksumBytes;
  bytes.resize(head.size);
  index.Read(kFixedBytes, &bytes[kFixedBytes], head.size - kFixedBytes);
  const size_t checked = kFixedBytes + rules_bytes;
  if (XXH3_64bits(bytes.data(), checked) != StoredNumber<uint64_t>(&bytes[checked])) {
    Damaged(path, checked, "the checksum of its head is wrong");
  }
  head.file_bytes = StoredNumber<uint64_t>(&bytes[16]);
  head.ends = StoredNumber<uint64_t>(&bytes[24]);
  head.chunks = StoredNumber<uint64_t>(&bytes[32]);
  head.records = StoredNumber<uint64_t>(&bytes[40]);
  head.table_checksum = StoredNumber<uint64_t>(&bytes[48]);
  head.rules = bytes.substr(kFixedBytes, rules_bytes);
  const uint64_t table = index.size() - head.size;
  if (table % kEntryBytes != 0 || head.chunks != table / kEntryBytes) {
    Damaged(path, 32, StrCat("it has ", table, " bytes for ", head.chunks, " chunks"));
  }
  // A chunk has a byte at least.
  if (head.records / kMaxChunkRecords > head.file_bytes) {
    Damaged(path, 40, StrCat(head.records, " records in a file of ", head.file_bytes, " bytes"));
  }
  return head;
}

void CheckFits(const Head& head, const std::string& path, const File& file) {
  if (head.file_bytes != file.size()) {
    FailStale(path, file.path(),
              StrCat("the file has ", file.size(), " bytes, not ", head.file_bytes), 0);
  }
  if (head.ends != ChunkIndex::EndsOf(file)) {
    FailStale(path, file.path(), "the file begins or ends with other bytes", 0);
  }
}

}  // namespace

uint64_t ChunkIndex::EndsOf(const File& file) {
  const size_t size = EndBytes(file.size());
  std::string bytes(2 * size, '\0');
  if (size > 0) {
    file.Read(0, bytes.data(), size);
    file.Read(file.size() - size, bytes.data() + size, size);
  }
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string ChunkIndex::ToBytes() const {
  std::string table;
  table.reserve(chunks.size() * kEntryBytes);
  for (const IndexedChunk& chunk : chunks) {
    Put(chunk.length, &table);
    Put(chunk.records, &table);
    Put(chunk.checksum, &table);
  }
  std::string bytes(kMagic);
  Put(kVersion, &bytes);
  Put(static_cast<uint32_t>(rules.size()), &bytes);
  Put(file_bytes, &bytes);
  Put(ends, &bytes);
  Put(static_cast<uint64_t>(chunks.size()), &bytes);
  Put(records, &bytes);
  Put(static_cast<uint64_t>(XXH3_64bits(table.data(), table.size())), &bytes);
  bytes += rules;
  Put(static_cast<uint64_t>(XXH3_64bits(bytes.data(), bytes.size())), &bytes);
  return bytes + table;
}

std::string IndexPathOf(const std::string& file) { return file + kIndexSuffix; }

bool MayHaveIndex(const std::string& file) { return IsLocal(file); }

std::optional<std::string> FindIndex(const std::string& file) {
  if (!MayHaveIndex(file)) return std::nullopt;
  std::string path = IndexPathOf(file);
  if (FileSystemOf(path).Stat(path).kind != FileStatus::Kind::kFile) return std::nullopt;
  if (CanBeReadOnceOnly(file)) return std::nullopt;
  return path;
}

std::string RulesOf(const std::string& path) { return ReadHead(*File::Open(path)).rules; }

bool IsChunkIndex(const std::string& path) {
  const std::unique_ptr<const File> file = File::Open(path);
  char bytes[kMagic.size()];
  if (file->size() < sizeof(bytes)) return false;
  file->Read(0, bytes, sizeof(bytes));
  return std::string_view(bytes, sizeof(bytes)) == kMagic;
}

std::optional<ChunkIndex> ReadIndex(const File& index_file, const File& file,
                                    std::string_view rules) {
  const std::string& path = index_file.path();
  const Head head = ReadHead(index_file);
  if (head.rules != rules) return std::nullopt;
  CheckFits(head, path, file);
  const uint64_t table_bytes = index_file.size() - head.size;
  if (table_bytes > ChunkIndex::kMaxBytes) {
    throw Error(ErrorCode::kResourceLimit, StrCat("an index of ", index_file.size(),
                                                  " bytes; the limit is ", ChunkIndex::kMaxBytes))
        .InFile(path, 0);
  }
  std::string table(table_bytes, '\0');
  index_file.Read(head.size, table.data(), table.size());
  if (XXH3_64bits(table.data(), table.size()) != head.table_checksum) {
    Damaged(path, head.size, "the checksum of its table is wrong");
  }
  ChunkIndex index;
  index.rules = head.rules;
  index.file_bytes = head.file_bytes;
  index.ends = head.ends;
  index.records = head.records;
  index.chunks.reserve(head.chunks);
  uint64_t end = 0, records = 0;
  for (size_t at = 0; at < table.size(); at += kEntryBytes) {
    const IndexedChunk chunk = {StoredNumber<uint32_t>(&table[at]),
                                StoredNumber<uint32_t>(&table[at + 4]),
                                StoredNumber<uint64_t>(&table[at + 8])};
    if (chunk.length == 0 || chunk.length > kMaxChunkBytes ||
        chunk.length > head.file_bytes - end || chunk.records > chunk.length) {
      Damaged(path, head.size + at,
              StrCat("a chunk at byte ", end, " of ", chunk.length, " bytes and ", chunk.records,
                     " records in a file of ", head.file_bytes, " bytes"));
    }
    end += chunk.length;
    records += chunk.records;
    index.chunks.push_back(chunk);
  }
  if (end != head.file_bytes || records != head.records) {
    Damaged(path, head.size,
            StrCat("its chunks have ", end, " bytes and ", records, " records, but its head says ",
                   head.file_bytes, " and ", head.records));
  }
  return index;
}

std::optional<uint64_t> ReadCount(const File& index, const File& file, std::string_view rules) {
  const Head head = ReadHead(index);
  if (head.rules != rules) return std::nullopt;
  CheckFits(head, index.path(), file);
  return head.records;
}

void FailStale(const std::string& index_path, const std::string& file_path,
               const std::string& problem, uint64_t offset) {
  throw Error(ErrorCode::kDataLoss,
              StrCat("the file has changed since its index was made: ", problem, "; delete ",
                     Escaped(index_path), ", or make it again with recordio index"))
      .InFile(file_path, static_cast<int64_t>(offset));
}

}  // namespace millhopper
