// SPDX-License-Identifier: Apache-2.0
// Random draws of operators on images: factors within a range, and whether an image is changed at
// all.
#ifndef MILLHOPPER_OPERATORS_IMAGE_IMAGE_DRAWS_H_
#define MILLHOPPER_OPERATORS_IMAGE_IMAGE_DRAWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "framework/base/random.h"

namespace millhopper {

class AttributeMap;

// The numbers from low to high.
struct DrawnRange {
  double low = 0;
  double high = 0;

  double At(uint64_t bits) const { return low + (high - low) * ToUnitDouble(bits); }
};

// The range that a list of floats asks for: {low, high}, or {d} for the range from centre - d to
// centre + d; nothing for the centre alone. Throws kInvalidArgument if the list has more values,
// a value is not finite, or low is above high.
DrawnRange RangeAround(const AttributeMap& attributes, const std::string& name, double centre);
// The numbers below `count`, at most kMost, in an order that is drawn for image i: for k = count -
// 1, ..., 1 the number at place k changes with the one at the place that draw first + count - 1 - k
// chooses among 0 to k.
template <size_t kMost>
std::array<size_t, kMost> DrawnOrder(const RandomKey& key, uint64_t i, uint64_t first,
                                     size_t count) {
  std::array<size_t, kMost> order;
  for (size_t k = 0; k < kMost; ++k) order[k] = k;
  for (size_t k = count; k-- > 1;) {
    std::swap(order[k], order[key.Below(k + 1, i, first + count - 1 - k)]);
  }
  return order;
}

// A number of the standard normal distribution, made of random bits, and of further ones that are
// made of these where they do not suffice (Source: Marsaglia and Tsang, "The Ziggurat Method for
// Generating Random Variables", 2000; of 128 layers, in double).
double NormalOf(uint64_t bits);
// The logarithm of a number of the distribution Gamma(alpha, 1), made of draws 0 and up of `which`
// (Source: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000). That of a
// small alpha may be too small for a double, its logarithm is not.
double LogGammaOf(const RandomKey& key, uint64_t which, double alpha);
// Throws kInvalidArgument unless the float attribute `alpha`, of such numbers, is from 0.001 to
// 1000.
void RequireAlpha(const AttributeMap& attributes);

// Throws kInvalidArgument unless the float attribute `p` is from 0 to 1.
void RequireProbability(const AttributeMap& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_IMAGE_DRAWS_H_
