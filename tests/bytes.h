// SPDX-License-Identifier: Apache-2.0
// Byte strings in tests: written as hexadecimal, and damaged on purpose.
#ifndef MILLRACE_TESTS_BYTES_H_
#define MILLRACE_TESTS_BYTES_H_

#include <string>

namespace millrace {

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

// The bytes with one bit turned over.
inline std::string FlipBit(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

}  // namespace millrace

#endif  // MILLRACE_TESTS_BYTES_H_
