// SPDX-License-Identifier: Apache-2.0
#include "readers/support/checksums.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstdio>

namespace millhopper {

uint32_t Crc32(const char* bytes, size_t size, uint32_t before) {
  return ::crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes), size);
}

uint32_t Crc32c(const char* bytes, size_t size) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;  // crc32_iscsi takes an int
  uint32_t crc = 0xffffffffU;
  while (size > 0) {
    const size_t now = std::min(size, kMostAtOnce);
    // It only reads, although it does not say so.
    auto* const begin = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes));
    crc = ::crc32_iscsi(begin, static_cast<int>(now), crc);
    bytes += now;
    size -= now;
  }
  return ~crc;
}

std::string Hex(uint32_t number) {
  char text[9];
  std::snprintf(text, sizeof(text), "%08x", number);
  return text;
}

}  // namespace millhopper
