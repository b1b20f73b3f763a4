// SPDX-License-Identifier: Apache-2.0
// pool2d_grad: the gradient of pool2d.
#include <algorithm>
#include <optional>

#include "framework/program/infer_context.h"
#include "operators/nn/pooling.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return WithPool2dAttrs(
      OpSchema("The gradient of pool2d. That of a highest value goes to the first of equal ones, "
               "that of a mean to all values of the window alike.")
          .Input("X", "the X of pool2d")
          .OptionalInput("Out", "not read")
          .Input("Out@GRAD", "gradient of Out, type and dims of it")
          .Output("X@GRAD", "type, dims and levels of detail of X")
          .Infer([](InferContext& context) {
            const Dims out = *InferPool2dOut(context).dims;
            context.RequireSameType("Out@GRAD", "X");
            const std::optional<Dims>& dims = context.In("Out@GRAD").dims;
            if (dims && !MayBeSame(*dims, out)) {
              context.ThrowUnfit("Out@GRAD", StrCat("dims ", ToString(out), " are needed"));
            }
            context.SetOut("X@GRAD", context.In("X"));
          }));
}

void Run(OpContext& context) {
  const Pooling pooling = MatchPool2d(context);
  RequireSameType(context, "Out@GRAD", "X");
  RequireInput(context.In("Out@GRAD").dims() == pooling.out_dims(), context, "Out@GRAD", "dims ",
               ToString(pooling.out_dims()), " are needed");
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* const gradient = context.Out("X@GRAD");
    const StableInput input(context.In("X"), gradient), output(context.In("Out@GRAD"), gradient);
    T* const dx = gradient->Allocate<T>(input->dims());
    const T* const x = input->template data<T>();
    const T* const dout = output->template data<T>();
    std::fill_n(dx, gradient->numel(), T{0});
    if (pooling.is_max) {
      pooling.ForEachWindow([&](int64_t plane, const Area& area, int64_t place) {
        dx[plane + pooling.Highest(x + plane, area)] += dout[place];
      });
    } else {
      pooling.ForEachWindow([&](int64_t plane, const Area& area, int64_t place) {
        const T share = dout[place] / static_cast<T>(pooling.Count(area));
        for (int64_t row = area.top; row < area.bottom; ++row) {
          T* const values = dx + plane + row * pooling.width;
          for (int64_t i = area.left; i < area.right; ++i) values[i] += share;
        }
      });
    }
    CopyLod(*input, gradient);
  });
}

REGISTER_OPERATOR(pool2d_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
