// SPDX-License-Identifier: Apache-2.0
// How text is changed before it is divided: the normalizers of Hugging Face's tokenizers.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_NORMALIZER_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_NORMALIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "operators/text/tokens/needle.h"
#include "operators/text/unicode/unicode_normal.h"

namespace millhopper {

class CharsMap;
class SentenceNormalizer;

// One change of text. All text is UTF-8. Immutable once made; any thread.
struct Normalizer {
  enum class Kind {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kStripAccents,
    kStrip,    // white space at the left, the right, or both
    kReplace,  // each match of `needle` by `content`
    kPrepend,  // `content`, to text that is not empty
    kNmt,
    kClean,          // no control characters; a space for each white space
    kChinese,        // a space before and after each Chinese character
    kNoMarks,        // NFD without nonspacing marks
    kPrecompiled,    // by `map`
    kSentencePiece,  // as `sentence` has it
    kByteLevel       // each byte becomes its character of GPT-2's alphabet
  };

  Kind kind = Kind::kNfc;
  bool left = false;
  bool right = false;
  std::shared_ptr<const Needle> needle;
  std::string content;
  std::shared_ptr<const CharsMap> map;
  std::shared_ptr<const SentenceNormalizer> sentence;

  // Whether it leaves text of these bytes as it is; true only if that is seen at once.
  bool Keeps(const uint8_t* text, size_t size) const;
  // Appends what the text becomes.
  void Append(const uint8_t* text, size_t size, TextBytes* out) const;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_NORMALIZER_H_
