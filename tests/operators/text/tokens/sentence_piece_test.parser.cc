// SPDX-License-Identifier: Apache-2.0
// Models of SentencePiece: small ones, and all that can be wrong with them.
// tests/python/readers/test_sentencepiece.py compares trained ones with the original.
#include "operators/text/tokens/sentence_piece.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/text/tokens/sentence_piece.pb.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Model = proto::SentencePieceModel;

Model ModelOfPieces(Model::Trainer::ModelType type,
                    const std::vector<std::pair<std::string, float>>& pieces) {
  Model model;
  model.mutable_trainer()->set_model_type(type);
  const auto add = [&model](const std::string& text, float score, Model::Piece::Type kind) {
    Model::Piece* const piece = model.add_pieces();
    piece->set_piece(text);
    piece->set_score(score);
    piece->set_type(kind);
  };
  add("<unk>", 0, Model::Piece::UNKNOWN);
  add("<s>", 0, Model::Piece::CONTROL);
  for (const auto& [text, score] : pieces) add(text, score, Model::Piece::NORMAL);
  return model;
}

std::vector<int32_t> Encode(const Model& model, const std::string& text) {
  const std::unique_ptr<const Tokenizer> tokenizer = ReadSentencePiece(model.SerializeAsString());
  const std::vector<uint8_t> exact(text.begin(), text.end());
  Tokenizer::Work work;
  Ids ids;
  tokenizer->Encode(exact.data(), exact.size(), Specials::kText, true, &work, &ids);
  return {ids.begin(), ids.end()};
}

using Tokens = std::vector<int32_t>;

TEST(SentencePiece, UnigramsHaveTheGreatestSum) {
  const Model model = ModelOfPieces(
      Model::Trainer::UNIGRAM,
      {{"\u2581", -3}, {"a", -2}, {"b", -2.5f}, {"\u2581a", -2.5f}, {"ab", -4}, {"c", -4}});
  EXPECT_EQ(Encode(model, "ab"), (Tokens{5, 4}));
  EXPECT_EQ(Encode(model, "  b   a  "), (Tokens{2, 4, 5}));
  EXPECT_EQ(Encode(model, "axy<s>c"), (Tokens{5, 0, 7}));
  EXPECT_EQ(Encode(model, ""), (Tokens{}));
  EXPECT_EQ(Encode(model, "   "), (Tokens{}));
}

TEST(SentencePiece, PairsOfTheGreatestScoreAreMerged) {
  Model model = ModelOfPieces(
      Model::Trainer::BPE,
      {{"\u2581", -10}, {"a", -11}, {"b", -12}, {"c", -13}, {"bc", 0}, {"ab", -1}, {"abc", -2}});
  EXPECT_EQ(Encode(model, "abc"), (Tokens{2, 8}));
  EXPECT_EQ(Encode(model, "ab"), (Tokens{2, 7}));
  EXPECT_EQ(Encode(model, "axyb"), (Tokens{2, 3, 0, 4}));
  model.mutable_normalizer()->set_add_dummy_prefix(false);
  model.mutable_normalizer()->set_remove_extra_whitespaces(false);
  EXPECT_EQ(Encode(model, " a  b"), (Tokens{2, 3, 2, 2, 4}));
}

TEST(SentencePiece, NamesWhatIsNotSupported) {
  const auto expect = [](const Model& model, const char* problem) {
    ExpectError(ErrorCode::kDataLoss, problem,
                [&] { ReadSentencePiece(model.SerializeAsString()); });
  };
  const auto unigram = Model::Trainer::UNIGRAM;
  const Model good = ModelOfPieces(unigram, {{"a", -1}});
  Model bad = good;
  bad.mutable_trainer()->set_model_type(Model::Trainer::WORD);
  expect(bad, "is neither unigram nor BPE");
  bad = good;
  bad.mutable_trainer()->set_treat_whitespace_as_suffix(true);
  expect(bad, "white space after words");
  bad = good;
  bad.mutable_trainer()->set_byte_fallback(true);
  expect(bad, "has 0 pieces of bytes");
  bad = good;
  bad.mutable_pieces(2)->set_type(Model::Piece::USER_DEFINED);
  expect(bad, "defined by the user, which is not supported: 'a'");
  bad = good;
  bad.mutable_pieces(2)->set_type(Model::Piece::CONTROL);
  expect(bad, "a character that is no normal piece: 'a'");
  bad = good;
  bad.mutable_pieces(0)->set_type(Model::Piece::NORMAL);
  expect(bad, "has no unknown piece");
  expect(ModelOfPieces(unigram, {{"a", -1}, {"a", -2}}), "has the piece 'a' twice");
  expect(ModelOfPieces(unigram, {{"", -1}}), "a piece that is empty or not UTF-8, number 2");
  expect(ModelOfPieces(Model::Trainer::BPE, {{"ab", -1}, {"a", -2}}),
         "has the piece 'ab', a character of which is no piece");
  expect(ModelOfPieces(Model::Trainer::BPE, {{"ab", -1}, {"aa", -1}, {"a", -2}, {"b", -3}}),
         "of one score");
  for (const std::string& map :
       {std::string("abc"), std::string("\x04\0\0\0", 4), std::string("\x04\0\0\0\0\0\0\0x", 9)}) {
    bad = good;
    bad.mutable_normalizer()->set_precompiled_charsmap(map);
    expect(bad, "the map of characters (precompiled_charsmap) is damaged");
  }
  ExpectError(ErrorCode::kDataLoss, "is damaged", [] { ReadSentencePiece("\n\x7f\n\x01"); });
  EXPECT_TRUE(IsSentencePiece(good.SerializeAsString()));
  EXPECT_FALSE(IsSentencePiece("\n\n\n\nYQ== 0\n"));
  EXPECT_FALSE(IsSentencePiece("\n#version"));
}

}  // namespace
}  // namespace millhopper
