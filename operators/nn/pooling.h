// SPDX-License-Identifier: Apache-2.0
// The windows of pool2d and its gradient.
#ifndef MILLHOPPER_OPERATORS_NN_POOLING_H_
#define MILLHOPPER_OPERATORS_NN_POOLING_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "framework/base/thread_pool.h"
#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"
#include "operators/nn/image_window.h"

namespace millhopper {

// Adds the attributes of pool2d.
OpSchema WithPool2dAttrs(OpSchema schema);

// The dims of Out, -1 where unknown. Throws if X cannot fit.
TensorSpec InferPool2dOut(const InferContext& context);

// The part of a plane, one channel of an image, that a window covers: at least one value.
struct Area {
  int64_t top, bottom, left, right;  // bottom and right are just after it
  int64_t size() const { return (bottom - top) * (right - left); }
};

// The sizes of one pooling.
struct Pooling {
  int64_t images, channels, height, width;  // of X
  ImageWindow y, x;
  int64_t out_height, out_width;
  bool is_max;
  bool exclusive;

  Dims out_dims() const { return {images, channels, out_height, out_width}; }
  // How many values an average is taken of.
  int64_t Count(const Area& area) const { return exclusive ? area.size() : y.size * x.size; }

  // Calls visit(where the plane begins in X, area, place in Out) for every window, on several
  // threads, but on one for the windows of an image.
  template <typename Visit>
  void ForEachWindow(const Visit& visit) const {
    ParallelFor(static_cast<size_t>(images), [&](size_t image) {
      int64_t plane = static_cast<int64_t>(image) * channels;
      int64_t place = plane * out_height * out_width;
      for (int64_t c = 0; c < channels; ++c, ++plane) {
        for (int64_t i = 0; i < out_height; ++i) {
          const int64_t top = std::max(y.Begin(i), int64_t{0});
          const int64_t bottom = std::min(y.Begin(i) + y.size, height);
          for (int64_t j = 0; j < out_width; ++j, ++place) {
            visit(plane * height * width,
                  Area{top, bottom, std::max(x.Begin(j), int64_t{0}),
                       std::min(x.Begin(j) + x.size, width)},
                  place);
          }
        }
      }
    });
  }

  // Where the highest value of an area of a plane is: the first of equal ones, NaN above all
  // numbers.
  template <typename T>
  int64_t Highest(const T* plane, const Area& area) const {
    int64_t best = area.top * width + area.left;
    for (int64_t row = area.top; row < area.bottom; ++row) {
      for (int64_t i = row * width + area.left; i < row * width + area.right; ++i) {
        if (plane[i] > plane[best] || (std::isnan(plane[i]) && !std::isnan(plane[best]))) best = i;
      }
    }
    return best;
  }
};

// The input X of an operator. Throws if it does not fit.
Pooling MatchPool2d(const OpContext& context);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_NN_POOLING_H_
