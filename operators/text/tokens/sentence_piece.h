// SPDX-License-Identifier: Apache-2.0
// Models of SentencePiece. They come from outside and are not trusted.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_SENTENCE_PIECE_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_SENTENCE_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "operators/text/tokens/chars_map.h"
#include "operators/text/tokens/tokenizer.h"
#include "operators/text/unicode/unicode_normal.h"

namespace millhopper {

// How SentencePiece changes text: characters, or several together, become others, and spaces a
// symbol. Immutable once made; any thread.
class SentenceNormalizer {
 public:
  struct Options {
    bool add_prefix = true;    // text begins with a space
    bool strip_spaces = true;  // at both ends, and of several spaces all but one
    bool escape_spaces = true;
  };

  // `charsmap` is what a model has, or empty. Throws kDataLoss if it is damaged.
  SentenceNormalizer(std::string_view charsmap, const Options& options);

  // Appends what the text becomes, which is UTF-8.
  void Append(const uint8_t* text, size_t size, TextBytes* out) const;

 private:
  // What the longest prefix that is replaced becomes, or the first character; and its bytes.
  std::string_view Replaced(const uint8_t* here, const uint8_t* end, size_t* size) const;

  const Options options_;
  std::optional<CharsMap> map_;
};

// Whether a file begins as a model does.
bool IsSentencePiece(std::string_view bytes);
// Makes the tokenizer of a model: unigram or BPE, without symbols that the user has defined. Throws
// kDataLoss for a model that is damaged or has what is not known here, kResourceLimit for too many
// or too long pieces.
std::unique_ptr<const Tokenizer> ReadSentencePiece(std::string_view bytes);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_SENTENCE_PIECE_H_
