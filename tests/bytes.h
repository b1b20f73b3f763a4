// SPDX-License-Identifier: Apache-2.0
// Byte strings in tests: written as hexadecimal, damaged on purpose, compressible and not.
#ifndef MILLHOPPER_TESTS_BYTES_H_
#define MILLHOPPER_TESTS_BYTES_H_

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "framework/base/random.h"

namespace millhopper {

// The bytes that the hexadecimal digits spell; spaces are ignored.
inline std::string FromHex(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c != ' ') digits += c;
  }
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// The bytes with one bit flipped.
inline std::string FlipBit(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

// Text that compresses although no two pieces of it are equal.
inline std::string Sample(size_t size) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) text += std::to_string(i * i) + ";";
  return text.substr(0, size);
}

// Bytes that do not compress.
inline std::string Noise(size_t size, uint64_t seed = 0) {
  std::string bytes(size + sizeof(uint64_t), '\0');
  for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
    const uint64_t word = MixBits(MixBits(seed) + i);
    std::memcpy(&bytes[i], &word, sizeof(word));
  }
  bytes.resize(size);
  return bytes;
}

// One gzip member with this content.
inline std::string Gzipped(const std::string& content) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream zlib = {};
  deflateInit2(&zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&zlib, content.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  zlib.avail_in = static_cast<uInt>(content.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  deflate(&zlib, Z_FINISH);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

// The number as `size` bytes, the most significant first.
inline std::string BigEndian(uint64_t number, size_t size) {
  std::string bytes;
  for (size_t i = size; i-- > 0;) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BYTES_H_
