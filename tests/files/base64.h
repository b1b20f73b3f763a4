// SPDX-License-Identifier: Apache-2.0
// Bytes as text in base64.
#ifndef MILLHOPPER_TESTS_FILES_BASE64_H_
#define MILLHOPPER_TESTS_FILES_BASE64_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millhopper {

// With padding, as in RFC 4648.
inline std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 3; ++j) {
      bits = bits << 8 | (j < bytes.size() ? static_cast<uint8_t>(bytes[j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_BASE64_H_
