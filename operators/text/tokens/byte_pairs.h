// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding: text becomes tokens, with the result of tiktoken's encode_ordinary.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_PAIRS_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_PAIRS_H_

#include <cstddef>
#include <cstdint>

#include "framework/memory/buffer.h"
#include "operators/text/tokens/pieces.h"
#include "operators/text/tokens/token_table.h"

namespace millhopper {

// Encodes text with one vocabulary. A piece that is a token becomes that token. Any other begins as
// its bytes; then, again and again, of all pairs of neighbours whose bytes together are a token,
// the pair with the token of the lowest rank is merged, the leftmost of several. Special tokens,
// such as <|endoftext|>, are text like any other. Any thread; each thread caches the tokens of
// short pieces in its own table (kPieceSlots).
class BytePairEncoder {
 public:
  // Every byte must be a token.
  explicit BytePairEncoder(TokenTable tokens);
  BytePairEncoder(const BytePairEncoder&) = delete;
  BytePairEncoder& operator=(const BytePairEncoder&) = delete;

  // Writes the ids of the text's tokens to `ids`, which has room for one a byte, and returns how
  // many they are. For a piece of n bytes the time grows with n * (log(n) + bytes of the longest
  // token) at most, and 32 * n bytes of the host's pool are taken where n is above 64 and the piece
  // is no token. Throws as BufferPool::Take, and kCancelled.
  size_t Encode(PiecePattern pattern, const uint8_t* text, size_t size, int32_t* ids) const;

  const TokenTable& tokens() const { return tokens_; }

 private:
  class PieceCache;

  int32_t* EncodePiece(const uint8_t* piece, size_t size, PieceCache* cache, int32_t* ids) const;
  // For pieces that are no token.
  int32_t* MergeShort(const uint8_t* piece, size_t size, int32_t* ids) const;
  int32_t* MergeLong(const uint8_t* piece, size_t size, int32_t* ids) const;

  const TokenTable tokens_;
  const uint32_t serial_;               // tells it from all other encoders, also destroyed ones
  const PooledVector<uint32_t> pairs_;  // the token of every two bytes, by first * 256 + second
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_BYTE_PAIRS_H_
