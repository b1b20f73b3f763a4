// SPDX-License-Identifier: Apache-2.0
#include "framework/base/permutation.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace millhopper {
namespace {

constexpr uint64_t kRounds = 6;
constexpr size_t kSideBySide = 32;
constexpr size_t kListedAtOnce = 512;

struct Cipher {
  const RandomKey* key;
  uint64_t pass;
  int low_bits;
  uint64_t low_mask;
  uint64_t high_mask;
};

using Places = std::array<uint64_t, kSideBySide>;

// Encrypts places side by side. Its loops become vectors where the processor has such as multiply
// numbers of 64 bits.
template <size_t N>
[[gnu::always_inline]] inline void Encrypt(const Cipher& cipher, std::array<uint64_t, N>* places) {
  const RandomKey key = *cipher.key;
  std::array<uint64_t, N> low;
  std::array<uint64_t, N> high;
  for (size_t k = 0; k < N; ++k) low[k] = (*places)[k] & cipher.low_mask;
  for (size_t k = 0; k < N; ++k) high[k] = (*places)[k] >> cipher.low_bits;
  for (uint64_t round = 0; round < kRounds; round += 2) {
    for (size_t k = 0; k < N; ++k) {
      high[k] ^= key.Bits(cipher.pass, (round << 32) + low[k]) & cipher.high_mask;
    }
    for (size_t k = 0; k < N; ++k) {
      low[k] ^= key.Bits(cipher.pass, ((round + 1) << 32) + high[k]) & cipher.low_mask;
    }
  }
  for (size_t k = 0; k < N; ++k) (*places)[k] = (high[k] << cipher.low_bits) + low[k];
}

void EncryptAnywhere(const Cipher& cipher, Places* places) { Encrypt(cipher, places); }

[[gnu::target("avx512f,avx512dq")]] void EncryptByAvx512(const Cipher& cipher, Places* places) {
  Encrypt(cipher, places);
}

using EncryptPlaces = void (*)(const Cipher& cipher, Places* places);

// The fastest function of these on this processor. All give the same.
EncryptPlaces ChooseEncrypt() {
  return __builtin_cpu_supports("avx512dq") ? &EncryptByAvx512 : &EncryptAnywhere;
}

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
  const Cipher cipher{&key_, pass_, low_bits_, low_mask_, high_mask_};
  std::array<uint64_t, 1> place{i};
  do {
    Encrypt(cipher, &place);
  } while (place[0] >= n_);
  return place[0];
}

void Permutation::List(uint64_t first, size_t count, uint64_t* out) const {
  if (!listed_.empty()) {
    std::copy_n(listed_.begin() + static_cast<std::ptrdiff_t>(first), count, out);
    return;
  }
  for (; count > kListedAtOnce; first += kListedAtOnce, count -= kListedAtOnce) {
    ListSome(first, kListedAtOnce, out);
    out += kListedAtOnce;
  }
  ListSome(first, count, out);
}

// Those that are n or more are noted, and encrypted again side by side with others of that kind.
void Permutation::ListSome(uint64_t first, size_t count, uint64_t* out) const {
  static const EncryptPlaces encrypt = ChooseEncrypt();
  const Cipher cipher{&key_, pass_, low_bits_, low_mask_, high_mask_};
  Places places{};
  std::array<uint32_t, kListedAtOnce> beyond;
  size_t waiting = 0;
  for (size_t i = 0; i < count; i += kSideBySide) {
    for (size_t k = 0; k < kSideBySide; ++k) places[k] = first + i + k;
    encrypt(cipher, &places);
    for (size_t k = 0; k < std::min(count - i, kSideBySide); ++k) {
      out[i + k] = places[k];
      beyond[waiting] = static_cast<uint32_t>(i + k);
      waiting += places[k] >= n_ ? 1 : 0;
    }
  }
  while (waiting > 0) {
    size_t still_waiting = 0;
    for (size_t i = 0; i < waiting; i += kSideBySide) {
      const size_t taken = std::min(waiting - i, kSideBySide);
      for (size_t k = 0; k < taken; ++k) places[k] = out[beyond[i + k]];
      encrypt(cipher, &places);
      for (size_t k = 0; k < taken; ++k) {
        const uint32_t place = beyond[i + k];
        out[place] = places[k];
        beyond[still_waiting] = place;
        still_waiting += places[k] >= n_ ? 1 : 0;
      }
    }
    waiting = still_waiting;
  }
}

}  // namespace millhopper
