// SPDX-License-Identifier: Apache-2.0
#include "operators/nn/convolution.h"

#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

// Places of the columns that lie side by side and come from one row of the image. The first
// `before` and the last `after` of them lie in the padding.
struct Run {
  int64_t column;  // where it begins in the columns
  int64_t before, inside, after;
  int64_t value;  // the first one inside, in the group; the next is a stride away
};

// Calls visit(run) for all columns of a tile, row by row.
template <typename Visit>
void ForEachRun(const Convolution& convolution, const Tile& tile, const Visit& visit) {
  const ImageWindow& y = convolution.y;
  const ImageWindow& x = convolution.x;
  int64_t column = 0;
  for (int64_t c = 0; c < convolution.group_channels(); ++c) {
    for (int64_t i = 0; i < y.size; ++i) {
      for (int64_t j = 0; j < x.size; ++j) {
        // Window w takes pixel w * stride + shift of a row; the windows from `low` up to
        // `high` take one inside the image.
        const int64_t shift = j * x.dilation - x.padding;
        const int64_t low = shift >= 0 ? 0 : (x.stride - 1 - shift) / x.stride;
        const int64_t high =
            shift >= convolution.width ? 0 : (convolution.width - 1 - shift) / x.stride + 1;
        for (int64_t window = tile.begin; window < tile.end;) {
          const int64_t row = y.Begin(window / convolution.out_width) + i * y.dilation;
          const int64_t begin = window % convolution.out_width;
          const int64_t end = std::min(convolution.out_width, begin + tile.end - window);
          const bool is_inside = row >= 0 && row < convolution.height;
          const int64_t first = is_inside ? std::clamp(low, begin, end) : end;
          const int64_t last = is_inside ? std::clamp(high, first, end) : end;
          visit(Run{column, first - begin, last - first, end - last,
                    (c * convolution.height + row) * convolution.width + first * x.stride + shift});
          column += end - begin;
          window += end - begin;
        }
      }
    }
  }
}

// The channels of one group must be those that the filters have.
void CheckChannels(const Dims& input, const Dims& filter, int64_t groups, const Refusal& refuse) {
  if (filter[0] >= 0 && filter[0] % groups != 0) {
    refuse("Filter", StrCat("the number of filters must be a multiple of groups = ", groups));
  }
  if (input[1] < 0 || filter[1] < 0) return;
  if (input[1] % groups != 0 || filter[1] != input[1] / groups) {
    refuse("Filter", StrCat("'Input' has dims ", ToString(input), "; with groups = ", groups,
                            " the dims of the filters are [O, ", input[1], " / ", groups,
                            ", height, width]"));
  }
}

ImageWindow WindowOf(const AttributeMap& attributes, size_t axis, int64_t size) {
  const auto at = [&](const char* name) {
    return static_cast<int64_t>(attributes.Get<std::vector<int32_t>>(name)[axis]);
  };
  return {size, at("strides"), at("paddings"), at("dilations")};
}

// How many windows an axis has, -1 if a length is unknown. `axis` is 0 for the height.
int64_t CountWindows(const AttributeMap& attributes, size_t axis, int64_t length, int64_t size,
                     const Refusal& refuse) {
  if (length < 0 || size < 0) return -1;
  const ImageWindow window = WindowOf(attributes, axis, size);
  const int64_t count = window.Count(length, false);
  if (count == 0) {
    refuse("Input", StrCat("its ", axis == 0 ? "height" : "width", " and ", 2 * window.padding,
                           " places of padding are less than the ", window.extent(),
                           " that a filter covers"));
  }
  return count;
}

