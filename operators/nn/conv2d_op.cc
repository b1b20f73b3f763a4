// SPDX-License-Identifier: Apache-2.0
// conv2d: images convolved with filters.
#include "framework/program/infer_context.h"
#include "operators/nn/convolution.h"
#include "operators/nn/parallel_parts.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return WithConv2dAttrs(
      OpSchema("The convolution of images with filters: each value is the sum of the products of "
               "a filter, which is not mirrored, with the pixels of a window of the image. The "
               "bits are the same for any number of threads.")
          .Input("Input", "images, float32 or float64 [N, C, H, W]")
          .Input("Filter", "filters, type of Input, [O, C / groups, height, width]")
          .Output("Output",
                  "[N, O, windows that fit one below the other, and side by side]; Input's levels "
                  "of detail")
          .Infer(
              [](InferContext& context) { context.SetOut("Output", InferConv2dOutput(context)); }));
}

void Run(OpContext& context) {
  const Convolution convolution = MatchConv2d(context);
  DispatchType(FloatTypes(), context, "Input", [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* const output = context.Out("Output");
    const StableInput input(context.In("Input"), output), filter(context.In("Filter"), output);
    T* const out = output->Allocate<T>(convolution.out_dims());
    const T* const values = input->template data<T>();
    const T* const filters = filter->template data<T>();
    const int64_t tiles = Columns<T>(convolution).tiles();
    ParallelParts(static_cast<size_t>(convolution.images * tiles), [&](size_t part) {
      const auto image = static_cast<int64_t>(part) / tiles;
      Columns<T> columns(convolution);
      const Tile tile = columns.tile(static_cast<int64_t>(part) % tiles);
      for (int64_t g = 0; g < convolution.groups; ++g) {
        const int64_t group = image * convolution.groups + g;
        Multiply<T>({filters + g * convolution.group_filters() * convolution.depth(),
                     convolution.group_filters(), convolution.depth()},
                    columns.Gather(values + group * convolution.group_values(), tile),
                    out + group * convolution.group_filters() * convolution.windows() + tile.begin,
                    convolution.windows());
      }
    });
    CopyLod(*input, output);
  });
}

REGISTER_OPERATOR(conv2d, Schema, Run);

}  // namespace
}  // namespace millhopper
