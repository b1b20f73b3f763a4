// SPDX-License-Identifier: Apache-2.0
#include "operators/text/tokens/base64.h"

#include <cstddef>
#include <cstdint>

namespace millhopper {
namespace {

int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

bool AppendBase64(std::string_view digits, PooledVector<char>* out) {
  if (digits.empty() || digits.size() % 4 != 0) return false;
  size_t padding = 0;
  while (padding < 2 && digits.back() == '=') {
    digits.remove_suffix(1);
    ++padding;
  }
  uint32_t bits = 0;
  uint32_t count = 0;
  for (const char c : digits) {
    const int digit = Base64Digit(c);
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out->push_back(static_cast<char>(bits >> count & 0xff));
  }
  return (bits & ((1u << count) - 1)) == 0;
}

}  // namespace millhopper
