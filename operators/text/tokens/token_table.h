// SPDX-License-Identifier: Apache-2.0
// The tokens of a byte pair encoding, by their bytes.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_TABLE_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "framework/memory/buffer.h"

namespace millhopper {

constexpr size_t kMaxTokens = size_t{1} << 21;      // of a vocabulary
constexpr size_t kMaxTokenBytes = size_t{1} << 12;  // of one token

// A hash of bytes, as the table uses it, for callers that look up the same bytes several times.
uint64_t HashOfBytes(const uint8_t* bytes, size_t size);

// Tokens are numbered by their rank: the pair of neighbours whose bytes together are the token of
// the lowest number is merged first. Its memory counts towards the limit. Immutable once it is
// full; any thread.
class TokenTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  TokenTable() : entries_(kFewestEntries) {}

  // Adds the token of the next number. Returns kNone, or the number of the token that has these
  // bytes already; then nothing is added. There must be 1 to kMaxTokenBytes bytes, and no more than
  // kMaxTokens tokens. The id is 0 or more.
  uint32_t Add(std::string_view bytes, int32_t id);

  size_t size() const { return tokens_.size(); }
  size_t longest() const { return longest_; }  // bytes of the longest token
  int32_t id(uint32_t token) const { return tokens_[token].id; }
  std::string_view bytes(uint32_t token) const {
    return {&bytes_[tokens_[token].begin], tokens_[token].size};
  }
  // The token of one byte; kNone if there is none.
  uint32_t OfByte(uint8_t byte) const { return of_byte_[byte]; }
  // The token of these bytes, with their hash or without it; kNone if there is none.
  uint32_t Find(const uint8_t* bytes, size_t size, uint64_t hash) const {
    const auto mask = entries_.size() - 1;
    const auto check = static_cast<uint32_t>(hash >> 32);
    for (size_t place = hash & mask;; place = (place + 1) & mask) {
      const Entry& entry = entries_[place];
      if (entry.token == kNone) return kNone;
      if (entry.check == check && Has(tokens_[entry.token], bytes, size)) return entry.token;
    }
  }
  uint32_t Find(const uint8_t* bytes, size_t size) const {
    return size > longest_ ? kNone : Find(bytes, size, HashOfBytes(bytes, size));
  }

 private:
  struct Token {
    uint32_t begin;  // in bytes_
    uint32_t size;
    int32_t id;
  };
  struct Entry {
    uint32_t check = 0;  // the upper half of the hash
    uint32_t token = kNone;
  };
  static constexpr size_t kFewestEntries = 1024;  // a power of two, as every size of the table

  static std::array<uint32_t, 256> NoBytes() {
    std::array<uint32_t, 256> none{};
    none.fill(kNone);
    return none;
  }
  bool Has(const Token& token, const uint8_t* bytes, size_t size) const {
    return token.size == size && __builtin_memcmp(&bytes_[token.begin], bytes, size) == 0;
  }
  void Place(uint64_t hash, uint32_t token);
  void Grow();

  PooledVector<char> bytes_;  // of all tokens, one after the other
  PooledVector<Token> tokens_;
  PooledVector<Entry> entries_;  // at most half of them are taken
  std::array<uint32_t, 256> of_byte_ = NoBytes();
  size_t longest_ = 0;
};

// The tokens <0x00> to <0xFF>, which stand for bytes of characters that are no token; kNone where
// there is none.
std::array<uint32_t, 256> ByteTokens(const TokenTable& tokens);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_TABLE_H_
