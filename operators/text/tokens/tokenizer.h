// SPDX-License-Identifier: Apache-2.0
// Text becomes tokens as by Tokenizer.encode of Hugging Face's tokenizers.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKENIZER_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKENIZER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "operators/text/tokens/added_tokens.h"
#include "operators/text/tokens/normalizer.h"
#include "operators/text/tokens/pre_tokenizer.h"
#include "operators/text/tokens/token_model.h"

namespace millhopper {

// What a tokenizer is made of.
struct TokenizerParts {
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  std::unique_ptr<const TokenModel> model;
  std::vector<AddedToken> added;
  std::vector<int32_t> before, after;  // what the template puts around the tokens of a text
  size_t most_tokens = SIZE_MAX;       // to which they are cut, the template's included
  bool keeps_last = false;             // of those that are cut, the last ones are kept
};

// Immutable once made; any thread.
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerParts parts);

  // Memory that is used for one text after the other.
  class Work {
    friend class Tokenizer;
    std::array<TextBytes, 2> texts_;
    PooledVector<TextPart> parts_, inner_parts_;
    DividedText divided_;
  };

  // Appends the tokens of a text, with those of the template or without. Throws kDataLoss for text
  // that is not UTF-8, and as AddedTokens::Split and TokenModel::Encode do.
  void Encode(const uint8_t* text, size_t size, Specials specials, bool with_template, Work* work,
              Ids* ids) const;

  // Whether tokens are looked for in text.
  bool has_added() const { return !parts_.added.empty(); }
  // The id of a token by its name, or -1.
  int32_t IdOf(std::string_view name) const;

 private:
  void EncodePart(const uint8_t* text, size_t size, bool is_first, Specials specials, Work* work,
                  Ids* ids) const;

  const TokenizerParts parts_;
  AddedTokens raw_;         // those that are looked for in the text as it is
  AddedTokens normalized_;  // and in normalized text
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKENIZER_H_
