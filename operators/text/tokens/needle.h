// SPDX-License-Identifier: Apache-2.0
// What text is divided or changed at: characters as they are, an expression, or pieces.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_NEEDLE_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_NEEDLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "operators/text/tokens/pattern.h"

namespace millhopper {

// Immutable; any thread.
class Needle {
 public:
  // What one of pieces.h is: it divides all of a text.
  using EndOfPiece = const uint8_t* (*)(const uint8_t* here, const uint8_t* end);

  explicit Needle(std::string literal) : what_(std::move(literal)) {}
  explicit Needle(Pattern pattern) : what_(std::move(pattern)) {}
  explicit Needle(EndOfPiece end_of_piece) : what_(end_of_piece) {}

  // The next match that begins at `here` or after it; false if there is none. `text`, where the
  // whole begins, up to `end` is UTF-8. No match is empty.
  bool Find(const uint8_t* text, const uint8_t* here, const uint8_t* end, const uint8_t** first,
            const uint8_t** last) const;

 private:
  const std::variant<std::string, Pattern, EndOfPiece> what_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_NEEDLE_H_
