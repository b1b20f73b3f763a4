// SPDX-License-Identifier: Apache-2.0
// Regular expressions that divide text into pieces, as files of tokenizers hold them.
//
// They are matched here, and not by a library, since tokens are those of the original only if
// letters, numbers and white space are those of its version of Unicode (16.0, unicode_classes.h).
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_PATTERN_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/text/unicode/char_set.h"

namespace millhopper {

// A regular expression. It has alternatives, groups without capture, (?i: ), sets of characters, in
// sets and with &&, \p{..} of general categories and scripts, \s \d \w \S \D \W, quantifiers
// (greedy, lazy and possessive), (?= ), (?! ), (?<= ) and (?<! ) of bounded length, (?> ), ^ and $.
// Any thread.
class Pattern {
 public:
  // Where the notations differ: in Oniguruma's default, of which tokenizers makes use, ^ and $ are
  // the ends of lines, and a + after {1,3} repeats it; in Rust's, of which tiktoken makes use, they
  // are the ends of the text, and the + makes it possessive.
  enum class Notation { kOniguruma, kRust };

  // Throws kInvalidArgument with the part that is not known here and its place.
  Pattern(std::string_view expression, Notation notation);

  // The end of the match that begins at `here`, null if there is none. `text` up to `end` is UTF-8,
  // and `here` one of its characters, or the end. Throws kCancelled, and kResourceLimit if the
  // expression has too many ways to match: what a match costs grows at most as the text does.
  const uint8_t* MatchAt(const uint8_t* text, const uint8_t* here, const uint8_t* end) const;

 private:
  friend class PatternParser;

  enum class Op : uint8_t {
    kSet,        // one character of set a
    kRepeat,     // min to max characters of set a, in the way b
    kSplit,      // goes on at a; if that fails, at b
    kJump,       // goes on at a
    kAhead,      // what follows up to kEnd must match here, then goes on at a
    kNotAhead,   // it must not match
    kBehind,     // what follows up to kEnd must match min to max characters before, up to here
    kNotBehind,  // it must not match
    kHere,       // where the innermost kBehind or kNotBehind is
    kAtomic,     // what follows up to kEnd is matched in one way only, then goes on at a
    kLineBegin,
    kLineEnd,
    kTextBegin,
    kTextEnd,
    kEnd,
  };
  enum Way : uint32_t { kGreedy, kLazy, kPossessive };
  struct Step {
    Op op;
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t min = 0;
    uint32_t max = 0;
  };
  // A way that has not been tried. If `least` is null: at step `step`, from `here`. Else `step` is
  // a kRepeat that took what lies before `here`, and may take less, down to `least`, or, if it is
  // lazy, up to `more` more characters.
  struct Choice {
    uint32_t step;
    uint32_t more;
    const uint8_t* here;
    const uint8_t* least;
  };
  class Matcher;

  std::vector<Step> steps_;
  std::vector<CharSet> sets_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_PATTERN_H_
