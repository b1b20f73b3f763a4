// SPDX-License-Identifier: Apache-2.0
// elementwise_div: X divided by Y, value by value.
#include <type_traits>

#include "operators/math/elementwise.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return BinarySchema(
      "X divided by Y, value by value. Quotients of integers are rounded towards zero; an integer "
      "divided by zero is an error.");
}

template <typename T>
T Divide(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    Require(y != 0, "an integer is divided by zero");
    if (y == -1) return 0 - x;  // lowest / -1 does not fit the type and would trap
  }
  return x / y;
}

void Run(OpContext& context) {
  RunBinary(context, NumberTypes(), [](auto x, auto y) { return Divide(x, y); });
}

REGISTER_OPERATOR(elementwise_div, Schema, Run);

}  // namespace
}  // namespace millhopper
