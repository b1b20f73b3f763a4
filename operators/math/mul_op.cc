// SPDX-License-Identifier: Apache-2.0
// mul: the product of X and Y as matrices.
#include "framework/program/infer_context.h"
#include "operators/math/matrix.h"
#include "operators/math/mul_shape.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return WithMulAttrs(OpSchema("The product of X and Y, seen as matrices.")
                          .Input("X", "float32 or float64")
                          .Input("Y", "type of X")
                          .Output("Out", "the rows of X by the columns of Y; X's levels of detail")
                          .Infer([](InferContext& context) {
                            context.SetOut("Out", {context.In("X").dtype, MulOutDims(context),
                                                   context.In("X").lod_level});
                          }));
}

void Run(OpContext& context) {
  const MulShape shape = MatchMul(context);
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* out = context.Out("Out");
    const StableInput x(context.In("X"), out), y(context.In("Y"), out);
    T* product = out->Allocate<T>(shape.out);
    Multiply<T>({x->data<T>(), shape.rows, shape.inner}, {y->data<T>(), shape.inner, shape.columns},
                product);
    CopyLod(*x, out);
  });
}

REGISTER_OPERATOR(mul, Schema, Run);

}  // namespace
}  // namespace millhopper
