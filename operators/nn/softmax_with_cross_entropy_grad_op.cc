// SPDX-License-Identifier: Apache-2.0
// softmax_with_cross_entropy_grad: the gradient of softmax_with_cross_entropy.
#include <numeric>

#include "framework/base/attribute.h"
#include "framework/program/scope.h"
#include "operators/nn/last_axis.h"
#include "operators/nn/softmax.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("The gradient of softmax_with_cross_entropy.")
      .Input("Label", "the Label of softmax_with_cross_entropy")
      .Input("Softmax", "what softmax_with_cross_entropy wrote")
      .OptionalInput("Loss", "not read")
      .OptionalInput("Softmax@GRAD", "gradient of Softmax; used if it has a value")
      .Input("Loss@GRAD", "gradient of Loss; one value for each row")
      .Output("Logits@GRAD", "dims, type and levels of detail of Softmax; may be Softmax")
      .Attr(SoftLabelAttr())
      .Infer(Like("Logits@GRAD", "Softmax"));
}

void Run(OpContext& context) {
  const LastAxis shape = RowsOf(context, "Softmax");
  const bool soft = HasSoftLabels(context, "Softmax");
  const bool both =
      context.InCount("Softmax@GRAD") > 0 && context.InVar("Softmax@GRAD").has_value();
  if (both) RequireSameShape(context, "Softmax@GRAD", "Softmax");
  RequireValuePerRow(context, "Loss@GRAD", "Softmax", shape.rows);
  DispatchType(FloatTypes(), context, "Softmax", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!soft) ClassLabels(context, "Softmax");
    LoDTensor* output = context.Out("Logits@GRAD");
    const StableInput label(context.In("Label"), output), dloss(context.In("Loss@GRAD"), output);
    const LoDTensor& input = context.In("Softmax");
    T* dx = AllocateLike<T>(input, output);
    const T* softmax = input.data<T>();
    const T* dsoftmax = both ? context.In("Softmax@GRAD").data<T>() : nullptr;
    for (int64_t i = 0; i < shape.rows; ++i) {
      const int64_t first = i * shape.length;
      const int64_t hot = soft ? -1 : label->data<int64_t>()[i];
      const T* weights = soft ? label->data<T>() + first : nullptr;
      // Soft labels need not sum to 1.
      const T total = soft ? std::accumulate(weights, weights + shape.length, T(0)) : T(1);
      const T scale = dloss->data<T>()[i];
      const T sum = both ? SoftmaxGradSum(softmax + first, dsoftmax + first, shape.length) : T(0);
      for (int64_t k = 0; k < shape.length; ++k) {
        const T value = softmax[first + k];
        const T weight = soft ? weights[k] : T(k == hot);
        const T through_softmax = both ? value * (dsoftmax[first + k] - sum) : T(0);
        dx[first + k] = (value * total - weight) * scale + through_softmax;
      }
    }
  });
}

REGISTER_OPERATOR(softmax_with_cross_entropy_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
