// SPDX-License-Identifier: Apache-2.0
// Source: tiktoken 0.14 (https://github.com/openai/tiktoken), src/lib.rs, whose result this is.
#include "operators/text/tokens/byte_pairs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/buffer.h"
#include "operators/text/unicode/utf8.h"

namespace millhopper {
namespace {

constexpr uint32_t kNone = TokenTable::kNone;
constexpr size_t kShortPiece = 64;  // up to which looking at all pairs for the lowest is faster
constexpr size_t kPieceSlots = size_t{1} << 13;

bool HasAllBytes(const TokenTable& tokens) {
  for (size_t byte = 0; byte < 256; ++byte) {
    if (tokens.OfByte(static_cast<uint8_t>(byte)) == kNone) return false;
  }
  return true;
}

// find(first token, second token, bytes) for every two bytes.
template <typename Find>
PooledVector<uint32_t> PairsOf(const TokenTable& tokens, const Find& find) {
  PooledVector<uint32_t> pairs(size_t{1} << 16);
  for (size_t pair = 0; pair < pairs.size(); ++pair) {
    const uint8_t bytes[] = {static_cast<uint8_t>(pair >> 8), static_cast<uint8_t>(pair)};
    pairs[pair] = find(tokens.OfByte(bytes[0]), tokens.OfByte(bytes[1]), bytes);
  }
  return pairs;
}

uint32_t NextSerial() {
  static std::atomic<uint32_t> last{0};
  return ++last;
}

}  // namespace

// The tokens of short pieces that one thread has met, of all encoders: a table in which each piece
// has one place, and takes it from the piece that was there before.
class BytePairEncoder::PieceCache {
 public:
  static constexpr size_t kMostBytes = 25;
  static constexpr size_t kMostIds = 8;

  struct Slot {
    uint32_t serial = 0;  // of the encoder; 0: the slot is empty
    uint8_t size = 0;
    uint8_t count = 0;
    std::array<uint8_t, kMostBytes + 1> bytes;
    std::array<int32_t, kMostIds> ids;
  };
  static_assert(sizeof(Slot) == 64, "a slot is a cache line");

  // That of the calling thread; it lives as long as the thread. Its memory counts towards the
  // limit; that of a worker, which is ahead of need when it first takes it, as ahead of need.
  static PieceCache* OfThread() {
    thread_local PieceCache cache;
    return &cache;
  }

  Slot* At(uint64_t hash) { return &slots_[hash % kPieceSlots]; }

 private:
  PieceCache() : slots_(kPieceSlots) {}

