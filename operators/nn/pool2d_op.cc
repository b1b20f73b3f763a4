// SPDX-License-Identifier: Apache-2.0
// pool2d: the highest value or the mean of windows of images.
#include "framework/program/infer_context.h"
#include "operators/nn/pooling.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return WithPool2dAttrs(
      OpSchema("The highest value, NaN above all numbers, or the mean of each window of each "
               "channel of images.")
          .Input("X", "images, float32 or float64 [N, C, H, W]")
          .Output("Out",
                  "[N, C, windows one below the other, and side by side]; X's levels of detail")
          .Infer([](InferContext& context) { context.SetOut("Out", InferPool2dOut(context)); }));
}

template <typename T>
T SumOf(const T* plane, int64_t width, const Area& area) {
  T sum = 0;
  for (int64_t row = area.top; row < area.bottom; ++row) {
    for (int64_t i = row * width + area.left; i < row * width + area.right; ++i) sum += plane[i];
  }
  return sum;
}

void Run(OpContext& context) {
  const Pooling pooling = MatchPool2d(context);
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* const output = context.Out("Out");
    const StableInput input(context.In("X"), output);
    T* const out = output->Allocate<T>(pooling.out_dims());
    const T* const x = input->template data<T>();
    if (pooling.is_max) {
      pooling.ForEachWindow([&](int64_t plane, const Area& area, int64_t place) {
        out[place] = x[plane + pooling.Highest(x + plane, area)];
      });
    } else {
      pooling.ForEachWindow([&](int64_t plane, const Area& area, int64_t place) {
        out[place] = SumOf(x + plane, pooling.width, area) / static_cast<T>(pooling.Count(area));
      });
    }
    CopyLod(*input, output);
  });
}

REGISTER_OPERATOR(pool2d, Schema, Run);

}  // namespace
}  // namespace millhopper
