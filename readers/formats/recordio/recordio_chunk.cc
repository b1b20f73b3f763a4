// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/recordio/recordio_chunk.h"

#include <libdeflate.h>
#include <snappy.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/support/checksums.h"

namespace millhopper {
namespace {

const char kMagic[] = {'\x04', '\x03', '\x02', '\x01'};
// Three bytes of a snappy block copy at most 64.
constexpr size_t kMaxSnappyExpansion = 22;
// Deflate cannot reach 1,032; the first MiB is free.
constexpr size_t kMaxDeflateExpansion = 1100;
constexpr size_t kFreeExpansion = size_t{1} << 20;
constexpr size_t kSmallestGzip = 18;

const std::string& OldSnappyMarker() {
  static const std::string marker("snappy\0", 7);
  return marker;
}
constexpr size_t kOldBlockHeaderBytes = 7;
constexpr size_t kOldBlockBytes = 32768;

const std::string& SnappyMarker() {
  static const std::string marker("\xff\x06\x00\x00sNaPpY", 10);
  return marker;
}
constexpr size_t kBlockBytes = 65536;

template <typename... Parts>
[[noreturn]] void Damaged(const Parts&... parts) {
  Throw(ErrorCode::kDataLoss, parts...);
}

uint32_t LittleEndian32(const char* bytes) {
  uint32_t number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

uint32_t BigEndian(const char* bytes, int size) {
  uint32_t number = 0;
  for (int i = 0; i < size; ++i) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

void AppendBytes(uint32_t number, int size, bool big_endian, std::string* out) {
  for (int i = 0; i < size; ++i) {
    out->push_back(static_cast<char>(number >> 8 * (big_endian ? size - 1 - i : i)));
  }
}

void CheckExpanded(uint64_t bytes) {
  if (bytes > kMaxExpandedChunkBytes) {
    Throw(ErrorCode::kResourceLimit, "the payload expands to ", bytes, " bytes; the limit is ",
          kMaxExpandedChunkBytes);
  }
}

// The expanded size that a plain snappy block declares; throws if it is impossible.
size_t SnappyLength(const char* block, size_t size) {
  size_t length = 0;
  if (!snappy::GetUncompressedLength(block, size, &length)) {
    Damaged("a snappy block of ", size, " bytes without its length");
  }
  if (length > size * kMaxSnappyExpansion) {
    Damaged("a snappy block of ", size, " bytes that says it expands to ", length);
  }
  return length;
}

void ExpandSnappyBlock(const char* block, size_t size, char* out) {
  if (!snappy::RawUncompress(block, size, out)) {
    Damaged("a damaged snappy block of ", size, " bytes");
  }
}

// One block of either framing.
struct Block {
  const char* data = nullptr;
  size_t stored = 0;
  size_t expanded = 0;
  bool compressed = false;
  uint32_t checksum = 0;  // masked CRC-32C, expanded
};

// The rest of a payload that is a sequence of blocks.
struct Blocks {
  const char* here;
  size_t left;

  const char* Take(size_t size) {
    if (size > left) {
      Damaged("a snappy block needs ", size, " bytes, but ", left, " are left in the payload");
    }
    const char* place = here;
    here += size;
    left -= size;
    return place;
  }
  bool TakeMarker(const std::string& marker) {
    if (left < marker.size() || std::memcmp(here, marker.data(), marker.size()) != 0) return false;
    Take(marker.size());
    return true;
  }
  void Fill(Block* block, bool compressed, const char* data, size_t size) {
    block->compressed = compressed;
    block->data = data;
    block->stored = size;
    block->expanded = compressed ? SnappyLength(data, size) : size;
  }
};

bool NextOldBlock(Blocks* blocks, Block* block) {
  while (blocks->TakeMarker(OldSnappyMarker())) continue;
  if (blocks->left == 0) return false;
  const char* header = blocks->Take(kOldBlockHeaderBytes);
  if (header[0] != 0 && header[0] != 1) {
    Damaged("a snappy block of kind ", static_cast<int>(static_cast<uint8_t>(header[0])),
            "; 0 and 1 are known");
  }
  const size_t stored = BigEndian(header + 1, 2);
  block->checksum = BigEndian(header + 3, 4);
  blocks->Fill(block, header[0] == 1, blocks->Take(stored), stored);
  return true;
}

bool NextBlock(Blocks* blocks, Block* block) {
  constexpr uint8_t kCompressed = 0x00;
  constexpr uint8_t kPlain = 0x01;
  constexpr uint8_t kFirstSkippable = 0x80;
  constexpr uint8_t kMarker = 0xff;
  while (blocks->left > 0) {
    if (blocks->TakeMarker(SnappyMarker())) continue;
    const char* header = blocks->Take(4);
    const auto kind = static_cast<uint8_t>(header[0]);
    const size_t stored = LittleEndian32(header) >> 8;
    const char* data = blocks->Take(stored);
    if (kind == kCompressed || kind == kPlain) {
      if (stored < 4) Damaged("a snappy block of ", stored, " bytes without its checksum");
      block->checksum = LittleEndian32(data);
      blocks->Fill(block, kind == kCompressed, data + 4, stored - 4);
      return true;
    }
    if (kind < kFirstSkippable || kind == kMarker) {
      Damaged("a snappy block of kind ", static_cast<int>(kind), ", which nobody defined");
    }
  }
  return false;
}

// Goes through the blocks twice: to know how much memory is needed, and to fill it.
Ref<Buffer> ExpandBlocks(const Blocks& all, bool (*next)(Blocks*, Block*), size_t* expanded) {
  Block block;
  uint64_t total = 0;
  for (Blocks rest = all; next(&rest, &block);) {
    total += block.expanded;
    CheckExpanded(total);
  }
  Ref<Buffer> buffer = BufferPool::At(Place()).Take(total);
  char* out = buffer->data();
  for (Blocks rest = all; next(&rest, &block); out += block.expanded) {
    if (block.compressed) {
      ExpandSnappyBlock(block.data, block.stored, out);
    } else if (block.expanded > 0) {
      std::memcpy(out, block.data, block.expanded);
    }
    const uint32_t checksum = MaskedCrc32c(out, block.expanded);
    if (checksum != block.checksum) {
      Damaged("snappy block checksum ", Hex(checksum), ", block says ", Hex(block.checksum));
    }
  }
  *expanded = total;
  return buffer;
}

Ref<Buffer> ExpandSnappy(RecordIODialect dialect, const char* payload, size_t size,
                         size_t* expanded) {
  if (dialect == RecordIODialect::kCrc32c) {
    *expanded = SnappyLength(payload, size);
    CheckExpanded(*expanded);
    Ref<Buffer> buffer = BufferPool::At(Place()).Take(*expanded);
    ExpandSnappyBlock(payload, size, buffer->data());
    return buffer;
  }
  Blocks blocks{payload, size};
  if (blocks.TakeMarker(OldSnappyMarker())) return ExpandBlocks(blocks, &NextOldBlock, expanded);
  if (blocks.TakeMarker(SnappyMarker())) return ExpandBlocks(blocks, &NextBlock, expanded);
  Damaged("the payload begins like neither of snappy's framings");
}

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const {
    libdeflate_free_decompressor(decompressor);
  }
};

libdeflate_decompressor* ThreadDecompressor() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  if (decompressor == nullptr) throw std::bad_alloc();
  return decompressor.get();
}

// Expands all members; LIBDEFLATE_INSUFFICIENT_SPACE if they do not fit.
libdeflate_result ExpandMembers(const char* payload, size_t size, const Buffer& buffer,
                                size_t* expanded) {
  *expanded = 0;
  for (size_t used = 0; used < size;) {
    size_t in = 0;
    size_t out = 0;
    const libdeflate_result result = libdeflate_gzip_decompress_ex(
        ThreadDecompressor(), payload + used, size - used, buffer.data() + *expanded,
        buffer.capacity() - *expanded, &in, &out);
    if (result != LIBDEFLATE_SUCCESS) return result;
    used += in;
    *expanded += out;
  }
  return LIBDEFLATE_SUCCESS;
}

Ref<Buffer> ExpandGzip(const char* payload, size_t size, size_t* expanded) {
  if (size < kSmallestGzip) Damaged("gzip data of ", size, " bytes");
  // The last four bytes are the size of the last member, which nearly always is the only one.
  size_t guess = LittleEndian32(payload + size - 4);
  const size_t possible = kFreeExpansion + size * kMaxDeflateExpansion;
  if (guess > possible) {
    Damaged("gzip data of ", size, " bytes that says it expands to ", guess);
  }
  CheckExpanded(guess);
  const size_t limit = std::min<size_t>(kMaxExpandedChunkBytes, possible);
  for (;;) {
    Ref<Buffer> buffer = BufferPool::At(Place()).Take(guess);
    const libdeflate_result result = ExpandMembers(payload, size, *buffer, expanded);
    if (result == LIBDEFLATE_SUCCESS) {
      CheckExpanded(*expanded);
      return buffer;
    }
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE) Damaged("damaged gzip data");
    if (buffer->capacity() >= limit) CheckExpanded(kMaxExpandedChunkBytes + 1);
    guess = std::min(limit, 2 * buffer->capacity());
  }
}

// Appends the payload cut into blocks, each with the header that `append_header` puts before it. A
// block that would not shrink by an eighth is stored as it is.
template <typename AppendHeader>
void AppendBlocks(const std::string& payload, size_t block_bytes, const AppendHeader& append_header,
                  std::string* out) {
  std::string block;
  for (size_t begin = 0; begin < payload.size(); begin += block_bytes) {
    const char* data = payload.data() + begin;
    const size_t size = std::min(block_bytes, payload.size() - begin);
    snappy::Compress(data, size, &block);
    const bool compressed = block.size() <= size - size / 8;
    if (!compressed) block.assign(data, size);
    append_header(compressed, static_cast<uint32_t>(block.size()), MaskedCrc32c(data, size));
    *out += block;
  }
}

std::string CompressOldSnappy(const std::string& payload) {
  std::string out = OldSnappyMarker();
  AppendBlocks(
      payload, kOldBlockBytes,
      [&out](bool compressed, uint32_t stored, uint32_t checksum) {
        out.push_back(compressed ? 1 : 0);
        AppendBytes(stored, 2, true, &out);
        AppendBytes(checksum, 4, true, &out);
      },
      &out);
  return out;
}

std::string CompressFramedSnappy(const std::string& payload) {
  std::string out = SnappyMarker();
  AppendBlocks(
      payload, kBlockBytes,
      [&out](bool compressed, uint32_t stored, uint32_t checksum) {
        out.push_back(compressed ? 0 : 1);
        AppendBytes(stored + 4, 3, false, &out);
        AppendBytes(checksum, 4, false, &out);
      },
      &out);
  return out;
}

std::string CompressGzip(const std::string& payload) {
  constexpr int kLevel = 6;
  struct FreeCompressor {
    void operator()(libdeflate_compressor* compressor) const {
      libdeflate_free_compressor(compressor);
    }
  };
  const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
      libdeflate_alloc_compressor(kLevel));
  if (compressor == nullptr) throw std::bad_alloc();
  std::string out(libdeflate_gzip_compress_bound(compressor.get(), payload.size()), '\0');
  out.resize(libdeflate_gzip_compress(compressor.get(), payload.data(), payload.size(), out.data(),
                                      out.size()));
  return out;
}

