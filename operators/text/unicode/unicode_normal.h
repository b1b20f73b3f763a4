// SPDX-License-Identifier: Apache-2.0
// Normalization forms and lower case of Unicode text.
#ifndef MILLHOPPER_OPERATORS_TEXT_UNICODE_UNICODE_NORMAL_H_
#define MILLHOPPER_OPERATORS_TEXT_UNICODE_UNICODE_NORMAL_H_

#include <cstddef>
#include <cstdint>

#include "framework/memory/buffer.h"

namespace millhopper {

using TextBytes = PooledVector<uint8_t>;

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// Whether the text, which is UTF-8, is in this form for certain, because of its characters one by
// one. If not, it may still be.
bool IsCertainlyNormal(NormalForm form, const uint8_t* text, size_t size);

// Appends the text, which is UTF-8, in this form.
void AppendNormal(NormalForm form, const uint8_t* text, size_t size, TextBytes* out);

// Appends a character in lower case, as Rust's char::to_lowercase: without looking at others.
void AppendLower(uint32_t point, TextBytes* out);

void AppendPoint(uint32_t point, TextBytes* out);

// What tools/dev/unicode_classes.py writes down.
//
// Decompositions in ascending order: the code point << 8 | how many it becomes << 2 | 2 if these
// two are composed again | 1 if it is a compatible one only, then what it becomes.
extern const uint32_t kDecompositions[];
extern const size_t kDecompositionsSize;
// Runs of code points of one combining class: the first << 8 | the class, up to the next run.
extern const uint32_t kCombiningRuns[];
extern const size_t kCombiningRunCount;
// Capital letters: the first and the last of several, each `step` after the one before, that are
// `shift` below the small ones.
struct LowerCase {
  uint32_t first, last, step;
  int32_t shift;
};
extern const LowerCase kLowerCases[];
extern const size_t kLowerCaseCount;

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_UNICODE_UNICODE_NORMAL_H_
