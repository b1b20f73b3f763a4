// SPDX-License-Identifier: Apache-2.0
// Tokens that are looked for in a text before it is divided, such as <|endoftext|>.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_ADDED_TOKENS_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_ADDED_TOKENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/memory/buffer.h"

namespace millhopper {

// What becomes of special tokens that stand in a text.
enum class Specials {
  kAllow,   // they are tokens
  kRefuse,  // they are an error
  kText,    // they are text like any other
};

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;  // only where no letter or digit is beside it
  bool lstrip = false;       // takes white space before it
  bool rstrip = false;       // takes white space after it
  bool normalized = false;   // is looked for in normalized text, as it is normalized itself
  bool special = false;
};

// A part of a text: a token, or text between tokens.
struct TextPart {
  size_t begin, end;
  const AddedToken* token;  // null: text
};

// Finds tokens in text: of those that begin first the longest. Immutable once made; any thread.
class AddedTokens {
 public:
  AddedTokens() = default;
  // Each is found by its first string. Throws kInvalidArgument for one that is empty, or equal to
  // another.
  explicit AddedTokens(std::vector<std::pair<std::string, AddedToken>> tokens);

  bool empty() const { return tokens_.empty(); }
  // Appends the parts of a text, which is UTF-8 if a token is a single word or takes white space.
  // Throws kDataLoss for a special token if these are refused, and kCancelled.
  void Split(const uint8_t* text, size_t size, Specials specials,
             PooledVector<TextPart>* parts) const;

 private:
  // The longest token that begins with `here`, or null.
  const std::pair<std::string, AddedToken>* LongestAt(const uint8_t* here,
                                                      const uint8_t* end) const;

  std::vector<std::pair<std::string, AddedToken>> tokens_;  // in the order of their strings
  std::array<uint32_t, 257> first_of_byte_{};  // those that begin with a byte: up to the next one's
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_ADDED_TOKENS_H_
