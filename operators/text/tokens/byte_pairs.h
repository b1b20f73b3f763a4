// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding: text becomes tokens, with the result of tiktoken's encode_ordinary, or, with
// merges of two tokens each, that of Hugging Face's tokenizers.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_PAIRS_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_PAIRS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/memory/buffer.h"
#include "operators/text/tokens/pair_table.h"
#include "operators/text/tokens/pattern.h"
#include "operators/text/tokens/pieces.h"
#include "operators/text/tokens/token_table.h"

namespace millhopper {

// What Hugging Face's tokenizers have beyond tiktoken: pairs are merged by their two tokens, not by
// the bytes of both.
struct MergeRules {
  PairTable pairs;
  bool characters = false;     // a piece begins as its characters, not as its bytes
  bool whole_pieces = false;   // a piece that is a token becomes it without merges
  bool byte_fallback = false;  // a character that is no token becomes those of its bytes, <0x41>
  bool fuse_unknown = false;   // what is unknown one after the other is one token
  uint32_t unknown = TokenTable::kNone;  // what else is no token becomes; kNone: nothing
  std::string prefix;                    // of what is not the first of a piece, as ## of WordPiece
  std::string suffix;                    // of what is the last of a piece, as </w> of CLIP
};

// Encodes text with one vocabulary. Special tokens, such as <|endoftext|>, are text like any other.
// Any thread; each thread caches the tokens of short pieces in its own table (kPieceSlots).
//
// Without rules a piece that is a token becomes that token. Any other begins as its bytes; then,
// again and again, of all pairs of neighbours whose bytes together are a token, the pair with the
// token of the lowest rank is merged, the leftmost of several. With rules it begins as they say,
// and of all pairs that are merged the one of the lowest rank is, the leftmost of several.
class BytePairEncoder {
 public:
  // Every byte must be a token.
  explicit BytePairEncoder(TokenTable tokens);
  BytePairEncoder(TokenTable tokens, MergeRules rules);
  BytePairEncoder(const BytePairEncoder&) = delete;
  BytePairEncoder& operator=(const BytePairEncoder&) = delete;

  // Writes the ids of the text's tokens to `ids`, which has room for one a byte, and returns how
  // many they are. For a piece of n bytes the time grows with n * (log(n) + bytes of the longest
  // token) at most, and 32 * n bytes of the host's pool are taken where n is above 64 and the piece
  // is no token. With PiecePattern::kExpression the pieces are what `expression` matches; as in
  // tiktoken, what it does not match is left out. Throws as BufferPool::Take and Pattern::MatchAt.
  size_t Encode(PiecePattern pattern, const uint8_t* text, size_t size, int32_t* ids,
                const Pattern* expression = nullptr) const;
  // The same of one piece; returns the end of what is written.
  int32_t* EncodePiece(const uint8_t* piece, size_t size, int32_t* ids) const;

  const TokenTable& tokens() const { return tokens_; }

 private:
  class PieceCache;
  struct Part;

  int32_t* EncodePiece(const uint8_t* piece, size_t size, PieceCache* cache, int32_t* ids) const;
  int32_t* EncodeMatches(const Pattern& expression, const uint8_t* text, const uint8_t* end,
                         PieceCache* cache, int32_t* ids) const;
  // For pieces that are no token.
  int32_t* Merge(const uint8_t* piece, size_t size, int32_t* ids) const;
  template <bool kRules>
  int32_t* MergeShort(const uint8_t* piece, size_t size, int32_t* ids) const;
  template <bool kRules>
  int32_t* MergeLong(const uint8_t* piece, size_t size, int32_t* ids) const;
  // Calls add(token) for each part that a piece begins as, where it is not simply its bytes.
  template <typename Add>
  void Begin(const uint8_t* piece, size_t size, const Add& add) const;
  template <typename Add>
  bool AddBytes(std::string_view bytes, const Add& add) const;
  uint32_t TokenOf(std::string_view unit, bool first, bool last) const;
  // Of two neighbours, whose bytes are together these: a merge with rules, else the token.
  template <bool kRules>
  uint32_t FindPair(uint32_t left, uint32_t right, const uint8_t* bytes, size_t size) const {
    return kRules ? rules_.pairs.Find(left, right) : tokens_.Find(bytes, size);
  }
  template <bool kRules>
  uint32_t Made(uint32_t pair) const {
    return kRules ? rules_.pairs.made(pair) : pair;
  }

  const TokenTable tokens_;
  const MergeRules rules_;
  const bool has_rules_;
  const bool begins_as_bytes_;  // and each of them is a token
  const uint32_t serial_;       // tells it from all other encoders, also destroyed ones
  const std::array<uint32_t, 256> fallback_;  // the tokens <0x00> to <0xFF>
  const PooledVector<uint32_t> pairs_;  // FindPair of every two bytes, by first * 256 + second
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_PAIRS_H_
