// SPDX-License-Identifier: Apache-2.0
// sgd: one step of stochastic gradient descent.
#include "operators/nn/optimizer.h"

namespace millhopper {
namespace {

OpSchema Schema() { return OptimizerSchema("ParamOut = Param - LearningRate * Grad."); }

void Run(OpContext& context) {
  CheckOptimizer(context, {});
  DispatchType(FloatTypes(), context, "Param", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T rate = LearningRate<T>(context);
    const LoDTensor& param_input = context.In("Param");
    T* out = AllocateLike<T>(param_input, context.Out("ParamOut"));
    const T* param = param_input.data<T>();
    const T* grad = context.In("Grad").data<T>();
    const int64_t count = param_input.numel();
    for (int64_t i = 0; i < count; ++i) out[i] = param[i] - rate * grad[i];
  });
}

REGISTER_OPERATOR(sgd, Schema, Run);

}  // namespace
}  // namespace millhopper
