// SPDX-License-Identifier: Apache-2.0
// clip: X held between two bounds.
#include <cmath>
#include <limits>
#include <type_traits>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return UnarySchema("X held between two bounds, value by value; NaN stays NaN.")
      .Attr(AttributeSchema("min", 0.0, "the lower bound; by default there is none").Optional())
      .Attr(AttributeSchema("max", 0.0, "the upper bound; by default there is none").Optional());
}

// The lowest or highest value of the type that the bound allows.
template <typename T>
T BoundAs(double bound, bool is_lower) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(bound);
  } else {
    const double whole = is_lower ? std::ceil(bound) : std::floor(bound);
    if (whole <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    if (whole >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(whole);
  }
}

void Run(OpContext& context) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double min = context.IsGiven("min") ? context.Attr<double>("min") : -kNone;
  const double max = context.IsGiven("max") ? context.Attr<double>("max") : kNone;
  Require(min <= max, "attribute 'min' is ", min, ", and 'max' is ", max);
  RunUnary(context, NumberTypes(), [=](auto x) {
    using T = decltype(x);
    const T low = BoundAs<T>(min, true);
    const T high = BoundAs<T>(max, false);
    return x < low ? low : x > high ? high : x;
  });
}

REGISTER_OPERATOR(clip, Schema, Run);

}  // namespace
}  // namespace millhopper
