// SPDX-License-Identifier: Apache-2.0
// Random draws for tests, the same on every machine. The distributions of the standard library are
// not.
#ifndef MILLHOPPER_TESTS_CHAINS_DICE_H_
#define MILLHOPPER_TESTS_CHAINS_DICE_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace millhopper {

class Dice {
 public:
  explicit Dice(uint64_t seed) : bits_(seed) {}
  // Draws from low to high, both included.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int64_t n) { return Between(1, n) == 1; }
  std::string OneOf(const std::vector<std::string>& choices) {
    return choices[static_cast<size_t>(Between(0, static_cast<int64_t>(choices.size()) - 1))];
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_DICE_H_
