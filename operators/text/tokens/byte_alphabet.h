// SPDX-License-Identifier: Apache-2.0
// GPT-2's alphabet: a printable character for each byte.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_ALPHABET_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_ALPHABET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millhopper {

class ByteAlphabet {
 public:
  ByteAlphabet();

  // All bytes, in the order of the characters.
  const std::string& in_order() const { return in_order_; }
  // The code point that stands for a byte; it is below 0x144.
  uint32_t CharacterOf(uint8_t byte) const { return character_of_[byte]; }
  // The bytes that UTF-8 text stands for; false if a character stands for none.
  bool Decode(std::string_view text, std::string* bytes) const;

 private:
  void Add(size_t byte, size_t character);

  std::array<int16_t, 0x144> byte_of_{};  // by code point; -1 for none
  std::array<uint16_t, 256> character_of_{};
  std::string in_order_;
};

const ByteAlphabet& Gpt2Alphabet();

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_ALPHABET_H_
