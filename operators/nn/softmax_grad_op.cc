// SPDX-License-Identifier: Apache-2.0
// softmax_grad: the gradient of softmax from the Out of softmax.
#include "operators/math/elementwise.h"
#include "operators/nn/last_axis.h"
#include "operators/nn/softmax.h"

namespace millhopper {
namespace {

OpSchema Schema() { return ActivationGradSchema("softmax"); }

void Run(OpContext& context) {
  RequireSameShape(context, "Out@GRAD", "Out");
  const LastAxis shape = RowsOf(context, "Out");
  DispatchType(FloatTypes(), context, "Out", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const LoDTensor& output = context.In("Out");
    T* dx = AllocateLike<T>(output, context.Out("X@GRAD"));
    const T* out = output.data<T>();
    const T* dout = context.In("Out@GRAD").data<T>();
    for (int64_t i = 0; i < shape.rows * shape.length; i += shape.length) {
      const T sum = SoftmaxGradSum(out + i, dout + i, shape.length);
      for (int64_t k = i; k < i + shape.length; ++k) dx[k] = out[k] * (dout[k] - sum);
    }
  });
}

REGISTER_OPERATOR(softmax_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