// The dims of Output.
Dims OutputDims(const AttributeMap& attributes, const Dims& input, const Dims& filter,
                const Refusal& refuse) {
  if (input.size() != 4) refuse("Input", "images [N, C, H, W] are needed");
  if (filter.size() != 4) refuse("Filter", "filters [O, C / groups, height, width] are needed");
  for (const int64_t dim : filter) {
    if (dim == 0) refuse("Filter", "no dim may be 0");
  }
  CheckChannels(input, filter, attributes.Get<int32_t>("groups"), refuse);
  return {input[0], filter[0], CountWindows(attributes, 0, input[2], filter[2], refuse),
          CountWindows(attributes, 1, input[3], filter[3], refuse)};
}

}  // namespace

OpSchema WithConv2dAttrs(OpSchema schema) {
  return WithLineageAttrs(
      schema.Attr(PairAttr("strides", 1, "pixels from one window to the next, down and across"))
          .Attr(PairAttr("paddings", 0, "zeros above and below, and zeros left and right"))
          .Attr(PairAttr("dilations", 1, "pixels from one value of a filter to the next"))
          .Attr(AttributeSchema("groups", int32_t{1},
                                "the channels and the filters are divided into so many groups; "
                                "the filters of a group see its channels only")
                    .AtLeast(1))
          .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
            CheckPairs(attributes, {"strides", "paddings", "dilations"});
          }));
}

TensorSpec InferConv2dOutput(const InferContext& context) {
  context.RequireSameType("Filter", "Input");
  const TensorSpec& input = context.In("Input");
  const TensorSpec& filter = context.In("Filter");
  TensorSpec output{input.dtype, Dims{-1, -1, -1, -1}, input.lod_level};
  if (input.dims && filter.dims) {
    output.dims = OutputDims(context.attributes(), *input.dims, *filter.dims, RefusalOf(context));
  }
  return output;
}

Convolution MatchConv2d(const OpContext& context) {
  RequireSameType(context, "Filter", "Input");
  const Dims& input = context.In("Input").dims();
  const Dims& filter = context.In("Filter").dims();
  const AttributeMap& attributes = context.attributes();
  const Dims output = OutputDims(attributes, input, filter, RefusalOf(context));
  Convolution convolution;
  convolution.images = input[0];
  convolution.channels = input[1];
  convolution.height = input[2];
  convolution.width = input[3];
  convolution.filters = filter[0];
  convolution.groups = attributes.Get<int32_t>("groups");
  convolution.y = WindowOf(attributes, 0, filter[2]);
  convolution.x = WindowOf(attributes, 1, filter[3]);
  convolution.out_height = output[2];
  convolution.out_width = output[3];
  return convolution;
}

template <typename T>
T* Columns<T>::values() {
  if (!buffer_) {
    const auto count = static_cast<size_t>(convolution_.depth() * tile_);
    buffer_ = BufferPool::At(Place()).Take(CheckedProduct(count, sizeof(T)));
  }
  return reinterpret_cast<T*>(buffer_->data());
}

template <typename T>
Matrix<T> Columns<T>::Gather(const T* group, const Tile& tile) {
  if (convolution_.is_pointwise()) {
    return {group + tile.begin, convolution_.depth(), tile.size(), false, convolution_.windows()};
  }
  T* const columns = values();
  const int64_t stride = convolution_.x.stride;
  ForEachRun(convolution_, tile, [=](const Run& run) {
    T* to = std::fill_n(columns + run.column, run.before, T{0});
    const T* const from = group + run.value;
    if (stride == 1) {
      to = std::copy_n(from, run.inside, to);
    } else {
      for (int64_t i = 0; i < run.inside; ++i) *to++ = from[i * stride];
    }
    std::fill_n(to, run.after, T{0});
  });
  return {columns, convolution_.depth(), tile.size()};
}

template <typename T>
void Columns<T>::Add(const Tile& tile, T* group) {
  const T* const columns = values();
  const int64_t stride = convolution_.x.stride;
  ForEachRun(convolution_, tile, [=](const Run& run) {
    const T* const from = columns + run.column + run.before;
    T* const to = group + run.value;
    for (int64_t i = 0; i < run.inside; ++i) to[i * stride] += from[i];
  });
}

template class Columns<float>;
template class Columns<double>;

}  // namespace millhopper
