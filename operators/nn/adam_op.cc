// SPDX-License-Identifier: Apache-2.0
// adam: one step of the Adam optimizer (Kingma and Ba, 2015).
#include <cmath>

#include "framework/base/attribute.h"
#include "operators/nn/optimizer.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OptimizerSchema(
             "One step of Adam (Kingma and Ba, 2015): ParamOut = Param - LearningRate * "
             "sqrt(1 - Beta2Pow) / (1 - Beta1Pow) * Moment1Out / (sqrt(Moment2Out) + epsilon).")
      .Input("Moment1", "running mean of the gradients; dims and type of Param, 0 at first")
      .Input("Moment2", "running mean of their squares; dims and type of Param, 0 at first")
      .Input("Beta1Pow",
             "[1], type of Param: beta1 to the power of this step's number; the program "
             "updates it")
      .Input("Beta2Pow", "[1], the same for beta2")
      .Output("Moment1Out", "usually the variable of Moment1")
      .Output("Moment2Out", "usually the variable of Moment2")
      .Attr({"beta1", 0.9f, "the share of Moment1 that is kept"})
      .Attr({"beta2", 0.999f, "the share of Moment2 that is kept"})
      .Attr({"epsilon", 1e-8f, "keeps the divisor from 0"})
      .Infer(InferOptimizer({"Moment1", "Moment2"}));
}

void Run(OpContext& context) {
  CheckOptimizer(context, {"Moment1", "Moment2"});
  DispatchType(FloatTypes(), context, "Param", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T beta1 = context.Attr<float>("beta1");
    const T beta2 = context.Attr<float>("beta2");
    const T epsilon = context.Attr<float>("epsilon");
    const T rate = LearningRate<T>(context) * std::sqrt(1 - ScalarInput<T>(context, "Beta2Pow")) /
                   (1 - ScalarInput<T>(context, "Beta1Pow"));
    const LoDTensor& param_input = context.In("Param");
    T* moment1_out = AllocateLike<T>(param_input, context.Out("Moment1Out"));
    T* moment2_out = AllocateLike<T>(param_input, context.Out("Moment2Out"));
    T* param_out = AllocateLike<T>(param_input, context.Out("ParamOut"));
    const T* param = param_input.data<T>();
    const T* moment1 = context.In("Moment1").data<T>();
    const T* moment2 = context.In("Moment2").data<T>();
    const T* grad = context.In("Grad").data<T>();
    const int64_t count = param_input.numel();
    for (int64_t i = 0; i < count; ++i) {
      const T g = grad[i];
      const T m1 = beta1 * moment1[i] + (1 - beta1) * g;
      const T m2 = beta2 * moment2[i] + (1 - beta2) * g * g;
      param_out[i] = param[i] - rate * (m1 / (std::sqrt(m2) + epsilon));
      moment1_out[i] = m1;
      moment2_out[i] = m2;
    }
  });
}

REGISTER_OPERATOR(adam, Schema, Run);

}  // namespace
}  // namespace millhopper
