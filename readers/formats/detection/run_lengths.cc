// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/detection/run_lengths.h"

#include <cstddef>

namespace millhopper {

const char* ReadRunLengths(std::string_view text, std::vector<int64_t>* lengths) {
  constexpr int kBits = 5, kMostBits = 35;  // seven characters hold any number of 32 bits
  constexpr int64_t kOwnBits = (1 << kBits) - 1, kMore = 1 << kBits, kSign = 1 << (kBits - 1);
  lengths->clear();
  for (size_t at = 0; at < text.size();) {
    int64_t value = 0;
    for (int shift = 0;; shift += kBits) {
      if (at == text.size()) return "it ends within a number";
      if (shift == kMostBits) return "a number has more than seven characters";
      const int64_t character = static_cast<unsigned char>(text[at++]) - int64_t{'0'};
      if (character < 0 || character >= 2 * kMore) return "it has a character that is none of it";
      value |= (character & kOwnBits) << shift;
      if ((character & kMore) != 0) continue;
      if ((character & kSign) != 0) value -= int64_t{1} << (shift + kBits);
      break;
    }
    // Later numbers say how much longer than the run two before it a run is.
    if (lengths->size() > 2) value += (*lengths)[lengths->size() - 2];
    if (value < 0 || value > INT32_MAX) return "a run has a length that cannot be";
    lengths->push_back(value);
  }
  return nullptr;
}

}  // namespace millhopper
