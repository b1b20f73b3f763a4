// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "framework/base/error.h"
#include "operators/image/pixels/alpha.h"
#include "operators/image/pixels/resample_kernels.h"

namespace millhopper {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kTapGroup = 4;  // taps() is a multiple of it
// A filter of more pixels would take memory and time for nothing that can be seen.
constexpr double kMostTaps = 1 << 16;
constexpr int64_t kMostWeights = 1 << 24;

double Triangle(double x) { return std::max(1 - std::abs(x), 0.0); }

// Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -1/2.
double Cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

double BoxFilter(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double Sinc(double x) { return x == 0 ? 1 : std::sin(x * kPi) / (x * kPi); }

double Lanczos(double x) { return x >= -3 && x < 3 ? Sinc(x) * Sinc(x / 3) : 0; }

struct Filter {
  double (*value)(double x);
  double support;  // the filter is 0 farther away
};

Filter FilterOf(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kNearest:
    case Interpolation::kArea:
      return {BoxFilter, 0.5};
    case Interpolation::kBilinear:
      return {Triangle, 1};
    case Interpolation::kBicubic:
      return {Cubic, 2};
    case Interpolation::kLanczos:
      return {Lanczos, 3};
  }
  Throw(ErrorCode::kInternal, "unknown interpolation");
}

int32_t ToFixed(double weight) {
  return static_cast<int32_t>(weight * (1 << kWeightBits) + (weight < 0 ? -0.5 : 0.5));
}

// A sum as a value of an image: a float, or the whole number that is nearest, a half upwards.
template <typename T>
T Rounded(double sum) {
  if constexpr (std::is_integral_v<T>) {
    constexpr double kMost = std::numeric_limits<T>::max();
    return static_cast<T>(std::clamp(std::floor(sum + 0.5), 0.0, kMost));
  } else {
    return static_cast<T>(sum);
  }
}

// The smallest number of whole groups of taps, in taps.
int64_t InGroups(int64_t taps) { return (taps + kTapGroup - 1) / kTapGroup * kTapGroup; }

}  // namespace

void ResampleWeights::Compute(int64_t in_size, double begin, double end, int64_t size,
                              int64_t first, int64_t count, Interpolation interpolation,
                              bool antialias) {
  const double scale = (end - begin) / static_cast<double>(size);
  const bool nearest = interpolation == Interpolation::kNearest;
  const bool wide = antialias || interpolation == Interpolation::kArea;
  const double stretch = wide && !nearest ? std::max(scale, 1.0) : 1;
  const Filter filter = FilterOf(interpolation);
  const double support = filter.support * stretch;
  const auto most = static_cast<int64_t>(std::ceil(std::min(support, kMostTaps))) * 2 + 1;
  if (support >= kMostTaps || count > kMostWeights / InGroups(most)) {
    Throw(ErrorCode::kResourceLimit, "to resize ", in_size, " pixels to ", size,
          " is out of reach");
  }

  const auto results = static_cast<size_t>(count);
  starts_.resize(results);
  used_.resize(results);
  begin_ = in_size;
  end_ = 0;
  taps_ = 0;
  const auto center_of = [&](size_t i) {
    return begin + (static_cast<double>(first + static_cast<int64_t>(i)) + 0.5) * scale;
  };
  // Pillow finds the nearest pixels by adding the scale again and again, which is rounded.
  double nearest_center = begin + 0.5 * scale;
  for (int64_t i = 0; nearest && i < first; ++i) nearest_center += scale;
  for (size_t i = 0; i < results; ++i) {
    int64_t low = 0, high = 0;
    if (nearest) {
      low = std::clamp<int64_t>(static_cast<int64_t>(std::floor(nearest_center)), 0, in_size - 1);
      high = low + 1;
      nearest_center += scale;
    } else {
      const double center = center_of(i);
      low = std::max<int64_t>(static_cast<int64_t>(std::floor(center - support + 0.5)), 0);
      high = std::min(static_cast<int64_t>(std::floor(center + support + 0.5)), in_size);
      // Rounding may leave a result of the area filter without any pixel.
      low = std::min(low, in_size - 1);
      high = std::max(high, low + 1);
    }
    starts_[i] = low;
    used_[i] = high - low;
    begin_ = std::min(begin_, low);
    end_ = std::max(end_, high);
    taps_ = std::max(taps_, high - low);
  }

  taps_ = InGroups(taps_);
  fractions_.assign(results * static_cast<size_t>(taps_), 0);
  for (size_t i = 0; i < results; ++i) {
    double* const fractions = &fractions_[i * static_cast<size_t>(taps_)];
    if (nearest) {
      fractions[0] = 1;
      continue;
    }
    const double center = center_of(i);
    double sum = 0;
    for (int64_t x = 0; x < used_[i]; ++x) {
      fractions[x] =
          filter.value((static_cast<double>(starts_[i] + x) - center + 0.5) * (1 / stretch));
      sum += fractions[x];
    }
    for (int64_t x = 0; x < used_[i]; ++x) {
      fractions[x] = sum == 0 ? (x == 0 ? 1 : 0) : fractions[x] / sum;
    }
  }
  RoundFractions();
}

