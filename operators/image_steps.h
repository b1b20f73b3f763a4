// SPDX-License-Identifier: Apache-2.0
// What the attributes of operators on images ask for. Each step is read from checked attributes
// once, and says what becomes of an image without touching its pixels, so that an operator and a
// fused run of several operators do the same.
#ifndef MILLHOPPER_OPERATORS_IMAGE_STEPS_H_
#define MILLHOPPER_OPERATORS_IMAGE_STEPS_H_

#include <cstdint>

#include "framework/base/random.h"

namespace millhopper {

class AttributeMap;

// flip: mirrors an image with a probability.
struct FlipStep {
  explicit FlipStep(const AttributeMap& attributes);
  // Whether image i is mirrored.
  bool Draw(const RandomKey& key, uint64_t i) const { return ToUnitFloat(key.Bits(i, 0)) < p; }

  bool horizontal;
  float p;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_STEPS_H_
