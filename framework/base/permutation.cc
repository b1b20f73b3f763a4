// SPDX-License-Identifier: Apache-2.0
#include "framework/base/permutation.h"

#include <numeric>
#include <utility>

namespace millhopper {
namespace {

constexpr uint64_t kRounds = 6;

}  // namespace

Permutation::Permutation(uint64_t n, const RandomKey& key, uint64_t pass)
    : n_(n), key_(key), pass_(pass) {
  if (n <= kMostListed) {
    listed_.resize(n);
    std::iota(listed_.begin(), listed_.end(), 0u);
    for (uint64_t i = n; i-- > 1;) std::swap(listed_[i], listed_[key.Below(i + 1, pass, i)]);
    return;
  }
  const int bits = 64 - __builtin_clzll(n - 1);
  low_bits_ = (bits + 1) / 2;
  low_mask_ = (uint64_t{1} << low_bits_) - 1;
  high_mask_ = (uint64_t{1} << (bits - low_bits_)) - 1;
}

uint64_t Permutation::Walk(uint64_t i) const {
  do {
    uint64_t low = i & low_mask_;
    uint64_t high = i >> low_bits_;
    for (uint64_t round = 0; round < kRounds; round += 2) {
      high ^= key_.Bits(pass_, (round << 32) + low) & high_mask_;
      low ^= key_.Bits(pass_, ((round + 1) << 32) + high) & low_mask_;
    }
    i = (high << low_bits_) + low;
  } while (i >= n_);
  return i;
}

}  // namespace millhopper
