// SPDX-License-Identifier: Apache-2.0
// conv2d_grad: the gradient of conv2d.
#include <algorithm>
#include <optional>

#include "framework/program/infer_context.h"
#include "operators/nn/convolution.h"
#include "operators/nn/parallel_parts.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

// The gradient of the filters is the sum of that of the images. The batch is divided into so many
// parts at most; each is summed up in the order of its images, then the sums are added in their
// order. So the bits do not depend on the number of threads.
constexpr int64_t kMostParts = 8;

OpSchema Schema() {
  return WithConv2dAttrs(
      OpSchema("The gradient of conv2d. The bits are the same for any number of threads.")
          .Input("Input", "the Input of conv2d")
          .Input("Filter", "the Filter of conv2d")
          .OptionalInput("Output", "not read")
          .Input("Output@GRAD", "gradient of Output, type and dims of it")
          .OptionalOutput("Input@GRAD", "type, dims and levels of detail of Input")
          .OptionalOutput("Filter@GRAD", "type and dims of Filter")
          .Infer([](InferContext& context) {
            const Dims output = *InferConv2dOutput(context).dims;
            context.RequireSameType("Output@GRAD", "Input");
            const std::optional<Dims>& dims = context.In("Output@GRAD").dims;
            if (dims && !MayBeSame(*dims, output)) {
              context.ThrowUnfit("Output@GRAD", StrCat("dims ", ToString(output), " are needed"));
            }
            context.SetOut("Input@GRAD", context.In("Input"));
            context.SetOut("Filter@GRAD", context.In("Filter"));
          }));
}

template <typename T>
struct Backward {
  const Convolution& convolution;
  const T* dout;

  // The filters of group g, or their gradients, as a matrix.
  int64_t FilterOffset(int64_t g) const {
    return g * convolution.group_filters() * convolution.depth();
  }
  // The gradient of a tile of Output, of one group of an image.
  Matrix<T> GradientOf(int64_t group, const Tile& tile) const {
    return {dout + group * convolution.group_filters() * convolution.windows() + tile.begin,
            convolution.group_filters(), tile.size(), false, convolution.windows()};
  }

  void ToInput(const T* filters, T* dinput) const {
    ParallelParts(static_cast<size_t>(convolution.images), [&](size_t image) {
      Columns<T> columns(convolution);
      for (int64_t g = 0; g < convolution.groups; ++g) {
        const int64_t group = static_cast<int64_t>(image) * convolution.groups + g;
        T* const values = dinput + group * convolution.group_values();
        std::fill_n(values, convolution.group_values(), T{0});
        const Matrix<T> filter{filters + FilterOffset(g), convolution.group_filters(),
                               convolution.depth()};
        for (int64_t i = 0; i < columns.tiles(); ++i) {
          const Tile tile = columns.tile(i);
          columns.Scatter(tile, values, [&](T* product, int64_t row_stride) {
            Multiply(Transposed(filter), GradientOf(group, tile), product, row_stride);
          });
        }
      }
    });
  }

  // The sum of the images from `begin` up to `end`.
  void ToFilters(const T* values, int64_t begin, int64_t end, T* sum) const {
    std::fill_n(sum, convolution.filters * convolution.depth(), T{0});
    Columns<T> columns(convolution);
    for (int64_t group = begin * convolution.groups; group < end * convolution.groups; ++group) {
      for (int64_t i = 0; i < columns.tiles(); ++i) {
        const Tile tile = columns.tile(i);
        const Matrix<T> windows = columns.Gather(values + group * convolution.group_values(), tile);
        MultiplyAdd(GradientOf(group, tile), Transposed(windows),
                    sum + FilterOffset(group % convolution.groups));
      }
    }
  }

  void ToFilters(const T* values, T* dfilters) const {
    const int64_t size = convolution.filters * convolution.depth();
    const int64_t images = convolution.images;
    const int64_t parts = std::clamp(images, int64_t{1}, kMostParts);
    LoDTensor sums;  // of all parts but the first
    T* const others = sums.Allocate<T>({parts - 1, size});
    ParallelParts(static_cast<size_t>(parts), [&](size_t i) {
      const auto part = static_cast<int64_t>(i);
      ToFilters(values, part * images / parts, (part + 1) * images / parts,
                part == 0 ? dfilters : others + (part - 1) * size);
    });
    for (int64_t part = 1; part < parts; ++part) {
      const T* const sum = others + (part - 1) * size;
      for (int64_t i = 0; i < size; ++i) dfilters[i] += sum[i];
    }
  }
};

void Run(OpContext& context) {
  const Convolution convolution = MatchConv2d(context);
  RequireSameType(context, "Output@GRAD", "Input");
  RequireInput(context.In("Output@GRAD").dims() == convolution.out_dims(), context, "Output@GRAD",
               "dims ", ToString(convolution.out_dims()), " are needed");
  DispatchType(FloatTypes(), context, "Input", [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* dinput = IsWanted(context, "Input@GRAD") ? context.Out("Input@GRAD") : nullptr;
    LoDTensor* dfilter = IsWanted(context, "Filter@GRAD") ? context.Out("Filter@GRAD") : nullptr;
    const StableInput input(context.In("Input"), dinput, dfilter);
    const StableInput filter(context.In("Filter"), dinput, dfilter);
    const StableInput dout(context.In("Output@GRAD"), dinput, dfilter);
    const Backward<T> backward{convolution, dout->template data<T>()};
    if (dinput != nullptr) {
      T* const values = dinput->Allocate<T>(input->dims());
      backward.ToInput(filter->template data<T>(), values);
      CopyLod(*input, dinput);
    }
    if (dfilter != nullptr) {
      backward.ToFilters(input->template data<T>(), dfilter->Allocate<T>(filter->dims()));
    }
  });
}

REGISTER_OPERATOR(conv2d_grad, Schema, Run);

}  // namespace
}  // namespace millhopper
