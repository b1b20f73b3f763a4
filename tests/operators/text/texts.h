// SPDX-License-Identifier: Apache-2.0
// Texts as tensors, random texts, and files of tokens, for tests of operators on text.
#ifndef MILLHOPPER_TESTS_OPERATORS_TEXT_TEXTS_H_
#define MILLHOPPER_TESTS_OPERATORS_TEXT_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/tensor/tensor.h"
#include "tests/files/base64.h"
#include "tests/testing.h"

namespace millhopper {

// Texts with one level of detail.
inline LoDTensor TextsOf(const std::vector<std::string>& texts) {
  std::vector<uint8_t> bytes;
  Lod lod = {{0}};
  for (const std::string& text : texts) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    lod[0].push_back(bytes.size());
  }
  return MakeTensor<uint8_t>({static_cast<int64_t>(bytes.size())}, bytes, lod);
}

// A code point as UTF-8, also one that UTF-8 forbids.
inline std::string Utf8(uint32_t point) {
  const auto tail = [point](int shift) {
    return static_cast<char>(0x80 | (point >> shift & 0x3f));
  };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xc0 | point >> 6), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

// Words, numbers, contractions, signs and spaces, characters of all planes, and, if `valid` is
// false, bytes that are not UTF-8.
inline std::string RandomText(std::mt19937_64* random, size_t parts, bool valid) {
  static const auto* const kCommon = new std::vector<std::string>{
      "'s",     "'S",     "'ll",          "'Re",        "'\u017f", "'",   " ",      "  ",
      "\t",     "\n",     "\r\n",         "\n\n",       " \n ",    " a",  " the",   "hello",
      "1",      "2024",   "\u0660",       "--",         "!",       "...", "\u00a0", "\u3000",
      "\u2028", "\u00e9", "\u4e2d\u6587", "\U0001f600", "x1",      " _",  "\u0301", "a",
      "b",      "ab"};
  std::string text;
  for (size_t i = 0; i < parts; ++i) {
    const uint64_t kind = (*random)() % 16;
    if (kind < 9) {
      text += (*kCommon)[(*random)() % kCommon->size()];
    } else if (kind < 12) {
      text += static_cast<char>((*random)() % 128);
    } else if (kind < 15 || valid) {
      auto point = static_cast<uint32_t>((*random)() % 0x110000);
      if (kind == 13) point %= 0x3000;
      if (valid && point >= 0xd800 && point < 0xe000) point -= 0x2000;
      text += Utf8(point);
    } else {
      text += static_cast<char>((*random)() % 256);
    }
  }
  return text;
}

// A file in tiktoken's form: the bytes, then these tokens, ranked in order.
inline std::string TiktokenFile(const std::vector<std::string>& tokens) {
  std::string text;
  int rank = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const auto one = static_cast<char>(byte);
    text += Base64({&one, 1}) + " " + std::to_string(rank++) + "\n";
  }
  for (const std::string& token : tokens) {
    text += Base64(token) + " " + std::to_string(rank++) + "\n";
  }
  return text;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_TEXT_TEXTS_H_
