// SPDX-License-Identifier: Apache-2.0
// momentum: one step of gradient descent with momentum.
#include "framework/base/attribute.h"
#include "operators/nn/optimizer.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OptimizerSchema(
             "VelocityOut = mu * Velocity + Grad; ParamOut = Param - LearningRate * VelocityOut, "
             "with Nesterov's look-ahead Param - LearningRate * (Grad + mu * VelocityOut).")
      .Input("Velocity", "dims and type of Param; 0 at first")
      .Output("VelocityOut", "usually the variable of Velocity")
      .Attr(AttributeSchema("mu", 0.0f, "the share of the velocity that is kept").Required())
      .Attr({"use_nesterov", false, "whether to look ahead"})
      .Infer(InferOptimizer({"Velocity"}));
}

void Run(OpContext& context) {
  CheckOptimizer(context, {"Velocity"});
  DispatchType(FloatTypes(), context, "Param", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T rate = LearningRate<T>(context);
    const T mu = context.Attr<float>("mu");
    const bool nesterov = context.Attr<bool>("use_nesterov");
    const LoDTensor& param_input = context.In("Param");
    const LoDTensor& velocity_input = context.In("Velocity");
    T* velocity_out = AllocateLike<T>(velocity_input, context.Out("VelocityOut"));
    T* param_out = AllocateLike<T>(param_input, context.Out("ParamOut"));
    const T* param = param_input.data<T>();
    const T* velocity = velocity_input.data<T>();
    const T* grad = context.In("Grad").data<T>();
    const int64_t count = param_input.numel();
    for (int64_t i = 0; i < count; ++i) {
      const T g = grad[i];
      const T v = mu * velocity[i] + g;
      param_out[i] = param[i] - rate * (nesterov ? g + mu * v : v);
      velocity_out[i] = v;
    }
  });
}

REGISTER_OPERATOR(momentum, Schema, Run);

}  // namespace
}  // namespace millhopper
