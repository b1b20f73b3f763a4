// SPDX-License-Identifier: Apache-2.0
// What makes tokens of text, as files of each form say it.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_TEXT_ENCODER_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_TEXT_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/text/tokens/added_tokens.h"
#include "operators/text/tokens/byte_pairs.h"
#include "operators/text/tokens/json_part.h"
#include "operators/text/tokens/pattern.h"
#include "operators/text/tokens/tokenizer.h"

namespace millhopper {

struct EncodeOptions {
  std::optional<PiecePattern> pattern;  // none: that of the file, or GPT-2's
  std::optional<Specials> specials;     // none: kAllow for a tokenizer.json, else kText
  bool with_template = true;            // of a tokenizer.json
};

// Immutable once made; any thread.
class TextEncoder {
 public:
  // Memory that is used for one text after the other.
  class Work {
    friend class TextEncoder;
    Tokenizer::Work tokenizer_;
    PooledVector<TextPart> parts_;
  };

  // Reads a file of one of these forms, which its beginning tells:
  //
  //   {"type": "tiktoken"   an Encoding of tiktoken, as Python writes it: "pattern", the expression
  //                         that divides text, "special_tokens" with their ids, and "ranks", a
  //                         text in tiktoken's form
  //   {                     a tokenizer.json (tokenizer_json.h)
  //   a piece               a model of SentencePiece (sentence_piece.h)
  //   other                 tokens of byte pairs, as ReadTokens says; `vocabulary` is for them
  static std::shared_ptr<const TextEncoder> Read(const std::string& path,
                                                 const std::string& vocabulary);
  static std::shared_ptr<const TextEncoder> ParseJson(std::string_view json,
                                                      const std::string& path);

  explicit TextEncoder(TokenTable tokens) : pairs_(std::in_place, std::move(tokens)) {}
  explicit TextEncoder(std::unique_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  // Throws kInvalidArgument for options that the file has no use for.
  void Check(const EncodeOptions& options) const;
  // Appends the tokens of a text. Throws as Tokenizer::Encode, BytePairEncoder::Encode and
  // AddedTokens::Split.
  void Encode(const uint8_t* text, size_t size, const EncodeOptions& options, Work* work,
              Ids* ids) const;
  // Where the tokens of every text are those of a byte pair encoding, and nothing else: it, and the
  // pattern. Else null.
  const BytePairEncoder* Plain(const EncodeOptions& options, PiecePattern* pattern) const;

  // The id of a token by its name. Throws kInvalidArgument if there is none.
  int32_t IdOf(std::string_view name) const;

 private:
  static std::shared_ptr<const TextEncoder> ParseEncoding(const JsonPart& part,
                                                          const std::string& path);

  const std::unique_ptr<const Tokenizer> tokenizer_;  // else null, and pairs_ has a value
  const std::optional<BytePairEncoder> pairs_;
  PiecePattern pattern_ = PiecePattern::kGpt2;
  bool has_pattern_ = false;           // the file has
  std::optional<Pattern> expression_;  // of PiecePattern::kExpression
  std::vector<AddedToken> special_;
  AddedTokens specials_;  // the same
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_TEXT_ENCODER_H_
