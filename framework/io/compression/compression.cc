// SPDX-License-Identifier: Apache-2.0
#include "framework/io/compression/compression.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "framework/base/stop.h"
#include "framework/base/url.h"
#include "framework/io/one_pass.h"

namespace millhopper {
namespace {

const Compression* const kCompressions[] = {&kGzip, &kZstd, &kLz4, &kBzip2, &kXz};

// A magic number and the size of what follows.
constexpr size_t kSkippableHeadBytes = 8;

// Reads the bytes at which a frame may begin: no more than it takes to know that none does, since
// the writer of a pipe may have fallen silent after these.
size_t ReadHead(uint64_t place, const ReadAt& read, char* head) {
  const auto may_begin = [head](size_t size) {
    return std::any_of(std::begin(kCompressions), std::end(kCompressions),
                       [=](const Compression* one) { return one->begins(head, size); });
  };
  size_t size = 0;
  for (const size_t wanted : {size_t{1}, size_t{2}, kSkippableHeadBytes}) {
    size += read(place + size, head + size, wanted - size);
    if (size < wanted || !may_begin(size)) break;
  }
  return size;
}

}  // namespace

bool HasMagic(const char* head, size_t size, uint32_t magic) {
  return std::memcmp(head, &magic, std::min(size, sizeof(magic))) == 0;
}

bool IsSkippableFrame(const char* head, size_t size) {
  constexpr uint32_t kMagic = 0x184d2a50;  // the lowest four bits mean nothing
  if (size == 0) return true;
  const char first = static_cast<char>(head[0] & 0xf0);
  const char bytes[] = {first, size > 1 ? head[1] : '\0', size > 2 ? head[2] : '\0',
                        size > 3 ? head[3] : '\0'};
  return HasMagic(bytes, size, kMagic);
}

const Compression* CompressionOf(const std::string& path, const ReadAt& read) {
  for (uint64_t place = 0;;) {
    char head[kSkippableHeadBytes];
    const size_t size = ReadHead(place, read, head);
    if (size == 0 && place == 0) return nullptr;
    if (size < sizeof(uint32_t) || !IsSkippableFrame(head, size)) {
      for (const Compression* compression : kCompressions) {
        if (size >= compression->head_bytes && compression->begins(head, size)) return compression;
      }
      if (place == 0) return nullptr;
      break;
    }
    if (size < kSkippableHeadBytes) break;
    uint32_t skipped;
    std::memcpy(&skipped, head + sizeof(uint32_t), sizeof(skipped));
    place += kSkippableHeadBytes + skipped;
    CheckStop();  // a file may be nothing but such frames
  }
  // The file has only skippable frames. The decoder of the name's extension reports that.
  const Compression* const named = CompressionByName(path);
  return named == &kLz4 ? named : &kZstd;
}

const Compression* CompressionByName(const std::string& path) {
  if (IsCommand(path)) return nullptr;
  const std::string_view name = WithoutQuery(path);
  for (const Compression* compression : kCompressions) {
    const size_t size = std::strlen(compression->extension);
    if (name.size() > size && name.compare(name.size() - size, size, compression->extension) == 0) {
      return compression;
    }
  }
  return nullptr;
}

std::string WithoutCompression(const std::string& path) {
  const Compression* const compression = CompressionByName(path);
  std::string name(WithoutQuery(path));
  if (compression == nullptr) return name;
  return name.substr(0, name.size() - std::strlen(compression->extension));
}

}  // namespace millhopper