template <typename Value, size_t kCount>
Value FromName(const std::string& name, const char* what, const Value (&values)[kCount]) {
  std::string known;
  for (const Value value : values) {
    if (name == ToString(value)) return value;
    known += StrCat(known.empty() ? "" : ", ", ToString(value));
  }
  Throw(ErrorCode::kInvalidArgument, "'", Escaped(name), "' is no ", what,
        " of RecordIO; known: ", known);
}

}  // namespace

const char* ToString(RecordIODialect dialect) {
  switch (dialect) {
    case RecordIODialect::kFluid:
      return "fluid";
    case RecordIODialect::kGo:
      return "go";
    case RecordIODialect::kCrc32c:
      return "crc32c";
  }
  return "unknown";
}

const char* ToString(RecordIOCompressor compressor) {
  switch (compressor) {
    case RecordIOCompressor::kNone:
      return "none";
    case RecordIOCompressor::kSnappy:
      return "snappy";
    case RecordIOCompressor::kGzip:
      return "gzip";
  }
  return "unknown";
}

RecordIODialect RecordIODialectFromName(const std::string& name) {
  return FromName(name, "dialect",
                  {RecordIODialect::kFluid, RecordIODialect::kGo, RecordIODialect::kCrc32c});
}

RecordIOCompressor RecordIOCompressorFromName(const std::string& name) {
  return FromName(
      name, "compressor",
      {RecordIOCompressor::kNone, RecordIOCompressor::kSnappy, RecordIOCompressor::kGzip});
}

