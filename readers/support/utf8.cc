// SPDX-License-Identifier: Apache-2.0
#include "readers/support/utf8.h"

#include <cstdint>
#include <cstring>

namespace millhopper {

size_t BytesOfUtf8(const char* here, const char* end) {
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(end - here) > i ? static_cast<unsigned char>(here[i]) : 0u;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (!follows(1) || first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return 2;
  if (!follows(2) || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if (first < 0xf0) return 3;
  if (!follows(3) || (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return 4;
}

size_t FirstNoUtf8(std::string_view text) {
  const char* here = text.data();
  const char* const end = here + text.size();
  const auto are_ascii = [](const char* eight_bytes) {
    uint64_t bytes;
    std::memcpy(&bytes, eight_bytes, sizeof(bytes));
    return (bytes & 0x8080808080808080) == 0;
  };
  while (here < end) {
    // Letters of ASCII are most. The last ones are looked at with some before them.
    if (end - here >= 8) {
      if (are_ascii(here)) {
        here += 8;
        continue;
      }
    } else if (text.size() >= 8 && are_ascii(end - 8)) {
      return text.size();
    }
    const size_t size = static_cast<unsigned char>(*here) < 0x80 ? 1 : BytesOfUtf8(here, end);
    if (size == 0) break;
    here += size;
  }
  return static_cast<size_t>(here - text.data());
}

}  // namespace millhopper
