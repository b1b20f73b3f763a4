// SPDX-License-Identifier: Apache-2.0
// Random numbers without state: a function of (seeds, name, pass, sample) alone, so that no thread
// count, queue, order of calls or resume can change a stream.
#ifndef MILLHOPPER_FRAMEWORK_BASE_RANDOM_H_
#define MILLHOPPER_FRAMEWORK_BASE_RANDOM_H_

#include <cstdint>
#include <string>

#include "framework/base/record_id.h"

namespace millhopper {

// The version of everything that decides an order or a random value. Golden digests in the tests
// freeze it: a change of one of them raises this number.
constexpr int kOrderVersion = 2;

// A bijection of 64 bits in which every input bit flips half of the output bits (the finaliser of
// SplitMix64; Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// What the random numbers of one user are keyed by: the run's --seed, the operator's `seed`
// attribute and the name of the variable that the operator writes.
class RandomKey {
 public:
  RandomKey(uint64_t run_seed, uint64_t operator_seed, const std::string& name);
  // A key of the seeds alone, whose numbers are the same in all passes.
  static RandomKey OfSeeds(uint64_t run_seed, uint64_t operator_seed);

  // The key of one of several parts of the data, each of which draws its own numbers.
  RandomKey OfPart(uint64_t part) const;

  // 64 random bits for number `index` of pass `pass`.
  uint64_t Bits(uint64_t pass, uint64_t index) const {
    return MixBits(MixBits(key_ + pass * pass_step_) + (index + 1) * kStep);
  }
  // The key of the numbers of one element: its own for each pass, sample and part.
  RandomKey Of(const RecordId& id) const;
  // Uniform in [0, n), n > 0.
  uint64_t Below(uint64_t n, uint64_t pass, uint64_t index) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits(pass, index)) * n) >> 64);
  }

 private:
  explicit RandomKey(uint64_t key) : key_(key) {}

  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;  // 2^64 divided by the golden ratio
  uint64_t key_;
  uint64_t pass_step_ = kStep;  // 0 if passes do not count
};

// Uniform in [0, 1) with 24 and 53 bits.
inline float ToUnitFloat(uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }
inline double ToUnitDouble(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_RANDOM_H_
