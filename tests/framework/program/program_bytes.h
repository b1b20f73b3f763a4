// SPDX-License-Identifier: Apache-2.0
// Serialised programs in tests, put together field by field, so that they can be malformed.
#ifndef MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_PROGRAM_BYTES_H_
#define MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_PROGRAM_BYTES_H_

#include <cstdint>
#include <string>

namespace millhopper {

inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// A field with a number, and a field with a string or a message.
inline std::string Number(int field, uint64_t value) {
  return Varint(static_cast<uint64_t>(field) << 3) + Varint(value);
}
inline std::string Bytes(int field, const std::string& content) {
  return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(content.size()) + content;
}

constexpr uint64_t kMinusOne = ~uint64_t{0};

// A block of a program; `content` holds its other fields.
inline std::string Block(uint64_t idx, uint64_t parent, const std::string& content = "") {
  return Bytes(1, Number(1, idx) + Number(2, parent) + content);
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_PROGRAM_BYTES_H_
