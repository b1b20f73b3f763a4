// SPDX-License-Identifier: Apache-2.0
// scale: X times a factor, plus a constant.
#include <cmath>

#include "framework/base/attribute.h"
#include "operators/math/elementwise.h"
#include "operators/support/conversion.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return UnarySchema("scale * X + bias. If X holds integers, scale and bias must be whole numbers.")
      .Attr({"scale", 1.0f, "the factor"})
      .Attr({"bias", 0.0f, "what is added"});
}

void Run(OpContext& context) {
  const float scale = context.Attr<float>("scale");
  const float bias = context.Attr<float>("bias");
  const DataType type = context.In("X").dtype();
  if (type == DataType::kInt32 || type == DataType::kInt64) {
    RequireInput(std::trunc(scale) == scale && std::trunc(bias) == bias, context, "X", "scale ",
                 scale, " and bias ", bias, " are not both whole numbers");
  }
  RunUnary(context, NumberTypes(), [=](auto x) {
    using T = decltype(x);
    return Convert<T>(scale) * x + Convert<T>(bias);
  });
}

REGISTER_OPERATOR(scale, Schema, Run);

}  // namespace
}  // namespace millhopper
