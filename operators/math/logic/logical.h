// SPDX-License-Identifier: Apache-2.0
// The logical operators of two bools: X, Y -> Out.
#ifndef MILLHOPPER_OPERATORS_MATH_LOGIC_LOGICAL_H_
#define MILLHOPPER_OPERATORS_MATH_LOGIC_LOGICAL_H_

#include <string>
#include <utility>

#include "operators/support/arguments.h"

namespace millhopper {

inline OpSchema LogicalSchema(std::string doc) {
  return OpSchema(std::move(doc))
      .Input("X", "bool, any dims")
      .Input("Y", "bool, as many values as X")
      .Output("Out", "bool, dims and levels of detail of X; may be X or Y")
      .Infer(Like("Out", "X", DataType::kBool));
}

// Out = function(X, Y).
template <typename Function>
void RunLogical(OpContext& context, Function function) {
  RequireSameType(context, "Y", "X");
  const StableInput y_input(context.In("Y"), context.Out("Out"));
  RequireInput(y_input->numel() == context.In("X").numel(), context, "Y",
               "as many values as in 'X' are needed, ", context.In("X").numel());
  DispatchType(Types<bool>(), context, "X", [&](auto) {
    const LoDTensor& x_input = context.In("X");
    bool* out = AllocateLike<bool>(x_input, context.Out("Out"));
    const bool* x = x_input.data<bool>();
    const bool* y = y_input->data<bool>();
    const int64_t count = x_input.numel();
    for (int64_t i = 0; i < count; ++i) out[i] = function(x[i], y[i]);
  });
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATH_LOGIC_LOGICAL_H_
