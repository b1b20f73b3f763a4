// SPDX-License-Identifier: Apache-2.0
// mul_grad: the gradient of mul.
#include "framework/program/infer_context.h"
#include "operators/math/matrix.h"
#include "operators/math/mul_shape.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return WithMulAttrs(
      OpSchema("The gradient of mul.")
          .Input("X", "the X of mul")
          .Input("Y", "the Y of mul")
          .OptionalInput("Out", "not read")
          .Input("Out@GRAD", "gradient of Out; the rows of X by the columns of Y")
          .OptionalOutput("X@GRAD", "Out@GRAD times Y transposed; X's levels of detail")
          .OptionalOutput("Y@GRAD", "X transposed times Out@GRAD")
          .Infer([](InferContext& context) {
            MulOutDims(context);
            context.SetOut("X@GRAD", context.In("X"));
            context.SetOut("Y@GRAD", context.In("Y"));
          }));
}

void Run(OpContext& context) {
  const MulShape shape = MatchMul(context);
  RequireSameType(context, "Out@GRAD", "X");
  if (context.In("Out@GRAD").numel() != shape.rows * shape.columns) {
    ThrowUnfit(context, "Out@GRAD", StrCat("dims ", ToString(shape.out), " are needed"));
  }
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* dx = IsWanted(context, "X@GRAD") ? context.Out("X@GRAD") : nullptr;
    LoDTensor* dy = IsWanted(context, "Y@GRAD") ? context.Out("Y@GRAD") : nullptr;
    const StableInput x(context.In("X"), dx, dy), y(context.In("Y"), dx, dy);
    const StableInput dout(context.In("Out@GRAD"), dx, dy);
    const Matrix<T> x_matrix{x->template data<T>(), shape.rows, shape.inner};
    const Matrix<T> y_matrix{y->template data<T>(), shape.inner, shape.columns};
    const Matrix<T> dout_matrix{dout->template data<T>(), shape.rows, shape.columns};
    if (dx != nullptr) {
      T* product = dx->Allocate<T>(x->dims());
      Multiply<T>(dout_matrix, Transposed(y_matrix), product);
      CopyLod(*x, dx);
    }
    if (dy != nullptr) {
      T* product = dy->Allocate<T>(y->dims());
      Multiply<T>(Transposed(x_matrix), dout_matrix, product);
      CopyLod(*y, dy);
    }
  });
}

REGISTER_OPERATOR(mul_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
