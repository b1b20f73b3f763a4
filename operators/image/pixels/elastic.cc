// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/elastic.h"

#include <algorithm>
#include <cmath>

namespace millhopper {
namespace {

// The value of `size` that is seen at a place, which may lie beyond an edge.
int64_t Reflected(int64_t place, int64_t size) {
  if (place < 0) return -place;
  return place < size ? place : 2 * (size - 1) - place;
}

}  // namespace

std::vector<float> SmoothingWeights(double of_size, double sigma) {
  const auto asked = static_cast<size_t>(8 * of_size + 1);
  std::vector<float> weights(asked % 2 == 0 ? asked + 1 : asked);
  const double middle = static_cast<double>(weights.size() - 1) / 2;
  double sum = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    const double place = (static_cast<double>(k) - middle) / (std::sqrt(2.0) * sigma);
    weights[k] = static_cast<float>(std::exp(-place * place));
    sum += double{weights[k]};
  }
  for (float& weight : weights) weight = static_cast<float>(double{weight} / sum);
  return weights;
}

void Displacement::Resize(int64_t height, int64_t width) {
  height_ = height;
  width_ = width;
  across_.assign(static_cast<size_t>(height * width), 0);
  down_.assign(across_.size(), 0);
}

void Displacement::Smooth(const std::vector<float>& weights_x, const std::vector<float>& weights_y,
                          float factor, std::vector<float>* field) {
  const auto taps_x = static_cast<int64_t>(weights_x.size());
  const auto taps_y = static_cast<int64_t>(weights_y.size());
  padded_.resize(static_cast<size_t>(width_ + taps_x));
  mixed_.assign(field->size(), 0);
  for (int64_t y = 0; y < height_; ++y) {
    const float* const row = field->data() + y * width_;
    for (int64_t x = 0; x < width_ + taps_x - 1; ++x) {
      padded_[static_cast<size_t>(x)] = row[Reflected(x - taps_x / 2, width_)];
    }
    float* const mixed = mixed_.data() + y * width_;
    for (int64_t k = 0; k < taps_x; ++k) {
      const float weight = weights_x[static_cast<size_t>(k)];
      for (int64_t x = 0; x < width_; ++x) mixed[x] += weight * padded_[static_cast<size_t>(x + k)];
    }
  }
  for (int64_t y = 0; y < height_; ++y) {
    float* const row = field->data() + y * width_;
    std::fill_n(row, width_, 0.0f);
    for (int64_t k = 0; k < taps_y; ++k) {
      const float weight = weights_y[static_cast<size_t>(k)];
      const float* const mixed = mixed_.data() + Reflected(y + k - taps_y / 2, height_) * width_;
      for (int64_t x = 0; x < width_; ++x) row[x] += weight * mixed[x];
    }
    for (int64_t x = 0; x < width_; ++x) row[x] *= factor;
  }
}

void Warp(const PixelsOf<const uint8_t>& from, const Displacement& displacement,
          const Sampling& sampling, const PixelsOf<uint8_t>& to) {
  SamplePlaces(from, sampling, to, [&](int64_t row) {
    const int64_t first = row * displacement.width();
    return [across = displacement.across().data() + first,
            down = displacement.down().data() + first, row, column = int64_t{0}]() mutable {
      const FixedPlace place{FixedPlace::Of(static_cast<double>(column) + double{across[column]}),
                             FixedPlace::Of(static_cast<double>(row) + double{down[column]})};
      ++column;
      return place;
    };
  });
}

}  // namespace millhopper
