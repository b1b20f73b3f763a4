// SPDX-License-Identifier: Apache-2.0
// Source: GPT-2's encoder.py.
#include "operators/text/tokens/byte_alphabet.h"

namespace millhopper {
namespace {

constexpr size_t kBytes = 256;

// As a character of Latin-1 that Python calls printable, without the space.
bool IsPrintable(size_t byte) {
  return (byte > ' ' && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
}

}  // namespace

ByteAlphabet::ByteAlphabet() {
  byte_of_.fill(-1);
  for (size_t byte = 0; byte < kBytes; ++byte) {
    if (IsPrintable(byte)) Add(byte, byte);
  }
  size_t other = kBytes;
  for (size_t byte = 0; byte < kBytes; ++byte) {
    if (!IsPrintable(byte)) Add(byte, other++);
  }
}

void ByteAlphabet::Add(size_t byte, size_t character) {
  byte_of_[character] = static_cast<int16_t>(byte);
  character_of_[byte] = static_cast<uint16_t>(character);
  in_order_ += static_cast<char>(byte);
}

bool ByteAlphabet::Decode(std::string_view text, std::string* bytes) const {
  bytes->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    size_t character = static_cast<uint8_t>(text[i]);
    if (character >= 0x80) {
      // No character of the alphabet has more than two bytes.
      if ((character & 0xe0) != 0xc0 || i + 1 == text.size()) return false;
      const size_t second = static_cast<uint8_t>(text[++i]);
      if ((second & 0xc0) != 0x80) return false;
      character = (character & 0x1f) << 6 | (second & 0x3f);
      if (character < 0x80) return false;
    }
    if (character >= byte_of_.size() || byte_of_[character] < 0) return false;
    *bytes += static_cast<char>(byte_of_[character]);
  }
  return true;
}

const ByteAlphabet& Gpt2Alphabet() {
  static const auto* const alphabet = new ByteAlphabet;
  return *alphabet;
}

}  // namespace millhopper
