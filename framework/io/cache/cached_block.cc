// SPDX-License-Identifier: Apache-2.0
#include "framework/io/cache/cached_block.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace millhopper {
namespace {

constexpr std::string_view kMagic = "MHBLOCK1";
constexpr size_t kNumberBytes = sizeof(uint64_t);
constexpr size_t kPieceBytes = size_t{64} << 10;

// How many bytes before a block say what it is.
constexpr size_t kTitleBytes = kMagic.size() + sizeof(BlockDigest) + kNumberBytes;

size_t Pieces(size_t size) { return (size + kPieceBytes - 1) / kPieceBytes; }

size_t HeadBytes(size_t size) { return kTitleBytes + (Pieces(size) + 1) * kNumberBytes; }

void AddNumber(uint64_t number, std::string* out) {
  for (size_t i = 0; i < kNumberBytes; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

uint64_t NumberAt(const std::string& bytes, size_t at) {
  uint64_t number = 0;
  for (size_t i = kNumberBytes; i-- > 0;)
    number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

std::string Title(const BlockDigest& digest, size_t size) {
  std::string title(kMagic);
  title.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  AddNumber(size, &title);
  return title;
}

bool ReadAll(int descriptor, uint64_t offset, char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(descriptor, out, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<size_t>(got);
    size -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

std::string CachedBlockHead(const BlockDigest& digest, const char* block, size_t size) {
  std::string head = Title(digest, size);
  for (size_t begin = 0; begin < size; begin += kPieceBytes) {
    AddNumber(XXH3_64bits(block + begin, std::min(kPieceBytes, size - begin)), &head);
  }
  AddNumber(XXH3_64bits(head.data(), head.size()), &head);
  return head;
}

std::optional<uint64_t> CachedBlockBytes(int descriptor) {
  std::string title(kTitleBytes, '\0');
  if (!ReadAll(descriptor, 0, title.data(), title.size()) ||
      title.compare(0, kMagic.size(), kMagic) != 0) {
    return std::nullopt;
  }
  return NumberAt(title, kTitleBytes - kNumberBytes);
}

std::optional<time_t> ReadCachedBlock(int descriptor, const BlockDigest& digest, size_t block_size,
                                      size_t offset, char* out, size_t size) {
  std::string head(HeadBytes(block_size), '\0');
  const size_t checked = head.size() - kNumberBytes;
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) != head.size() + block_size ||
      !ReadAll(descriptor, 0, head.data(), head.size()) ||
      head.compare(0, kTitleBytes, Title(digest, block_size)) != 0 ||
      NumberAt(head, checked) != XXH3_64bits(head.data(), checked)) {
    return std::nullopt;
  }
  std::unique_ptr<char[]> piece;  // of which only a part is wanted
  while (size > 0) {
    const size_t number = offset / kPieceBytes, begin = number * kPieceBytes;
    const size_t piece_size = std::min(kPieceBytes, block_size - begin);
    const size_t wanted = std::min(size, begin + piece_size - offset);
    const bool whole = wanted == piece_size;
    if (!whole && piece == nullptr) piece.reset(new char[kPieceBytes]);
    char* const to = whole ? out : piece.get();
    if (!ReadAll(descriptor, head.size() + begin, to, piece_size) ||
        NumberAt(head, kTitleBytes + number * kNumberBytes) != XXH3_64bits(to, piece_size)) {
      return std::nullopt;
    }
    if (!whole) std::memcpy(out, to + (offset - begin), wanted);
    out += wanted;
    offset += wanted;
    size -= wanted;
  }
  return status.st_mtime;
}

}  // namespace millhopper
