// SPDX-License-Identifier: Apache-2.0
// How conv2d and its gradient become products of matrices.
//
// A window of an image covers `depth` values, the channels of one group times the window's size.
// The values of n windows are the columns of a matrix [depth, n]; its product with the filters of
// the group, a matrix [filters, depth], is their part of the output. Windows are taken in tiles, so
// that the columns fit into a cache and take little memory.
//
// The products are Eigen's. oneDNN has its own convolutions, but its library of 40 MB brings
// libgomp and OpenCL, starts its own threads, and gives other bits on other processors.
#ifndef MILLHOPPER_OPERATORS_NN_CONVOLUTION_H_
#define MILLHOPPER_OPERATORS_NN_CONVOLUTION_H_

#include <algorithm>
#include <cstdint>

#include "framework/memory/buffer.h"
#include "framework/memory/memory.h"
#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"
#include "operators/math/matrix.h"
#include "operators/nn/image_window.h"

namespace millhopper {

// Adds the attributes strides, paddings, dilations and groups, and those of the lineage.
OpSchema WithConv2dAttrs(OpSchema schema);

// The dims of Output, -1 where unknown. Throws if the inputs cannot fit.
TensorSpec InferConv2dOutput(const InferContext& context);

// The sizes of one convolution.
struct Convolution {
  int64_t images, channels, height, width;  // of Input
  int64_t filters, groups;
  ImageWindow y, x;
  int64_t out_height, out_width;

  int64_t group_channels() const { return channels / groups; }
  int64_t group_filters() const { return filters / groups; }
  int64_t depth() const { return group_channels() * y.size * x.size; }
  int64_t windows() const { return out_height * out_width; }  // of an image
  // Values of one group of an image of Input.
  int64_t group_values() const { return group_channels() * height * width; }
  Dims out_dims() const { return {images, filters, out_height, out_width}; }
  // Whether the windows are the pixels, so that an image already is the matrix of its columns.
  bool is_pointwise() const {
    return y.size == 1 && x.size == 1 && y.stride == 1 && x.stride == 1 && y.padding == 0 &&
           x.padding == 0;
  }
};

// The inputs Input and Filter of an operator. Throws if they do not fit.
Convolution MatchConv2d(const OpContext& context);

// Consecutive windows of an image.
struct Tile {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// The columns of one tile after another. For one thread.
template <typename T>
class Columns {
 public:
  explicit Columns(const Convolution& convolution)
      : convolution_(convolution),
        tile_(std::clamp(kBytes / (convolution.depth() * static_cast<int64_t>(sizeof(T))),
                         int64_t{1}, std::max(convolution.windows(), int64_t{1}))) {}

  int64_t tiles() const { return (convolution_.windows() + tile_ - 1) / tile_; }
  Tile tile(int64_t i) const {
    return {i * tile_, std::min((i + 1) * tile_, convolution_.windows())};
  }

  // The columns of a tile of one group of an image. Valid until the next call.
  Matrix<T> Gather(const T* group, const Tile& tile);
  // Adds to each value of a group what `product` makes of the windows that cover it: fills the
  // columns of a tile by product(columns, row stride of columns), then adds them up.
  template <typename Product>
  void Scatter(const Tile& tile, T* group, const Product& product) {
    if (convolution_.is_pointwise()) {
      product(group + tile.begin, convolution_.windows());
    } else {
      product(values(), tile.size());
      Add(tile, group);
    }
  }

 private:
  static constexpr int64_t kBytes = 1 << 20;

  T* values();
  void Add(const Tile& tile, T* group);

  const Convolution& convolution_;
  const int64_t tile_;
  Ref<Buffer> buffer_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_NN_CONVOLUTION_H_
