// SPDX-License-Identifier: Apache-2.0
// Text divided into pieces, as byte pair encodings do before they merge bytes within each piece.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_PIECES_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_PIECES_H_

#include <cstdint>

namespace millhopper {

// The regular expression that divides text. Text that is not UTF-8 has a piece for each byte that
// is no part of a character; what lies between such bytes is divided as if it were a separate text.
enum class PiecePattern {
  // '(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s
  kGpt2,
  // '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|
  // \s*[\r\n]|\s+(?!\S)|\s
  kCl100k,
  // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
  // \s*[\r\n]+|\s+(?!\S)|\s+
  kLlama3,
  // The same with \p{N} in place of \p{N}{1,3}.
  kQwen2,
  // [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
  // (?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+
  // [\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|
  //  ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
  kO200k,
  // The whole text is one piece, whatever its bytes are.
  kNone,
  // An expression that is given (pattern.h).
  kExpression,
};

// The end of the piece that begins at `here`, which must lie before `end`. It looks at the piece
// and the character after it; after white space at the white space that follows. Text is UTF-8;
// letters, numbers and white space are those of Unicode 16.0.
const uint8_t* EndOfGpt2Piece(const uint8_t* here, const uint8_t* end);
const uint8_t* EndOfCl100kPiece(const uint8_t* here, const uint8_t* end);
const uint8_t* EndOfLlama3Piece(const uint8_t* here, const uint8_t* end);
const uint8_t* EndOfQwen2Piece(const uint8_t* here, const uint8_t* end);
const uint8_t* EndOfO200kPiece(const uint8_t* here, const uint8_t* end);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_PIECES_H_