bool HasRecordIOMagic(const char* bytes, size_t size) {
  return size >= sizeof(kMagic) && std::memcmp(bytes, kMagic, sizeof(kMagic)) == 0;
}

RecordIOHeader ReadRecordIOHeader(const char* bytes, RecordIODialect dialect) {
  uint32_t words[4];
  std::memcpy(words, bytes + sizeof(kMagic), sizeof(words));
  if (dialect == RecordIODialect::kGo) return {words[3], words[0], words[1], words[2]};
  return {words[0], words[1], words[2], words[3]};
}

void WriteRecordIOHeader(const RecordIOHeader& header, RecordIODialect dialect, char* bytes) {
  const uint32_t records_first[4] = {header.records, header.checksum, header.compressor_code,
                                     header.payload_bytes};
  const uint32_t records_last[4] = {header.checksum, header.compressor_code, header.payload_bytes,
                                    header.records};
  std::memcpy(bytes, kMagic, sizeof(kMagic));
  std::memcpy(bytes + sizeof(kMagic),
              dialect == RecordIODialect::kGo ? records_last : records_first,
              sizeof(records_first));
}

uint32_t RecordIOCompressorCode(RecordIODialect dialect, RecordIOCompressor compressor) {
  return static_cast<uint32_t>(compressor) + (dialect == RecordIODialect::kCrc32c ? 1 : 0);
}

