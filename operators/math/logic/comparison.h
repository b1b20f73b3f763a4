// SPDX-License-Identifier: Apache-2.0
// The comparison operators: X, Y -> Out, one bool for each value of X.
#ifndef MILLHOPPER_OPERATORS_MATH_LOGIC_COMPARISON_H_
#define MILLHOPPER_OPERATORS_MATH_LOGIC_COMPARISON_H_

#include <cmath>
#include <string>
#include <type_traits>

#include "framework/base/attribute.h"
#include "operators/math/elementwise.h"

namespace millhopper {

// `relation` completes the sentence "Whether each value of X <relation> the value of Y".
inline OpSchema ComparisonSchema(const std::string& relation) {
  return BinarySchema("Whether each value of X " + relation +
                      " the value of Y that is paired with it.")
      .Attr({"force_cpu", true, "accepted for older programs; Out is always on the CPU"})
      .Infer(LikeBroadcast({{"Out", "X"}}, DataType::kBool));
}

template <typename Function>
void RunComparison(OpContext& context, Function function) {
  RunBinary(context, NumberTypes(), function);
}

// Equality as in the lineage: floats are equal when they differ by less than 1e-8.
template <typename T>
bool AreEqual(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return x == y || std::abs(x - y) < T(1e-8);
  } else {
    return x == y;
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATH_LOGIC_COMPARISON_H_
