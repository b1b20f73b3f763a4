// SPDX-License-Identifier: Apache-2.0
// Images whose pixels move by a smooth random field, each by its own way.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_ELASTIC_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_ELASTIC_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/image/pixels/image.h"
#include "operators/image/pixels/sampling.h"

namespace millhopper {

// The weights exp(-(k / sigma)^2 / 2) of the places k around a value, whose sum is 1; their number
// is 8 of_size + 1, rounded down, and one more if that is even. Both are above 0. (Source:
// _get_gaussian_kernel1d and ElasticTransform of torchvision/transforms/v2.)
std::vector<float> SmoothingWeights(double of_size, double sigma);

// How far each pixel of an image is taken from its place, in pixels.
class Displacement {
 public:
  // For images of this size; all are 0.
  void Resize(int64_t height, int64_t width);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  // Of the pixels in rows, from top to bottom.
  std::vector<float>& across() { return across_; }
  std::vector<float>& down() { return down_; }
  const std::vector<float>& across() const { return across_; }
  const std::vector<float>& down() const { return down_; }

  // Mixes each value of a field with those around it, in rows by `weights_x` and then in columns by
  // `weights_y`, and multiplies it. Beyond an edge lies the field's reflection, without the edge
  // itself, so that each side must be larger than half the weights.
  void Smooth(const std::vector<float>& weights_x, const std::vector<float>& weights_y,
              float factor, std::vector<float>* field);

 private:
  int64_t height_ = 0, width_ = 0;
  std::vector<float> across_, down_;
  std::vector<float> padded_, mixed_;
};

// Takes every pixel of `to`, which has the shape of `from` and is not the same memory, from its
// place plus its displacement.
void Warp(const PixelsOf<const uint8_t>& from, const Displacement& displacement,
          const Sampling& sampling, const PixelsOf<uint8_t>& to);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_ELASTIC_H_