void ResampleWeights::RoundFractions() {
  weights_.resize(fractions_.size());
  halves_.resize(2 * fractions_.size());
  for (size_t i = 0; i < weights_.size(); ++i) {
    const int32_t weight = ToFixed(fractions_[i]);
    weights_[i] = weight;
    int16_t* const halves = &halves_[i / kTapGroup * 2 * kTapGroup + i % kTapGroup];
    halves[0] = static_cast<int16_t>(weight & ((1 << kLowBits) - 1));
    halves[kTapGroup] = static_cast<int16_t>(weight >> kLowBits);
  }
}

void Resampler::Plan(const ImageShape& whole, const FractionalBox& from, const Resize& resize,
                     const Box& window) {
  Require(resize.height > 0 && resize.width > 0 && window.height > 0 && window.width > 0,
          "an image cannot be resized to ", resize.height, " x ", resize.width);
  Require(from.height > 0 && from.width > 0, "an image without pixels cannot be resized");
  CheckPixels(window.height, window.width);
  across_.Compute(whole.width, from.x, from.x + from.width, resize.width, window.x, window.width,
                  resize.interpolation, resize.antialias);
  down_.Compute(whole.height, from.y, from.y + from.height, resize.height, window.y, window.height,
                resize.interpolation, resize.antialias);
  CheckPixels(down_.end() - down_.begin(), window.width);
  const FractionalBox all = WholeOf(whole);
  const bool is_copy = resize.width == whole.width && resize.height == whole.height &&
                       from.x == all.x && from.y == all.y && from.width == all.width &&
                       from.height == all.height;
  weighs_by_alpha_ =
      HasAlpha(whole.channels) && !is_copy && resize.interpolation != Interpolation::kNearest;
}

Box Resampler::needed() const {
  return {across_.begin(), down_.begin(), across_.end() - across_.begin(),
          down_.end() - down_.begin()};
}

void Resampler::BeginColumns(const PixelsOf<const uint8_t>& pixels) {
  channels_ = pixels.shape.channels;
  row_values_ = across_.count() * channels_;
  rows_.resize(static_cast<size_t>(row_values_ * pixels.shape.height));
  row_.resize(static_cast<size_t>(row_values_));
  if (!weighs_by_alpha_) return ResampleRows(pixels, across_, rows_.data());
  weighed_.resize(static_cast<size_t>(pixels.shape.values()));
  MultiplyByAlpha(pixels, Contiguous(weighed_.data(), pixels.shape));
  ResampleRows(Contiguous<const uint8_t>(weighed_.data(), pixels.shape), across_, rows_.data());
}

const uint8_t* Resampler::MakeRow(int64_t y) {
  const uint8_t* const first = rows_.data() + (down_.start(y) - down_.begin()) * row_values_;
  const bool is_made = down_.used(y) != 1;  // otherwise its weight is 1
  if (is_made) ResampleColumns(first, row_values_, down_.weights(y), down_.used(y), row_.data());
  const uint8_t* const made = is_made ? row_.data() : first;
  if (!weighs_by_alpha_) return made;
  DivideByAlpha(made, channels_, across_.count(), row_.data());
  return row_.data();
}

template <typename T>
void Resampler::RunInDouble(const PixelsOf<const T>& pixels, const PixelsOf<T>& out) {
  const int64_t channels = pixels.shape.channels;
  row_values_ = across_.count() * channels;
  float_rows_.resize(static_cast<size_t>(row_values_ * pixels.shape.height));
  for (int64_t y = 0; y < pixels.shape.height; ++y) {
    float* const row = float_rows_.data() + y * row_values_;
    for (int64_t x = 0; x < across_.count(); ++x) {
      const T* const from = pixels.row(y) + (across_.start(x) - across_.begin()) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < across_.used(x); ++k) {
          sum += across_.fractions(x)[k] * static_cast<double>(from[k * channels + c]);
        }
        row[x * channels + c] = static_cast<float>(Rounded<T>(sum));
      }
    }
  }
  for (int64_t y = 0; y < down_.count(); ++y) {
    const float* const from = float_rows_.data() + (down_.start(y) - down_.begin()) * row_values_;
    for (int64_t i = 0; i < row_values_; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < down_.used(y); ++k) {
        sum += down_.fractions(y)[k] * static_cast<double>(from[k * row_values_ + i]);
      }
      out.row(y)[i] = Rounded<T>(sum);
    }
  }
}

template void Resampler::RunInDouble(const PixelsOf<const float>&, const PixelsOf<float>&);
template void Resampler::RunInDouble(const PixelsOf<const uint16_t>&, const PixelsOf<uint16_t>&);

}  // namespace millhopper
