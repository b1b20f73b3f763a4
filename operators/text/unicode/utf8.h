// SPDX-License-Identifier: Apache-2.0
// Characters of text that is known to be UTF-8.
#ifndef MILLHOPPER_OPERATORS_TEXT_UNICODE_UTF8_H_
#define MILLHOPPER_OPERATORS_TEXT_UNICODE_UTF8_H_

#include <cstddef>
#include <cstdint>

namespace millhopper {

// The first byte that is no part of a character of UTF-8, or `end`.
const uint8_t* EndOfUtf8(const uint8_t* here, const uint8_t* end);

// The bytes of the character that begins with this byte.
constexpr uint32_t Utf8Length(uint8_t first) {
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// Its code point.
inline uint32_t CodePointAt(const uint8_t* here) {
  const uint32_t first = here[0];
  if (first < 0x80) return first;
  if (first < 0xe0) return (first & 0x1f) << 6 | (here[1] & 0x3fu);
  if (first < 0xf0) return (first & 0xf) << 12 | (here[1] & 0x3fu) << 6 | (here[2] & 0x3fu);
  return (first & 7) << 18 | (here[1] & 0x3fu) << 12 | (here[2] & 0x3fu) << 6 | (here[3] & 0x3fu);
}

// Where the character before `here` begins.
inline const uint8_t* BackOne(const uint8_t* here) {
  do --here;
  while ((*here & 0xc0) == 0x80);
  return here;
}

// Writes the bytes of a code point and returns how many they are, 4 at most.
inline size_t WriteUtf8(uint32_t point, uint8_t* out) {
  if (point < 0x80) {
    out[0] = static_cast<uint8_t>(point);
    return 1;
  }
  const size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t i = size - 1; i > 0; --i) {
    out[i] = static_cast<uint8_t>(0x80 | (point & 0x3f));
    point >>= 6;
  }
  out[0] = static_cast<uint8_t>((0xf00 >> size & 0xff) | point);
  return size;
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_UNICODE_UTF8_H_
