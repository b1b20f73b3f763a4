// SPDX-License-Identifier: Apache-2.0
// How text is divided into the pieces that become tokens each by itself: the pre-tokenizers of
// Hugging Face's tokenizers.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_PRE_TOKENIZER_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_PRE_TOKENIZER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "framework/memory/buffer.h"
#include "operators/text/tokens/needle.h"
#include "operators/text/unicode/unicode_normal.h"

namespace millhopper {

// A piece of a text: its bytes from `begin` up to `end`.
struct Span {
  uint32_t begin, end;
};

// A text that is divided. The text is UTF-8 and lies here, or elsewhere as long as it is needed.
class DividedText {
 public:
  // Begins anew with all of a text as one piece, or none if it is empty. `is_first` says whether it
  // is the beginning of the text that is tokenized.
  void Begin(const uint8_t* text, size_t size, bool is_first);

  const uint8_t* text() const { return text_; }
  const PooledVector<Span>& pieces() const { return pieces_; }

 private:
  friend struct PreTokenizer;
  struct Match {
    uint32_t begin, end;
    bool is_match;
  };

  const uint8_t* text_ = nullptr;
  bool is_first_ = false;
  PooledVector<Span> pieces_;
  PooledVector<Span> next_;        // pieces that are being made of pieces_
  PooledVector<Match> matches_;    // within one piece
  std::array<TextBytes, 2> made_;  // text_ and what is being made of it
  bool second_ = false;            // which of them is to be written next
};

// One division. Immutable once made; any thread.
struct PreTokenizer {
  enum class Kind {
    kNeedle,       // at what `needle` finds
    kSpaces,       // at each character of white space
    kPunctuation,  // at each character of punctuation
    kDigits,       // at each numeric character
    kScripts,      // pieces of one script; what has none is of that before it
    kLength,       // pieces of `length` characters
    kWords,        // words, and runs of what is neither word nor white space: \w+|[^\w\s]+
    kPrefix,  // nothing is divided: `content` is put before a piece that does not begin with it
    kFirstPrefix,   // the same, only before the piece that the text begins with
    kReplace,       // nothing is divided: each space becomes `content`
    kBytesToChars,  // nothing is divided: each byte becomes its character of GPT-2's alphabet
  };
  // What becomes of the places where text is divided, as tokenizers call it.
  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

  Kind kind = Kind::kNeedle;
  Behavior behavior = Behavior::kIsolated;
  bool invert = false;  // text is divided at what is not found
  std::shared_ptr<const Needle> needle;
  std::string content;
  uint32_t length = 0;

  // Whether it makes several pieces of one, and leaves the text as it is.
  bool divides() const {
    return kind != Kind::kPrefix && kind != Kind::kFirstPrefix && kind != Kind::kReplace &&
           kind != Kind::kBytesToChars;
  }
  void Divide(DividedText* text) const;

 private:
  void FindMatches(const uint8_t* text, Span piece,
                   PooledVector<DividedText::Match>* matches) const;
  void Rewrite(DividedText* text) const;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_PRE_TOKENIZER_H_
