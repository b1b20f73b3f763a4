// SPDX-License-Identifier: Apache-2.0
#include "framework/base/permutation.h"

#include <algorithm>
#include <numeric>
#include <tuple>
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

template <size_t N>
void Permutation::Encrypt(std::array<uint64_t, N>* places) const {
  std::array<uint64_t, N> low;
  std::array<uint64_t, N> high;
  for (size_t k = 0; k < N; ++k) {
    low[k] = (*places)[k] & low_mask_;
    high[k] = (*places)[k] >> low_bits_;
  }
  for (uint64_t round = 0; round < kRounds; round += 2) {
    for (size_t k = 0; k < N; ++k) {
      high[k] ^= key_.Bits(pass_, (round << 32) + low[k]) & high_mask_;
    }
    for (size_t k = 0; k < N; ++k) {
      low[k] ^= key_.Bits(pass_, ((round + 1) << 32) + high[k]) & low_mask_;
    }
  }
  for (size_t k = 0; k < N; ++k) (*places)[k] = (high[k] << low_bits_) + low[k];
}

uint64_t Permutation::Walk(uint64_t i) const {
  std::array<uint64_t, 1> place{i};
  do {
    Encrypt(&place);
  } while (place[0] >= n_);
  return place[0];
}

// Places that are n or more wait for one another, so that these are encrypted side by side, too.
void Permutation::List(uint64_t first, size_t count, uint64_t* out) const {
  if (!listed_.empty()) {
    std::copy_n(listed_.begin() + static_cast<std::ptrdiff_t>(first), count, out);
    return;
  }
  constexpr size_t kSideBySide = 8;
  std::array<uint64_t, kSideBySide> places{};
  std::array<size_t, kSideBySide> targets;
  std::array<std::pair<size_t, uint64_t>, 2 * kSideBySide> beyond;
  size_t waiting = 0;
  size_t next = 0;
  while (next < count || waiting > 0) {
    const bool again = waiting >= kSideBySide || next == count;
    const size_t taken =
        again ? std::min(waiting, kSideBySide) : std::min(count - next, kSideBySide);
    for (size_t k = 0; k < taken; ++k) {
      if (again) {
        std::tie(targets[k], places[k]) = beyond[--waiting];
      } else {
        targets[k] = next;
        places[k] = first + next++;
      }
    }
    Encrypt(&places);
    for (size_t k = 0; k < taken; ++k) {
      if (places[k] < n_) {
        out[targets[k]] = places[k];
      } else {
        beyond[waiting++] = {targets[k], places[k]};
      }
    }
  }
}

}  // namespace millhopper