std::optional<RecordIOCompressor> RecordIOCompressorOf(RecordIODialect dialect, uint32_t code) {
  for (const RecordIOCompressor compressor :
       {RecordIOCompressor::kNone, RecordIOCompressor::kSnappy, RecordIOCompressor::kGzip}) {
    if (RecordIOCompressorCode(dialect, compressor) == code) return compressor;
  }
  return std::nullopt;
}

uint32_t RecordIOChecksum(RecordIODialect dialect, const char* payload, size_t size) {
  return dialect == RecordIODialect::kCrc32c ? Crc32c(payload, size) : Crc32(payload, size);
}

std::string CompressRecordIO(RecordIODialect dialect, RecordIOCompressor compressor,
                             const std::string& payload) {
  if (compressor == RecordIOCompressor::kNone) return payload;
  if (compressor == RecordIOCompressor::kGzip) return CompressGzip(payload);
  if (dialect == RecordIODialect::kFluid) return CompressOldSnappy(payload);
  if (dialect == RecordIODialect::kGo) return CompressFramedSnappy(payload);
  std::string block;
  snappy::Compress(payload.data(), payload.size(), &block);
  return block;
}

Ref<Buffer> ExpandRecordIO(RecordIODialect dialect, RecordIOCompressor compressor,
                           const char* payload, size_t size, size_t* expanded) {
  return compressor == RecordIOCompressor::kGzip ? ExpandGzip(payload, size, expanded)
                                                 : ExpandSnappy(dialect, payload, size, expanded);
}

void ListRecords(const char* payload, size_t size, uint32_t first, uint32_t records,
                 PooledVector<Piece>* pieces) {
  constexpr size_t kLengthBytes = 4;
  constexpr size_t kPrefetchedRecords = 32;
  const size_t possible = std::min<size_t>(records, size / kLengthBytes);
  if (possible > kMaxChunkRecords) {
    Throw(ErrorCode::kResourceLimit, "the header says ", records, " records; the limit is ",
          kMaxChunkRecords);
  }
  pieces->reserve(pieces->size() + possible);
  size_t position = 0;
  for (uint32_t i = 0; i < records; ++i) {
    const size_t left = size - position;
    if (left < kLengthBytes) {
      Damaged("the header says ", records, " records, but the payload ends within the length of ",
              "record ", i);
    }
    const uint32_t length = LittleEndian32(payload + position);
    // A length lies where the one before it says, which the processor has to wait for. Records are
    // often of one size, so that the place of a later one can be guessed.
    const size_t guessed = position + kPrefetchedRecords * (kLengthBytes + length);
    if (guessed < size) __builtin_prefetch(payload + guessed);
    if (length > left - kLengthBytes) {
      Damaged("record ", i, " of ", records, " says it has ", length, " bytes, but ",
              left - kLengthBytes, " are left in the payload");
    }
    position += kLengthBytes;
    pieces->push_back({first + static_cast<uint32_t>(position), length});
    position += length;
  }
  if (position != size) {
    Damaged("the header says ", records, " records, but ", size - position,
            " bytes are left in the payload after them");
  }
}

}  // namespace millhopper
