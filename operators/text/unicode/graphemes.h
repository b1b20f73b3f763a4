// SPDX-License-Identifier: Apache-2.0
// What a reader sees as one character: extended grapheme clusters of Unicode 17.0, such as a letter
// with its accents, a syllable of Hangul, a flag, or an emoji that is joined of several.
#ifndef MILLHOPPER_OPERATORS_TEXT_UNICODE_GRAPHEMES_H_
#define MILLHOPPER_OPERATORS_TEXT_UNICODE_GRAPHEMES_H_

#include <cstddef>
#include <cstdint>

namespace millhopper {

// The end of the cluster that begins at `here`, which is not `end`. The text is UTF-8, and a
// cluster begins at `here`. Any thread.
const uint8_t* EndOfGrapheme(const uint8_t* here, const uint8_t* end);

// What tools/dev/unicode_classes.py writes down: runs of code points of one way to join others, the
// first << 5 | the way (of graphemes.cc), up to the next run.
extern const uint32_t kGraphemeRuns[];
extern const size_t kGraphemeRunCount;

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_UNICODE_GRAPHEMES_H_
