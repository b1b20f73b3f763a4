// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/blur.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "operators/image/pixels/color.h"

namespace millhopper {
namespace {

constexpr int kWeightBits = 16;
constexpr int kKeptBits = 8;  // after the point, between the two passes

// Where a place that may lie up to length - 1 outside of [0, length) is reflected to.
int64_t Reflected(int64_t place, int64_t length) {
  if (place < 0) return -place;
  return place < length ? place : 2 * (length - 1) - place;
}

// sums[k] += weight * values[k].
template <typename T>
void AddWeighted(const T* values, uint32_t weight, int64_t length, uint32_t* sums) {
  for (int64_t k = 0; k < length; ++k) sums[k] += weight * values[k];
}

// The sum with a half is below 2^32: a value of 16 bits is at most 255 * 2^8.
template <int kBits, typename T>
void WriteRounded(const std::vector<uint32_t>& sums, T* to) {
  for (size_t k = 0; k < sums.size(); ++k) {
    to[k] = static_cast<T>((sums[k] + (1u << (kBits - 1))) >> kBits);
  }
}

}  // namespace

void SetGaussian(int64_t size, double sigma, std::vector<uint32_t>* weights) {
  std::array<double, kMostWeights> exact;
  const int64_t middle = size / 2;
  double sum = 0;
  for (int64_t k = 0; k < size; ++k) {
    const double place = static_cast<double>(k - middle) / sigma;
    exact[static_cast<size_t>(k)] = std::exp(-place * place / 2);
    sum += exact[static_cast<size_t>(k)];
  }
  weights->resize(static_cast<size_t>(size));
  uint32_t given = 0;
  for (size_t k = 0; k < weights->size(); ++k) {
    (*weights)[k] = static_cast<uint32_t>(std::lrint(exact[k] / sum * (1 << kWeightBits)));
    given += (*weights)[k];
  }
  // The middle takes what rounding has left over, or gives back what it took too much: at most half
  // a unit for each weight, which is less than the middle has, since it has the largest part.
  (*weights)[static_cast<size_t>(middle)] += (1u << kWeightBits) - given;
}

void Blur::Run(const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to) {
  const ImageShape& shape = from.shape;
  const int64_t channels = shape.channels;
  const int64_t length = shape.width * channels;
  const auto before = static_cast<int64_t>(across.size() / 2);
  const auto above = static_cast<int64_t>(down.size() / 2);
  padded_.resize(static_cast<size_t>((shape.width + 2 * before) * channels));
  mixed_.resize(static_cast<size_t>(shape.values()));
  sums_.resize(static_cast<size_t>(length));
  for (int64_t y = 0; y < shape.height; ++y) {
    const uint8_t* const row = from.row(y);
    std::copy_n(row, length, padded_.data() + before * channels);
    for (int64_t k = 1; k <= before; ++k) {
      const int64_t right = shape.width - 1;
      std::copy_n(row + Reflected(-k, shape.width) * channels, channels,
                  padded_.data() + (before - k) * channels);
      std::copy_n(row + Reflected(right + k, shape.width) * channels, channels,
                  padded_.data() + (before + right + k) * channels);
    }
    std::fill(sums_.begin(), sums_.end(), 0);
    for (size_t k = 0; k < across.size(); ++k) {
      AddWeighted(padded_.data() + static_cast<int64_t>(k) * channels, across[k], length,
                  sums_.data());
    }
    WriteRounded<kWeightBits - kKeptBits>(sums_, mixed_.data() + y * length);
  }
  for (int64_t y = 0; y < shape.height; ++y) {
    std::fill(sums_.begin(), sums_.end(), 0);
    for (size_t k = 0; k < down.size(); ++k) {
      const int64_t row = Reflected(y - above + static_cast<int64_t>(k), shape.height);
      AddWeighted(mixed_.data() + row * length, down[k], length, sums_.data());
    }
    WriteRounded<kWeightBits + kKeptBits>(sums_, to.row(y));
  }
}

void AdjustSharpness(double factor, const PixelsOf<const uint8_t>& from,
                     const PixelsOf<uint8_t>& to) {
  const ImageShape& shape = from.shape;
  if (shape.height <= 2 || shape.width <= 2) return CopyPixels(from, to);
  const Blend blend(factor);
  const int64_t channels = shape.channels;
  const int64_t length = shape.width * channels;
  for (int64_t y = 0; y < shape.height; ++y) {
    const uint8_t* const row = from.row(y);
    uint8_t* const out = to.row(y);
    const bool is_edge = y == 0 || y == shape.height - 1;
    for (int64_t k = 0; k < length; ++k) {
      uint32_t soft = row[k];
      if (!is_edge && k >= channels && k < length - channels) {
        uint32_t sum = 4u * row[k];
        for (const uint8_t* line = row + k - from.row_stride; line <= row + k + from.row_stride;
             line += from.row_stride) {
          sum += line[-channels] + line[0] + line[channels];
        }
        soft = (2 * sum + 13) / 26;  // sum / 13, rounded
      }
      out[k] = blend(row[k], static_cast<float>(soft));
    }
  }
}

}  // namespace millhopper
