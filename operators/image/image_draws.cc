// SPDX-License-Identifier: Apache-2.0
#include "operators/image/image_draws.h"

#include <cmath>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"

namespace millhopper {

DrawnRange RangeAround(const AttributeMap& attributes, const std::string& name, double centre) {
  const auto& given = attributes.Get<std::vector<float>>(name);
  Require(given.size() <= 2, "attribute '", name, "' has ", given.size(),
          " values; it is one, or the lowest and the highest");
  for (const float value : given) {
    Require(std::isfinite(value), "attribute '", name, "' has the value ", value,
            "; it must be finite");
  }
  DrawnRange range{centre, centre};
  if (given.size() == 1) range = {centre - given[0], centre + given[0]};
  if (given.size() == 2) range = {given[0], given[1]};
  Require(range.low <= range.high, "attribute '", name, "' asks for the range from ", range.low,
          " to ", range.high, "; the lowest comes first");
  return range;
}

void RequireProbability(const AttributeMap& attributes) {
  const float p = attributes.Get<float>("p");
  Require(p >= 0 && p <= 1, "attribute 'p' is ", p, "; a probability is from 0 to 1");
}

}  // namespace millhopper
