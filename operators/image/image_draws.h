// SPDX-License-Identifier: Apache-2.0
// Random draws of operators on images: factors within a range, and whether an image is changed at
// all.
#ifndef MILLHOPPER_OPERATORS_IMAGE_IMAGE_DRAWS_H_
#define MILLHOPPER_OPERATORS_IMAGE_IMAGE_DRAWS_H_

#include <cstdint>
#include <string>

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
// Throws kInvalidArgument unless the float attribute `p` is from 0 to 1.
void RequireProbability(const AttributeMap& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_IMAGE_DRAWS_H_
