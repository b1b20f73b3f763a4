// SPDX-License-Identifier: Apache-2.0
// cross_entropy: the negative logarithm of the probability of each label.
#include <cmath>

#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "operators/nn/last_axis.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("The negative logarithm of the probability that X gives to each row's label.")
      .Input("X", "probabilities, the classes along the last axis")
      .Input("Label", "int64 with 1 as the last dim; or, with soft_label, the dims and type of X")
      .Output("Y",
              "dims of X with 1 as the last; X's levels of detail; 1e20 for a probability of 0")
      .Attr(SoftLabelAttr())
      .Infer([](InferContext& context) {
        RequireLabels(context, "X");
        context.SetOut("Y", WithLastAxis(context.In("X"), 1));
      });
}

template <typename T>
T NegativeLog(T probability) {
  constexpr T kInstead = 1e20;
  const T value = -std::log(probability);
  return value > kInstead ? kInstead : value;
}

void Run(OpContext& context) {
  const LastAxis shape = RowsOf(context, "X");
  const bool soft = HasSoftLabels(context, "X");
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!soft) ClassLabels(context, "X");
    LoDTensor* output = context.Out("Y");
    const StableInput input(context.In("X"), output), label(context.In("Label"), output);
    T* y = output->Allocate<T>(WithLastAxis(input->dims(), 1));
    const T* x = input->data<T>();
    for (int64_t i = 0; i < shape.rows; ++i, x += shape.length) {
      if (!soft) {
        y[i] = NegativeLog(x[label->data<int64_t>()[i]]);
        continue;
      }
      const T* weights = label->data<T>() + i * shape.length;
      y[i] = 0;
      for (int64_t k = 0; k < shape.length; ++k) y[i] += weights[k] * NegativeLog(x[k]);
    }
    CopyLod(*input, output);
  });
}

REGISTER_OPERATOR(cross_entropy, Schema, Run);

}  // namespace
}  // namespace millhopper
