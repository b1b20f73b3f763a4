// SPDX-License-Identifier: Apache-2.0
// Source: tokenizers 0.23 (https://github.com/huggingface/tokenizers), models, whose result this
// is.
#include "operators/text/tokens/token_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "operators/text/unicode/utf8.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr uint32_t kNone = TokenTable::kNone;
constexpr double kUnknownPenalty = 10;
constexpr size_t kMostNodes = size_t{1} << 24;

uint32_t Find(const TokenTable& tokens, std::string_view bytes) {
  return bytes.empty() ? kNone
                       : tokens.Find(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TokenTable Continuing(const TokenTable& tokens, const std::string& prefix) {
  TokenTable continuing;
  for (uint32_t token = 0; token < tokens.size(); ++token) {
    const std::string_view bytes = tokens.bytes(token);
    if (bytes.size() <= prefix.size() || bytes.substr(0, prefix.size()) != prefix) continue;
    continuing.Add(bytes.substr(prefix.size()), tokens.id(token));
  }
  return continuing;
}

void AppendUnknown(const TokenTable& tokens, const std::string& unknown, const uint8_t* word,
                   size_t size, Ids* ids) {
  const uint32_t token = Find(tokens, unknown);
  if (token == kNone) {
    throw Error(ErrorCode::kDataLoss,
                StrCat("'", Shown({reinterpret_cast<const char*>(word), size}),
                       "' is no token, and the vocabulary has no token '", Shown(unknown),
                       "' for what is unknown"));
  }
  ids->push_back(tokens.id(token));
}

}  // namespace

void BytePairModel::Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const {
  size_t bytes = 0;
  for (const Span piece : pieces) bytes += piece.end - piece.begin;
  const size_t before = ids->size();
  ids->resize(before + bytes);
  int32_t* next = ids->data() + before;
  for (const Span piece : pieces) {
    CheckStop();
    next = encoder_.EncodePiece(text + piece.begin, piece.end - piece.begin, next);
  }
  ids->resize(static_cast<size_t>(next - ids->data()));
}

WordPieceModel::WordPieceModel(TokenTable tokens, const std::string& prefix,
                               const std::string& unknown, size_t most_characters)
    : tokens_(std::move(tokens)),
      continuing_(Continuing(tokens_, prefix)),
      unknown_(unknown),
      most_characters_(most_characters) {}

bool WordPieceModel::AppendWord(const uint8_t* word, size_t size, Ids* ids) const {
  if (size > most_characters_) {  // so many characters, or fewer
    const auto characters = static_cast<size_t>(
        std::count_if(word, word + size, [](uint8_t byte) { return (byte & 0xc0) != 0x80; }));
    if (characters > most_characters_) return false;
  }
  for (size_t begin = 0; begin < size;) {
    const TokenTable& tokens = begin == 0 ? tokens_ : continuing_;
    size_t length = std::min(size - begin, tokens.longest());
    while (begin + length < size && (word[begin + length] & 0xc0) == 0x80) --length;
    uint32_t token = kNone;
    while (length > 0) {
      token = tokens.Find(word + begin, length);
      if (token != kNone) break;
      length = static_cast<size_t>(BackOne(word + begin + length) - word) - begin;
    }
    if (token == kNone) return false;
    ids->push_back(tokens.id(token));
    begin += length;
  }
  return true;
}

void WordPieceModel::Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const {
  for (const Span piece : pieces) {
    CheckStop();
    const size_t before = ids->size();
    const uint8_t* const word = text + piece.begin;
    const size_t size = piece.end - piece.begin;
    if (AppendWord(word, size, ids)) continue;
    ids->resize(before);
    AppendUnknown(tokens_, unknown_, word, size, ids);
  }
}

void WordLevelModel::Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const {
  for (const Span piece : pieces) {
    CheckStop();
    const uint8_t* const word = text + piece.begin;
    const size_t size = piece.end - piece.begin;
    const uint32_t token = tokens_.Find(word, size);
    if (token != kNone) {
      ids->push_back(tokens_.id(token));
    } else {
      AppendUnknown(tokens_, unknown_, word, size, ids);
    }
  }
}

UnigramModel::UnigramModel(TokenTable tokens, PooledVector<double> scores,
                           const UnigramOptions& options)
    : tokens_(std::move(tokens)),
      scores_(std::move(scores)),
      options_(options),
      fallback_(ByteTokens(tokens_)),
      edges_(1024),
      token_of_node_(1, kNone) {
  double lowest = std::numeric_limits<double>::infinity();
  for (uint32_t token = 0; token < tokens_.size(); ++token) {
    if (std::isnan(scores_[token])) continue;
    Insert(token);
    lowest = std::min(lowest, scores_[token]);
  }
  unknown_score_ = Sum(lowest, -kUnknownPenalty);
}

double UnigramModel::Sum(double left, double right) const {
  const double sum = left + right;
  // A sum of floats that is rounded twice is the same as one that is rounded once.
  return options_.of_sentence_piece ? static_cast<float>(sum) : sum;
}

namespace {

// The place of an edge in a table, or where it would be.
template <typename Edges>
auto* PlaceOf(Edges& edges, uint32_t node, uint8_t byte) {
  const uint64_t key = uint64_t{node} << 8 | byte;
  const uint64_t hash = key * 0x9e3779b97f4a7c15u;
  const size_t mask = edges.size() - 1;
  size_t place = (hash ^ hash >> 32) & mask;
  while (edges[place] != 0 && edges[place] >> 32 != key) place = (place + 1) & mask;
  return &edges[place];
}

}  // namespace

uint32_t UnigramModel::Child(uint32_t node, uint8_t byte) const {
  return static_cast<uint32_t>(*PlaceOf(edges_, node, byte));
}

void UnigramModel::Insert(uint32_t token) {
  uint32_t node = 0;
  for (const char c : tokens_.bytes(token)) {
    const auto byte = static_cast<uint8_t>(c);
    uint64_t* place = PlaceOf(edges_, node, byte);
    if (*place == 0) {
      const auto child = static_cast<uint32_t>(token_of_node_.size());
      if (child >= kMostNodes) {
        throw Error(ErrorCode::kResourceLimit, "the tokens of the vocabulary are too long in all");
      }
      *place = uint64_t{node} << 40 | uint64_t{byte} << 32 | child;
      token_of_node_.push_back(kNone);
      if (2 * ++edge_count_ > edges_.size()) {
        PooledVector<uint64_t> old(2 * edges_.size());
        old.swap(edges_);
        for (const uint64_t edge : old) {
          if (edge == 0) continue;
          *PlaceOf(edges_, static_cast<uint32_t>(edge >> 40), static_cast<uint8_t>(edge >> 32)) =
              edge;
        }
      }
      node = child;
    } else {
      node = static_cast<uint32_t>(*place);
    }
  }
  token_of_node_[node] = token;
}

void UnigramModel::AppendOther(const uint8_t* token, size_t size, Ids* ids) const {
  const uint32_t found = options_.of_sentence_piece ? kNone : tokens_.Find(token, size);
  const bool has_bytes =
      options_.byte_fallback &&
      std::all_of(token, token + size, [this](uint8_t byte) { return fallback_[byte] != kNone; });
  if (found == kNone && has_bytes) {
    for (size_t i = 0; i < size; ++i) ids->push_back(tokens_.id(fallback_[token[i]]));
    return;
  }
  ids->push_back(tokens_.id(found == kNone ? options_.unknown : found));
}

void UnigramModel::AppendPiece(const uint8_t* piece, uint32_t size, PooledVector<Way>* ways,
                               PooledVector<Span>* found, Ids* ids) const {
  ways->assign(size + size_t{1}, Way());
  const auto take = [&](uint32_t begin, uint32_t end, double score, uint32_t token) {
    Way& way = (*ways)[end];
    if (way.begin == UINT32_MAX || score > way.score) way = {score, begin, token};
  };
  for (uint32_t begin = 0; begin < size; begin += Utf8Length(piece[begin])) {
    CheckStop();
    const double score = (*ways)[begin].score;
    const uint32_t character = Utf8Length(piece[begin]);
    bool has_character = false;
    uint32_t node = 0;
    for (uint32_t end = begin; end < size;) {
      node = Child(node, piece[end++]);
      if (node == 0) break;
      const uint32_t token = token_of_node_[node];
      if (token == kNone) continue;
      take(begin, end, Sum(scores_[token], score), token);
      has_character |= end - begin == character;
    }
    if (has_character) continue;
    if (options_.unknown == kNone) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("'", Shown({reinterpret_cast<const char*>(piece) + begin, character}),
                         "' is no token, and the vocabulary has no token for what is unknown"));
    }
    take(begin, begin + character, Sum(unknown_score_, score), options_.unknown);
  }
  // From the end back: unknown tokens side by side are one.
  found->clear();
  bool after_unknown = false;
  for (uint32_t end = size; end > 0;) {
    const Way& way = (*ways)[end];
    const bool is_unknown = way.token == options_.unknown;
    if (is_unknown && after_unknown) {
      found->back().begin = way.begin;
    } else {
      found->push_back({way.begin, end});
    }
    after_unknown = is_unknown;
    end = way.begin;
  }
  for (size_t i = found->size(); i > 0; --i) {
    const Span span = (*found)[i - 1];
    const uint32_t token = (*ways)[span.end].token;
    if (token == options_.unknown) {
      AppendOther(piece + span.begin, span.end - span.begin, ids);
    } else {
      ids->push_back(tokens_.id(token));
    }
  }
}

void UnigramModel::Encode(const uint8_t* text, const PooledVector<Span>& pieces, Ids* ids) const {
  PooledVector<Way> ways;
  PooledVector<Span> found;
  for (const Span piece : pieces) {
    AppendPiece(text + piece.begin, piece.end - piece.begin, &ways, &found, ids);
  }
}

}  // namespace millhopper
