// SPDX-License-Identifier: Apache-2.0
// reshape_grad: the gradient of reshape: Out@GRAD with the dims of X.
#include <vector>

#include "framework/base/attribute.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("The gradient of reshape: Out@GRAD with the dims of X.")
      .Input("X", "the X of reshape")
      .OptionalInput("Out", "not read")
      .Input("Out@GRAD", "gradient of Out")
      .Output("X@GRAD", "dims and levels of detail of X; may be Out@GRAD")
      .Attr(AttributeSchema("shape", std::vector<int32_t>{}, "the shape of reshape; not read"))
      .Infer(Like("X@GRAD", "X"));
}

void Run(OpContext& context) {
  const LoDTensor& dout = context.In("Out@GRAD");
  RequireSameType(context, "Out@GRAD", "X");
  RequireInput(dout.numel() == context.In("X").numel(), context, "Out@GRAD",
               "as many values as in 'X' are needed, ", context.In("X").numel());
  LoDTensor* out = context.Out("X@GRAD");
  const StableInput x(context.In("X"), out);
  if (out != &dout) *out = dout;
  out->Reshape(x->dims());
  CopyLod(*x, out);
}

REGISTER_OPERATOR(reshape_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
