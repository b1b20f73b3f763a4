// SPDX-License-Identifier: Apache-2.0
// mean_grad: the gradient of mean.
#include <algorithm>

#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("The gradient of mean.")
      .Input("X", "the X of mean")
      .OptionalInput("Out", "not read")
      .Input("Out@GRAD", "gradient of Out, [1]")
      .Output("X@GRAD", "dims, type and levels of detail of X")
      .Infer(Like("X@GRAD", "X"));
}

void Run(OpContext& context) {
  RequireSameType(context, "Out@GRAD", "X");
  RequireInput(context.In("Out@GRAD").numel() == 1, context, "Out@GRAD", "dims [1] are needed");
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const LoDTensor& x = context.In("X");
    const int64_t count = x.numel();
    const T share = context.In("Out@GRAD").data<T>()[0] / static_cast<T>(count);
    std::fill_n(AllocateLike<T>(x, context.Out("X@GRAD")), count, share);
  });
}

REGISTER_OPERATOR(mean_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
