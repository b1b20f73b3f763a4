// SPDX-License-Identifier: Apache-2.0
// cross_entropy_grad: the gradient of cross_entropy.
#include "framework/base/attribute.h"
#include "operators/nn/last_axis.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("The gradient of cross_entropy.")
      .Input("X", "the X of cross_entropy")
      .Input("Label", "the Label of cross_entropy")
      .Input("Y@GRAD", "gradient of Y; dims of X with 1 as the last")
      .Output("X@GRAD", "dims, type and levels of detail of X; may be X")
      .Attr(SoftLabelAttr())
      .Infer(Like("X@GRAD", "X"));
}

void Run(OpContext& context) {
  const LastAxis shape = RowsOf(context, "X");
  const bool soft = HasSoftLabels(context, "X");
  RequireValuePerRow(context, "Y@GRAD", "X", shape.rows);
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!soft) ClassLabels(context, "X");
    LoDTensor* output = context.Out("X@GRAD");
    const StableInput label(context.In("Label"), output), dy_input(context.In("Y@GRAD"), output);
    const LoDTensor& input = context.In("X");
    T* dx = AllocateLike<T>(input, output);
    const T* x = input.data<T>();
    const T* dy = dy_input->data<T>();
    for (int64_t i = 0; i < shape.rows; ++i, x += shape.length, dx += shape.length) {
      const int64_t hot = soft ? -1 : label->data<int64_t>()[i];
      const T* weights = soft ? label->data<T>() + i * shape.length : nullptr;
      for (int64_t k = 0; k < shape.length; ++k) {
        const T weight = soft ? weights[k] : T(k == hot);
        dx[k] = weight == 0 ? T(0) : -dy[i] * weight / x[k];
      }
    }
  });
}

REGISTER_OPERATOR(cross_entropy_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
