// SPDX-License-Identifier: Apache-2.0
// increment: adds a step to one number.
#include "framework/base/attribute.h"
#include "operators/math/elementwise.h"
#include "operators/support/conversion.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("Adds a step to one number.")
      .Input("X", "one value")
      .Output("Out", "dims and type of X; usually X itself")
      .Attr({"step", 1.0f, "what is added, cast to the type of X"})
      .Infer(Like("Out", "X"));
}

void Run(OpContext& context) {
  RequireInput(context.In("X").numel() == 1, context, "X", "one value is needed");
  const float step = context.Attr<float>("step");
  RunUnary(context, NumberTypes(), [=](auto x) { return x + Convert<decltype(x)>(step); });
}

REGISTER_OPERATOR(increment, Schema, Run);

}  // namespace
}  // namespace millhopper
