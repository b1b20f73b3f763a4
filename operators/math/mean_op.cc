// SPDX-License-Identifier: Apache-2.0
// mean: the mean of all values.
#include <numeric>

#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("The mean of all values.")
      .Input("X", "float32 or float64, at least one value")
      .Output("Out", "[1], type of X")
      .Infer(OneLike("Out", "X"));
}

void Run(OpContext& context) {
  const LoDTensor& x = context.In("X");
  RequireInput(x.numel() > 0, context, "X", "at least one value is needed");
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = x.data<T>();
    const double sum = std::accumulate(values, values + x.numel(), 0.0);
    const auto mean = static_cast<T>(sum / static_cast<double>(x.numel()));
    *context.Out("Out")->Allocate<T>({1}) = mean;
  });
}

REGISTER_OPERATOR(mean, Schema, Run);

}  // namespace
}  // namespace millhopper
