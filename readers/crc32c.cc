// SPDX-License-Identifier: Apache-2.0
#include "readers/crc32c.h"

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace millhopper {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82f63b78U;

std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table;
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Crc32cByInstruction(const char* bytes, size_t size) {
  uint64_t crc = 0xffffffffU;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (; size > 0; ++bytes, --size) rest = _mm_crc32_u8(rest, static_cast<uint8_t>(*bytes));
  return ~rest;
}

bool HasInstruction() {
  __builtin_cpu_init();  // this may run before main
  return __builtin_cpu_supports("sse4.2") != 0;
}
#endif

}  // namespace

uint32_t Crc32cByTable(const char* bytes, size_t size) {
  static const std::array<uint32_t, 256> table = MakeTable();
  uint32_t crc = 0xffffffffU;
  for (size_t i = 0; i < size; ++i) {
    crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(bytes[i])) & 0xff];
  }
  return ~crc;
}

uint32_t Crc32c(const char* bytes, size_t size) {
#if defined(__x86_64__)
  static const bool has_instruction = HasInstruction();
  if (has_instruction) return Crc32cByInstruction(bytes, size);
#endif
  return Crc32cByTable(bytes, size);
}

}  // namespace millhopper
