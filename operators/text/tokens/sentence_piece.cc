// SPDX-License-Identifier: Apache-2.0
// Source: SentencePiece 0.2 (https://github.com/google/sentencepiece), whose result this is.
#include "operators/text/tokens/sentence_piece.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "operators/text/tokens/sentence_piece.pb.h"
#include "operators/text/unicode/utf8.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

using Model = proto::SentencePieceModel;
using Piece = Model::Piece;

constexpr std::string_view kSpaceSymbol = "\xe2\x96\x81";

template <typename... Parts>
[[noreturn]] void Refuse(const Parts&... parts) {
  throw Error(ErrorCode::kDataLoss, StrCat("the model of SentencePiece ", parts...));
}

void AppendText(std::string_view text, TextBytes* out) {
  out->insert(out->end(), text.begin(), text.end());
}

// The pieces, in the order of the model.
TokenTable TableOf(const Model& model) {
  if (static_cast<size_t>(model.pieces_size()) > kMaxTokens) {
    throw Error(ErrorCode::kResourceLimit, StrCat("there are more than ", kMaxTokens, " pieces"));
  }
  TokenTable tokens;
  for (int i = 0; i < model.pieces_size(); ++i) {
    const std::string& piece = model.pieces(i).piece();
    const auto* const bytes = reinterpret_cast<const uint8_t*>(piece.data());
    if (piece.size() > kMaxTokenBytes) {
      throw Error(ErrorCode::kResourceLimit,
                  StrCat("a piece of ", piece.size(), " bytes; the limit is ", kMaxTokenBytes));
    }
    if (piece.empty() || EndOfUtf8(bytes, bytes + piece.size()) != bytes + piece.size()) {
      Refuse("has a piece that is empty or not UTF-8, number ", i);
    }
    if (tokens.Add(piece, i) != TokenTable::kNone) {
      Refuse("has the piece '", Shown(piece), "' twice");
    }
  }
  return tokens;
}

// The token of what is unknown; also checks the types of all pieces.
uint32_t CheckTypes(const Model& model) {
  uint32_t unknown = TokenTable::kNone;
  size_t bytes = 0;
  for (int i = 0; i < model.pieces_size(); ++i) {
    const Piece& piece = model.pieces(i);
    if (piece.type() == Piece::USER_DEFINED || piece.type() == Piece::UNUSED) {
      Refuse("has a piece that is ",
             piece.type() == Piece::UNUSED ? "unused" : "defined by the user",
             ", which is not supported: '", Shown(piece.piece()), "'");
    }
    if (piece.type() == Piece::BYTE) ++bytes;
    if (piece.type() != Piece::NORMAL &&
        piece.piece().size() == Utf8Length(static_cast<uint8_t>(piece.piece()[0]))) {
      Refuse("has a character that is no normal piece: '", Shown(piece.piece()), "'");
    }
    if (piece.type() != Piece::UNKNOWN) continue;
    if (unknown != TokenTable::kNone) Refuse("has two unknown pieces");
    unknown = static_cast<uint32_t>(i);
  }
  if (unknown == TokenTable::kNone) Refuse("has no unknown piece");
  if (model.trainer().byte_fallback() && bytes != 256) Refuse("has ", bytes, " pieces of bytes");
  return unknown;
}

// All pairs of pieces that are together a piece, that of the greatest score first.
void AddPairs(const Model& model, const TokenTable& tokens, PairTable* pairs) {
  std::vector<uint32_t> order;
  for (int i = 0; i < model.pieces_size(); ++i) {
    if (model.pieces(i).type() == Piece::NORMAL) order.push_back(static_cast<uint32_t>(i));
  }
  const auto score = [&model](uint32_t token) {
    return model.pieces(static_cast<int>(token)).score();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t left, uint32_t right) { return score(left) > score(right); });
  const auto find = [&](const uint8_t* bytes, size_t size) {
    const uint32_t token = tokens.Find(bytes, size);
    const bool normal =
        token != TokenTable::kNone && model.pieces(static_cast<int>(token)).type() == Piece::NORMAL;
    return normal ? token : TokenTable::kNone;
  };
  uint32_t before = TokenTable::kNone;
  for (const uint32_t token : order) {
    const std::string_view piece = tokens.bytes(token);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(piece.data());
    if (Utf8Length(bytes[0]) == piece.size()) continue;
    if (before != TokenTable::kNone && score(before) == score(token)) {
      Refuse("has the pieces '", Shown(tokens.bytes(before)), "' and '", Shown(piece),
             "' of one score");
    }
    before = token;
    for (size_t cut = 0; cut < piece.size();) {
      const size_t length = Utf8Length(bytes[cut]);
      if (find(bytes + cut, length) == TokenTable::kNone) {
        Refuse("has the piece '", Shown(piece), "', a character of which is no piece");
      }
      cut += length;
      if (cut == piece.size()) break;
      const uint32_t left = find(bytes, cut);
      const uint32_t right = find(bytes + cut, piece.size() - cut);
      if (left == TokenTable::kNone || right == TokenTable::kNone) continue;
      if (pairs->size() >= kMaxMerges) {
        throw Error(ErrorCode::kResourceLimit,
                    StrCat("there are more than ", kMaxMerges, " pairs of pieces"));
      }
      pairs->Add(left, right, token);
    }
  }
}

