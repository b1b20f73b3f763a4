// SPDX-License-Identifier: Apache-2.0
// A random order of any number of things, in constant memory.
#ifndef MILLHOPPER_FRAMEWORK_BASE_PERMUTATION_H_
#define MILLHOPPER_FRAMEWORK_BASE_PERMUTATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "framework/base/random.h"

namespace millhopper {

// A permutation of 0, 1 ... n - 1, which the key and the pass decide; kOrderVersion freezes it.
//
// Up to kMostListed places are shuffled as a list (Fisher and Yates): from the last place down,
// each is exchanged with place key.Below(i + 1, pass, i). Of more, place i is found by encrypting
// it: the smallest number of bits b that holds n - 1 is cut into a low half of ceil(b / 2) bits and
// a high half, and six times in turn one half is combined by exclusive or with the low bits of
// key.Bits(pass, 2^32 * round + the other half), the high half first; if the result is n or more,
// it is encrypted again (cycle walking), less than twice on average.
//
// Source: Black and Rogaway, "Ciphers with arbitrary finite domains", 2002.
class Permutation {
 public:
  static constexpr uint64_t kMostListed = 4096;

  Permutation(uint64_t n, const RandomKey& key, uint64_t pass);

  // What stands at place i, i < n. Any thread.
  uint64_t operator[](uint64_t i) const { return listed_.empty() ? Walk(i) : listed_[i]; }
  // What stands at places first, first + 1 ... first + count - 1 <= n - 1. Several times as fast as
  // one after another. Any thread.
  void List(uint64_t first, size_t count, uint64_t* out) const;

 private:
  uint64_t Walk(uint64_t i) const;
  void ListSome(uint64_t first, size_t count, uint64_t* out) const;

  uint64_t n_;
  RandomKey key_;
  uint64_t pass_;
  int low_bits_ = 0;
  uint64_t low_mask_ = 0, high_mask_ = 0;
  std::vector<uint32_t> listed_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_PERMUTATION_H_
