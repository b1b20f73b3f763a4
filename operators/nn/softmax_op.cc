// SPDX-License-Identifier: Apache-2.0
// softmax: e^X, scaled so that each row along the last axis sums to 1.
#include "operators/math/elementwise.h"
#include "operators/nn/last_axis.h"
#include "operators/nn/softmax.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return UnarySchema("e^X, scaled so that each row along the last axis sums to 1.");
}

void Run(OpContext& context) {
  const LastAxis shape = RowsOf(context, "X");
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const LoDTensor& input = context.In("X");
    T* out = AllocateLike<T>(input, context.Out("Out"));
    const T* x = input.data<T>();
    for (int64_t i = 0; i < shape.rows; ++i) {
      Softmax(x + i * shape.length, shape.length, out + i * shape.length);
    }
  });
}

REGISTER_OPERATOR(softmax, Schema, Run);

}  // namespace
}  // namespace millhopper
