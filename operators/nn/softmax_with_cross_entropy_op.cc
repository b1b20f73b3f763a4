// SPDX-License-Identifier: Apache-2.0
// softmax_with_cross_entropy: softmax and the cross entropy of its result, in one operator.
#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "operators/nn/last_axis.h"
#include "operators/nn/softmax.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema(
             "The softmax of Logits, and the negative logarithm of what it gives to each row's "
             "label.")
      .Input("Logits", "float32 or float64, the classes along the last axis")
      .Input("Label",
             "int64 with 1 as the last dim; or, with soft_label, the dims and type of Logits")
      .Output("Softmax", "dims, type and levels of detail of Logits")
      .Output("Loss", "dims of Logits with 1 as the last; levels of detail of Logits")
      .Attr(SoftLabelAttr())
      .Infer([](InferContext& context) {
        RequireLabels(context, "Logits");
        context.SetOut("Softmax", context.In("Logits"));
        context.SetOut("Loss", WithLastAxis(context.In("Logits"), 1));
      });
}

void Run(OpContext& context) {
  const LastAxis shape = RowsOf(context, "Logits");
  const bool soft = HasSoftLabels(context, "Logits");
  DispatchType(FloatTypes(), context, "Logits", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!soft) ClassLabels(context, "Logits");
    LoDTensor* softmax_output = context.Out("Softmax");
    LoDTensor* loss_output = context.Out("Loss");
    const StableInput logits(context.In("Logits"), softmax_output, loss_output);
    const StableInput label(context.In("Label"), softmax_output, loss_output);
    T* softmax = AllocateLike<T>(*logits, softmax_output);
    T* loss = loss_output->Allocate<T>(WithLastAxis(logits->dims(), 1));
    const T* x = logits->data<T>();
    for (int64_t i = 0; i < shape.rows; ++i, x += shape.length, softmax += shape.length) {
      const SoftmaxScale<T> scale = Softmax(x, shape.length, softmax);
      if (!soft) {
        loss[i] = (scale.highest - x[label->data<int64_t>()[i]]) + scale.log_sum;
        continue;
      }
      const T* weights = label->data<T>() + i * shape.length;
      loss[i] = 0;
      for (int64_t k = 0; k < shape.length; ++k) {
        loss[i] += weights[k] * ((scale.highest - x[k]) + scale.log_sum);
      }
    }
    CopyLod(*logits, loss_output);
  });
}

REGISTER_OPERATOR(softmax_with_cross_entropy, Schema, Run);

}  // namespace
}  // namespace millhopper
