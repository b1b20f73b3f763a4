// SPDX-License-Identifier: Apache-2.0
// The models of Hugging Face's tokenizers: each piece of a text becomes tokens.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_MODEL_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "framework/memory/buffer.h"
#include "operators/text/tokens/byte_pairs.h"
#include "operators/text/tokens/pre_tokenizer.h"
#include "operators/text/tokens/token_table.h"

namespace millhopper {

using Ids = PooledVector<int32_t>;

// Immutable; any thread.
class TokenModel {
 public:
  TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  virtual ~TokenModel() = default;

  virtual const TokenTable& tokens() const = 0;
  // Appends the tokens of these pieces of a text, which is UTF-8 or, for byte pairs that begin as
  // bytes, any. Throws kDataLoss for a piece that is no token where no unknown token is known.
  virtual void Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const = 0;
};

class BytePairModel final : public TokenModel {
 public:
  BytePairModel(TokenTable tokens, MergeRules rules)
      : encoder_(std::move(tokens), std::move(rules)) {}

  const TokenTable& tokens() const override { return encoder_.tokens(); }
  void Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const override;

 private:
  const BytePairEncoder encoder_;
};

// A piece becomes the longest token that it begins with, what is left the longest one of those that
// begin with a prefix, and so on; unknown if that does not end.
class WordPieceModel final : public TokenModel {
 public:
  // A piece with more characters than `most_characters` is unknown.
  WordPieceModel(TokenTable tokens, const std::string& prefix, const std::string& unknown,
                 size_t most_characters);

  const TokenTable& tokens() const override { return tokens_; }
  void Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const override;

 private:
  bool AppendWord(const uint8_t* word, size_t size, Ids* ids) const;

  const TokenTable tokens_;
  const TokenTable continuing_;  // those with the prefix, without it
  const std::string unknown_;
  const size_t most_characters_;
};

// A piece is a token, or unknown.
class WordLevelModel final : public TokenModel {
 public:
  WordLevelModel(TokenTable tokens, std::string unknown)
      : tokens_(std::move(tokens)), unknown_(std::move(unknown)) {}

  const TokenTable& tokens() const override { return tokens_; }
  void Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const override;

 private:
  const TokenTable tokens_;
  const std::string unknown_;
};

struct UnigramOptions {
  uint32_t unknown = TokenTable::kNone;  // the token, if there is one
  bool byte_fallback = false;            // what is unknown becomes the tokens of its bytes, <0x41>
  // Scores are added as floats, and what is unknown is not looked up as a whole.
  bool of_sentence_piece = false;
};

// A piece becomes those tokens whose scores have the greatest sum.
class UnigramModel final : public TokenModel {
 public:
  // One score a token; no text becomes those whose score is no number.
  UnigramModel(TokenTable tokens, PooledVector<double> scores, const UnigramOptions& options);

  const TokenTable& tokens() const override { return tokens_; }
  void Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const override;

 private:
  // The best way to a place in a piece.
  struct Way {
    double score = 0;
    uint32_t begin = UINT32_MAX;  // of its last token; UINT32_MAX: there is no way yet
    uint32_t token = 0;
  };
  void AppendPiece(const uint8_t* piece, uint32_t size, PooledVector<Way>* ways,
                   PooledVector<Span>* found, Ids* ids) const;
  double Sum(double left, double right) const;
  void AppendOther(const uint8_t* token, size_t size, Ids* ids) const;
  uint32_t Child(uint32_t node, uint8_t byte) const;
  void Insert(uint32_t token);

  const TokenTable tokens_;
  const PooledVector<double> scores_;
  const UnigramOptions options_;
  const std::array<uint32_t, 256> fallback_;  // the tokens <0x00> to <0xFF>
  double unknown_score_ = 0;
  // A trie of the tokens' bytes. Its edges are a hash table: node << 8 | byte in the upper half,
  // the child in the lower one; 0 is free, since the root is no child.
  PooledVector<uint64_t> edges_;
  size_t edge_count_ = 0;
  PooledVector<uint32_t> token_of_node_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_MODEL_H_