std::unique_ptr<const TokenModel> ModelOf(const Model& model) {
  TokenTable tokens = TableOf(model);
  const uint32_t unknown = CheckTypes(model);
  if (model.trainer().model_type() == Model::Trainer::BPE) {
    MergeRules rules;
    rules.characters = true;
    rules.byte_fallback = model.trainer().byte_fallback();
    rules.fuse_unknown = true;
    rules.unknown = unknown;
    AddPairs(model, tokens, &rules.pairs);
    return std::make_unique<const BytePairModel>(std::move(tokens), std::move(rules));
  }
  if (model.trainer().model_type() != Model::Trainer::UNIGRAM) {
    Refuse("is neither unigram nor BPE");
  }
  PooledVector<double> scores;
  UnigramOptions options;
  options.unknown = unknown;
  options.byte_fallback = model.trainer().byte_fallback();
  options.of_sentence_piece = true;
  for (const Piece& piece : model.pieces()) {
    // What no text becomes has no score.
    scores.push_back(piece.type() == Piece::NORMAL ? piece.score()
                                                   : std::numeric_limits<double>::quiet_NaN());
  }
  return std::make_unique<const UnigramModel>(std::move(tokens), std::move(scores), options);
}

}  // namespace

SentenceNormalizer::SentenceNormalizer(std::string_view charsmap, const Options& options)
    : options_(options) {
  if (!charsmap.empty()) map_.emplace(charsmap);
}

std::string_view SentenceNormalizer::Replaced(const uint8_t* here, const uint8_t* end,
                                              size_t* size) const {
  if (map_) {
    if (const std::optional<CharsMap::Found> found = map_->FindLongest(here, end)) {
      *size = found->size;
      return found->becomes;
    }
  }
  *size = Utf8Length(*here);
  return {reinterpret_cast<const char*>(here), *size};
}

void SentenceNormalizer::Append(const uint8_t* text, size_t size, TextBytes* out) const {
  const uint8_t* here = text;
  const uint8_t* const end = text + size;
  size_t length = 0;
  while (options_.strip_spaces && here != end && Replaced(here, end, &length) == " ") {
    here += length;
  }
  if (here == end) return;
  const std::string_view space = options_.escape_spaces ? kSpaceSymbol : " ";
  if (options_.add_prefix) AppendText(space, out);
  bool after_space = options_.strip_spaces;
  while (here != end) {
    CheckStop();
    std::string_view replaced = Replaced(here, end, &length);
    here += length;
    while (after_space && !replaced.empty() && replaced[0] == ' ') replaced.remove_prefix(1);
    for (const char byte : replaced) {
      if (byte == ' ') {
        AppendText(space, out);
      } else {
        out->push_back(static_cast<uint8_t>(byte));
      }
    }
    if (!replaced.empty()) after_space = options_.strip_spaces && replaced.back() == ' ';
  }
  while (options_.strip_spaces && out->size() >= space.size() &&
         std::equal(space.begin(), space.end(), out->end() - space.size(),
                    [](char left, uint8_t right) { return static_cast<uint8_t>(left) == right; })) {
    out->resize(out->size() - space.size());
  }
}

bool IsSentencePiece(std::string_view bytes) {
  // The first piece: its field and size, and within it the field and size of its text.
  return bytes.size() > 4 && bytes[0] == '\n' && bytes[2] == '\n' && bytes[3] > 0 &&
         bytes[3] + 2 <= bytes[1];
}

std::unique_ptr<const Tokenizer> ReadSentencePiece(std::string_view bytes) {
  Model model;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    Refuse("is damaged");
  }
  if (model.trainer().treat_whitespace_as_suffix()) {
    Refuse("has white space after words (treat_whitespace_as_suffix), which is not supported");
  }
  const Model::Normalizer& spec = model.normalizer();
  TokenizerParts parts;
  parts.normalizers.emplace_back();
  parts.normalizers.back().kind = Normalizer::Kind::kSentencePiece;
  parts.normalizers.back().sentence = std::make_shared<const SentenceNormalizer>(
      spec.precompiled_charsmap(),
      SentenceNormalizer::Options{spec.add_dummy_prefix(), spec.remove_extra_whitespaces(),
                                  spec.escape_whitespaces()});
  parts.model = ModelOf(model);
  return std::make_unique<const Tokenizer>(std::move(parts));
}

}  // namespace millhopper
