// SPDX-License-Identifier: Apache-2.0
// The merges of a byte pair encoding, by the two tokens that are merged.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_PAIR_TABLE_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_PAIR_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "framework/memory/buffer.h"
#include "operators/text/tokens/token_table.h"

namespace millhopper {

constexpr size_t kMaxMerges = (size_t{1} << 22) - 1;

// Merges are numbered by their rank: the lowest is done first. Its memory counts towards the limit.
// Immutable once it is full; any thread.
class PairTable {
 public:
  static constexpr uint32_t kNone = TokenTable::kNone;

  PairTable() : entries_(kFewestEntries) {}

  // Adds the merge of the next number: these two tokens become `made`. If they become one already,
  // they become this one from now on. There must be no more than kMaxMerges.
  void Add(uint32_t left, uint32_t right, uint32_t made) {
    if (2 * (made_.size() + 1) > entries_.size()) Grow();
    const uint64_t key = KeyOf(left, right);
    made_.push_back(made);
    *PlaceOf(key) = key | made_.size();
  }

  size_t size() const { return made_.size(); }
  // The merge of these two tokens; kNone if there is none.
  uint32_t Find(uint32_t left, uint32_t right) const {
    const uint64_t key = KeyOf(left, right);
    const auto mask = entries_.size() - 1;
    for (size_t place = HashOf(key) & mask;; place = (place + 1) & mask) {
      const uint64_t entry = entries_[place];
      if (entry == 0) return kNone;
      if ((entry & ~kMaxMerges) == key) return static_cast<uint32_t>(entry & kMaxMerges) - 1;
    }
  }
  // The token that a merge makes.
  uint32_t made(uint32_t merge) const { return made_[merge]; }

 private:
  static constexpr size_t kFewestEntries = 1024;  // a power of two, as every size of the table

  // Two tokens take the upper 42 bits, the number of the merge and 1 the lower 22; 0 is free.
  static_assert(kMaxTokens <= size_t{1} << 21 && kMaxMerges < size_t{1} << 22);
  static uint64_t KeyOf(uint32_t left, uint32_t right) {
    return uint64_t{left} << 43 | uint64_t{right} << 22;
  }
  static size_t HashOf(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(key ^ key >> 32);
  }
  uint64_t* PlaceOf(uint64_t key) {
    const auto mask = entries_.size() - 1;
    size_t place = HashOf(key) & mask;
    while (entries_[place] != 0 && (entries_[place] & ~kMaxMerges) != key) {
      place = (place + 1) & mask;
    }
    return &entries_[place];
  }
  void Grow() {
    PooledVector<uint64_t> old(2 * entries_.size());
    old.swap(entries_);
    for (const uint64_t entry : old) {
      if (entry != 0) *PlaceOf(entry & ~kMaxMerges) = entry;
    }
  }

  PooledVector<uint64_t> entries_;  // at most half of them are taken
  PooledVector<uint32_t> made_;     // by merge
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_PAIR_TABLE_H_