  PooledVector<Slot> slots_;
};

BytePairEncoder::BytePairEncoder(TokenTable tokens)
    : tokens_(std::move(tokens)),
      has_rules_(false),
      begins_as_bytes_(true),
      serial_(NextSerial()),
      fallback_(),
      pairs_(PairsOf(tokens_, [this](uint32_t, uint32_t, const uint8_t* bytes) {
        return tokens_.Find(bytes, 2);
      })) {
  Require(HasAllBytes(tokens_), "a byte is no token of the vocabulary");
}

BytePairEncoder::BytePairEncoder(TokenTable tokens, MergeRules rules)
    : tokens_(std::move(tokens)),
      rules_(std::move(rules)),
      has_rules_(true),
      begins_as_bytes_(!rules_.characters && rules_.prefix.empty() && rules_.suffix.empty() &&
                       HasAllBytes(tokens_)),
      serial_(NextSerial()),
      fallback_(ByteTokens(tokens_)),
      pairs_(begins_as_bytes_ ? PairsOf(tokens_,
                                        [this](uint32_t left, uint32_t right, const uint8_t*) {
                                          return rules_.pairs.Find(left, right);
                                        })
                              : PooledVector<uint32_t>()) {}

size_t BytePairEncoder::Encode(PiecePattern pattern, const uint8_t* text, size_t size, int32_t* ids,
                               const Pattern* expression) const {
  PieceCache* const cache = PieceCache::OfThread();
  const uint8_t* const end = text + size;
  int32_t* next = ids;
  const auto encode = [&](auto end_of_piece) {
    for (const uint8_t* here = text; here != end;) {
      CheckStop();
      const uint8_t* const piece = here;
      here = end_of_piece(here, end);
      next = EncodePiece(piece, static_cast<size_t>(here - piece), cache, next);
    }
  };
  switch (pattern) {
    case PiecePattern::kGpt2:
      encode(EndOfGpt2Piece);
      break;
    case PiecePattern::kCl100k:
      encode(EndOfCl100kPiece);
      break;
    case PiecePattern::kLlama3:
      encode(EndOfLlama3Piece);
      break;
    case PiecePattern::kQwen2:
      encode(EndOfQwen2Piece);
      break;
    case PiecePattern::kO200k:
      encode(EndOfO200kPiece);
      break;
    case PiecePattern::kNone:
      encode([](const uint8_t*, const uint8_t* text_end) { return text_end; });
      break;
    case PiecePattern::kExpression:
      next = EncodeMatches(*expression, text, end, cache, ids);
      break;
  }
  return static_cast<size_t>(next - ids);
}

int32_t* BytePairEncoder::EncodeMatches(const Pattern& expression, const uint8_t* text,
                                        const uint8_t* end, PieceCache* cache, int32_t* ids) const {
  for (const uint8_t* begin = text;; ++begin) {  // of what lies between bytes that are not UTF-8
    const uint8_t* const valid_end = EndOfUtf8(begin, end);
    for (const uint8_t* here = begin; here != valid_end;) {
      CheckStop();
      const uint8_t* const match = expression.MatchAt(begin, here, valid_end);
      if (match == nullptr) {
        here += Utf8Length(*here);
        continue;
      }
      ids = EncodePiece(here, static_cast<size_t>(match - here), cache, ids);
      here = match;
    }
    if (valid_end == end) return ids;
    ids = EncodePiece(valid_end, 1, cache, ids);
    begin = valid_end;
  }
}

int32_t* BytePairEncoder::EncodePiece(const uint8_t* piece, size_t size, int32_t* ids) const {
  return EncodePiece(piece, size, PieceCache::OfThread(), ids);
}

int32_t* BytePairEncoder::EncodePiece(const uint8_t* piece, size_t size, PieceCache* cache,
                                      int32_t* ids) const {
  if (size == 1 && begins_as_bytes_) {
    *ids = tokens_.id(tokens_.OfByte(*piece));
    return ids + 1;
  }
  const bool may_be_whole = !has_rules_ || rules_.whole_pieces;
  if (size > std::max(may_be_whole ? tokens_.longest() : 0, PieceCache::kMostBytes)) {
    return Merge(piece, size, ids);
  }
  const uint64_t hash = HashOfBytes(piece, size);
  PieceCache::Slot* const slot = cache->At(hash ^ serial_);
  if (slot->serial == serial_ && slot->size == size &&
      std::memcmp(slot->bytes.data(), piece, size) == 0) {
    for (size_t i = 0; i < slot->count; ++i) ids[i] = slot->ids[i];
    return ids + slot->count;
  }
  const uint32_t token = may_be_whole ? tokens_.Find(piece, size, hash) : kNone;
  int32_t* end = ids;
  if (token != kNone) {
    *end++ = tokens_.id(token);
  } else {
    end = Merge(piece, size, ids);
  }
  const auto count = static_cast<size_t>(end - ids);
  if (size <= PieceCache::kMostBytes && count <= PieceCache::kMostIds) {
    slot->serial = serial_;
    slot->size = static_cast<uint8_t>(size);
    slot->count = static_cast<uint8_t>(count);
    std::memcpy(slot->bytes.data(), piece, size);
    std::copy(ids, end, slot->ids.begin());
  }
  return end;
}

int32_t* BytePairEncoder::Merge(const uint8_t* piece, size_t size, int32_t* ids) const {
  if (size <= kShortPiece) {
    return has_rules_ ? MergeShort<true>(piece, size, ids) : MergeShort<false>(piece, size, ids);
  }
  return has_rules_ ? MergeLong<true>(piece, size, ids) : MergeLong<false>(piece, size, ids);
}

uint32_t BytePairEncoder::TokenOf(std::string_view unit, bool first, bool last) const {
  const auto find = [this](std::string_view bytes) {
    return tokens_.Find(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  };
  const bool prefixed = !first && !rules_.prefix.empty();
  const bool suffixed = last && !rules_.suffix.empty();
  if (!prefixed && !suffixed) return find(unit);
  std::string whole = prefixed ? rules_.prefix : std::string();
  whole += unit;
  if (suffixed) whole += rules_.suffix;
  return find(whole);
}

template <typename Add>
void BytePairEncoder::Begin(const uint8_t* piece, size_t size, const Add& add) const {
  bool pending = false;  // whether an unknown token is still to be added
  for (size_t begin = 0; begin < size;) {
    const size_t length = rules_.characters ? Utf8Length(piece[begin]) : 1;
    const std::string_view unit(reinterpret_cast<const char*>(piece) + begin, length);
    const uint32_t token = TokenOf(unit, begin == 0, begin + length == size);
    begin += length;
    if (token != kNone) {
      if (pending) add(rules_.unknown);
      pending = false;
      add(token);
      continue;
    }
    // As the original has it, tokens of bytes stand before an unknown one that came before them.
    if (rules_.byte_fallback && AddBytes(unit, add)) continue;
    if (rules_.unknown == kNone) continue;
    if (pending && !rules_.fuse_unknown) add(rules_.unknown);
    pending = true;
  }
  if (pending) add(rules_.unknown);
}

// Adds the tokens of the bytes; adds none and returns false if one of them is no token.
template <typename Add>
bool BytePairEncoder::AddBytes(std::string_view bytes, const Add& add) const {
  for (const char byte : bytes) {
    if (fallback_[static_cast<uint8_t>(byte)] == kNone) return false;
  }
  for (const char byte : bytes) add(fallback_[static_cast<uint8_t>(byte)]);
  return true;
}

template <bool kRules>
int32_t* BytePairEncoder::MergeShort(const uint8_t* piece, size_t size, int32_t* ids) const {
  // Part i is the token tokens[i]; pairs[i] is what it makes with the part after it. Without rules
  // it is the bytes from begins[i] up to begins[i + 1].
  std::array<uint8_t, kShortPiece + 1> begins;
  std::array<uint32_t, kShortPiece> tokens, pairs;
  size_t parts = 0;
  const auto find_pair = [&](size_t i) {
    if (i + 1 >= parts) return kNone;
    return FindPair<kRules>(tokens[i], tokens[i + 1], piece + begins[i],
                            size_t{begins[i + 2]} - begins[i]);
  };
  if (begins_as_bytes_) {
    parts = size;
    for (size_t i = 0; i < size; ++i) {
      begins[i] = static_cast<uint8_t>(i);
      tokens[i] = tokens_.OfByte(piece[i]);
      pairs[i] = i + 1 < size ? pairs_[size_t{piece[i]} << 8 | piece[i + 1]] : kNone;
    }
    begins[size] = static_cast<uint8_t>(size);
  } else {
    begins.fill(0);
    Begin(piece, size, [&](uint32_t token) { tokens[parts++] = token; });
    for (size_t i = 0; i < parts; ++i) pairs[i] = find_pair(i);
  }
  while (parts > 0) {
    const auto lowest = std::min_element(pairs.begin(), pairs.begin() + parts);
    if (*lowest == kNone) break;
    const auto i = static_cast<size_t>(lowest - pairs.begin());
    tokens[i] = Made<kRules>(*lowest);
    std::copy(tokens.begin() + i + 2, tokens.begin() + parts, tokens.begin() + i + 1);
    std::copy(pairs.begin() + i + 2, pairs.begin() + parts, pairs.begin() + i + 1);
    if (!kRules)
      std::copy(begins.begin() + i + 2, begins.begin() + parts + 1, begins.begin() + i + 1);
    --parts;
    pairs[i] = find_pair(i);
    if (i > 0) pairs[i - 1] = find_pair(i - 1);
  }
  for (size_t i = 0; i < parts; ++i) *ids++ = tokens_.id(tokens[i]);
  return ids;
}

// A part of a long piece. Parts are linked both ways. Where a piece begins as its bytes, a part is
// known by the byte that it begins with.
struct BytePairEncoder::Part {
  uint32_t before, next;
  uint32_t token, pair;
};

template <bool kRules>
int32_t* BytePairEncoder::MergeLong(const uint8_t* piece, size_t size, int32_t* ids) const {
  Require(size < kNone, "a piece of text of ", size, " bytes; the limit is ", kNone - 1);
  PooledVector<Part> parts;
  parts.reserve(size);
  const auto begin_part = [&parts](uint32_t token) {
    const auto at = static_cast<uint32_t>(parts.size());
    parts.push_back({at - 1, at + 1, token, kNone});
  };
  if (begins_as_bytes_) {
    for (size_t at = 0; at < size; ++at) begin_part(tokens_.OfByte(piece[at]));
  } else {
    Begin(piece, size, begin_part);
  }
  const auto count = static_cast<uint32_t>(parts.size());
  // Pairs that may be merged, lowest first, then leftmost. One that is no longer what its part
  // makes with the next one is passed over.
  PooledVector<uint64_t> heap;
  heap.reserve(2 * size);  // a merge takes one away and adds two at most
  const auto find_pair = [&](uint32_t at) {
    const uint32_t next = parts[at].next;
    if (next == count) return kNone;
    return FindPair<kRules>(parts[at].token, parts[next].token, piece + at, parts[next].next - at);
  };
  for (uint32_t at = 0; at < count; ++at) {
    const bool bytes = begins_as_bytes_ && at + 1 < count;
    parts[at].pair = bytes ? pairs_[size_t{piece[at]} << 8 | piece[at + 1]] : find_pair(at);
    if (parts[at].pair != kNone) heap.push_back(uint64_t{parts[at].pair} << 32 | at);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto renew = [&](uint32_t at) {
    parts[at].pair = find_pair(at);
    if (parts[at].pair == kNone) return;
    heap.push_back(uint64_t{parts[at].pair} << 32 | at);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    CheckStop();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto at = static_cast<uint32_t>(heap.back());
    const auto pair = static_cast<uint32_t>(heap.back() >> 32);
    heap.pop_back();
    if (parts[at].pair != pair) continue;
    const uint32_t merged = parts[at].next;
    parts[at].token = Made<kRules>(pair);
    parts[at].next = parts[merged].next;
    parts[merged].pair = kNone;
    if (parts[at].next != count) parts[parts[at].next].before = at;
    renew(at);
    if (at > 0) renew(parts[at].before);
  }
  for (uint32_t at = 0; at < count; at = parts[at].next) *ids++ = tokens_.id(parts[at].token);
  return ids;
}

}  // namespace millhopper
