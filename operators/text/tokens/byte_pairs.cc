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

namespace millhopper {
namespace {

constexpr uint32_t kNone = TokenTable::kNone;
constexpr size_t kShortPiece = 64;  // up to which looking at all pairs for the lowest is faster
constexpr size_t kPieceSlots = size_t{1} << 13;

PooledVector<uint32_t> PairsOf(const TokenTable& tokens) {
  PooledVector<uint32_t> pairs(size_t{1} << 16);
  for (size_t pair = 0; pair < pairs.size(); ++pair) {
    const uint8_t bytes[] = {static_cast<uint8_t>(pair >> 8), static_cast<uint8_t>(pair)};
    pairs[pair] = tokens.Find(bytes, sizeof(bytes));
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
    : tokens_(std::move(tokens)), serial_(NextSerial()), pairs_(PairsOf(tokens_)) {
  for (size_t byte = 0; byte < 256; ++byte) {
    Require(tokens_.OfByte(static_cast<uint8_t>(byte)) != kNone, "the byte ", byte,
            " is no token of the vocabulary");
  }
}

size_t BytePairEncoder::Encode(PiecePattern pattern, const uint8_t* text, size_t size,
                               int32_t* ids) const {
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
    case PiecePattern::kNone:
      encode([](const uint8_t*, const uint8_t* text_end) { return text_end; });
      break;
  }
  return static_cast<size_t>(next - ids);
}

int32_t* BytePairEncoder::EncodePiece(const uint8_t* piece, size_t size, PieceCache* cache,
                                      int32_t* ids) const {
  if (size == 1) {
    *ids = tokens_.id(tokens_.OfByte(*piece));
    return ids + 1;
  }
  if (size > std::max(tokens_.longest(), PieceCache::kMostBytes)) {
    return size <= kShortPiece ? MergeShort(piece, size, ids) : MergeLong(piece, size, ids);
  }
  const uint64_t hash = HashOfBytes(piece, size);
  PieceCache::Slot* const slot = cache->At(hash ^ serial_);
  if (slot->serial == serial_ && slot->size == size &&
      std::memcmp(slot->bytes.data(), piece, size) == 0) {
    for (size_t i = 0; i < slot->count; ++i) ids[i] = slot->ids[i];
    return ids + slot->count;
  }
  const uint32_t token = tokens_.Find(piece, size, hash);
  int32_t* end = ids;
  if (token != kNone) {
    *end++ = tokens_.id(token);
  } else {
    end = size <= kShortPiece ? MergeShort(piece, size, ids) : MergeLong(piece, size, ids);
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

int32_t* BytePairEncoder::MergeShort(const uint8_t* piece, size_t size, int32_t* ids) const {
  // Part i is the token tokens[i], from begins[i] up to begins[i + 1]; pairs[i] is the token that
  // it makes with the part after it.
  std::array<uint8_t, kShortPiece + 1> begins;
  std::array<uint32_t, kShortPiece> tokens, pairs;
  size_t parts = size;
  for (size_t i = 0; i < size; ++i) {
    begins[i] = static_cast<uint8_t>(i);
    tokens[i] = tokens_.OfByte(piece[i]);
    pairs[i] = i + 1 < size ? pairs_[size_t{piece[i]} << 8 | piece[i + 1]] : kNone;
  }
  begins[size] = static_cast<uint8_t>(size);
  const auto find_pair = [&](size_t i) {
    return i + 1 < parts ? tokens_.Find(piece + begins[i], size_t{begins[i + 2]} - begins[i])
                         : kNone;
  };
  for (;;) {
    const auto lowest = std::min_element(pairs.begin(), pairs.begin() + parts);
    if (*lowest == kNone) break;
    const auto i = static_cast<size_t>(lowest - pairs.begin());
    tokens[i] = *lowest;
    std::copy(tokens.begin() + i + 2, tokens.begin() + parts, tokens.begin() + i + 1);
    std::copy(pairs.begin() + i + 2, pairs.begin() + parts, pairs.begin() + i + 1);
    std::copy(begins.begin() + i + 2, begins.begin() + parts + 1, begins.begin() + i + 1);
    --parts;
    pairs[i] = find_pair(i);
    if (i > 0) pairs[i - 1] = find_pair(i - 1);
  }
  for (size_t i = 0; i < parts; ++i) *ids++ = tokens_.id(tokens[i]);
  return ids;
}

int32_t* BytePairEncoder::MergeLong(const uint8_t* piece, size_t size, int32_t* ids) const {
  // A part is known by the byte that it begins with; parts are linked both ways.
  struct Part {
    uint32_t before, next;
    uint32_t token, pair;
  };
  Require(size < kNone, "a piece of text of ", size, " bytes; the limit is ", kNone - 1);
  const auto count = static_cast<uint32_t>(size);
  PooledVector<Part> parts(size);
  // Pairs that may be merged, lowest token first, then leftmost. One that is no longer what its
  // part makes with the next one is passed over.
  PooledVector<uint64_t> heap;
  heap.reserve(2 * size);  // a merge takes one away and adds two at most
  const auto key = [&parts](uint32_t at) { return uint64_t{parts[at].pair} << 32 | at; };
  for (uint32_t at = 0; at < count; ++at) {
    const uint32_t pair = at + 1 < count ? pairs_[size_t{piece[at]} << 8 | piece[at + 1]] : kNone;
    parts[at] = {at - 1, at + 1, tokens_.OfByte(piece[at]), pair};
    if (pair != kNone) heap.push_back(key(at));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto renew = [&](uint32_t at) {
    const uint32_t next = parts[at].next;
    parts[at].pair = next == count ? kNone : tokens_.Find(piece + at, parts[next].next - at);
    if (parts[at].pair == kNone) return;
    heap.push_back(key(at));
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
    parts[at].token = pair;
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
