// SPDX-License-Identifier: Apache-2.0
// Resizing, compared with sums in double and with values that Pillow gives.
#include "operators/image/pixels/resample.h"

#include <gtest/gtest.h>

// After it, as Highway wants it.
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "operators/image/pixels/resample_kernels.h"
#include "tests/files/images.h"

namespace millhopper {
namespace {

constexpr Interpolation kAll[] = {Interpolation::kNearest, Interpolation::kBilinear,
                                  Interpolation::kBicubic, Interpolation::kArea,
                                  Interpolation::kLanczos};

double FilterAt(Interpolation interpolation, double x) {
  const double a = std::fabs(x);
  switch (interpolation) {
    case Interpolation::kBilinear:
      return a < 1 ? 1 - a : 0;
    case Interpolation::kBicubic:
      return a < 1   ? 1.5 * a * a * a - 2.5 * a * a + 1
             : a < 2 ? -0.5 * a * a * a + 2.5 * a * a - 4 * a + 2
                     : 0;
    case Interpolation::kLanczos: {
      if (a == 0) return 1;
      if (a >= 3) return 0;
      const double p = a * M_PI;
      return 3 * std::sin(p) * std::sin(p / 3) / (p * p);
    }
    default:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
  }
}

// The result at place `at` of a line of values, in double: every pixel, weighted by the filter.
double Sample(const std::vector<double>& line, Interpolation interpolation, bool antialias,
              int64_t size, int64_t at) {
  const double scale = static_cast<double>(line.size()) / static_cast<double>(size);
  const double center = (static_cast<double>(at) + 0.5) * scale;
  if (interpolation == Interpolation::kNearest) {
    double nearest = scale / 2;  // as Pillow finds it
    for (int64_t i = 0; i < at; ++i) nearest += scale;
    return line[static_cast<size_t>(nearest)];
  }
  const bool wide = antialias || interpolation == Interpolation::kArea;
  const double stretch = wide ? std::max(scale, 1.0) : 1;
  double sum = 0, weights = 0;
  for (size_t x = 0; x < line.size(); ++x) {
    // A pixel at the very edge of the area filter counts as Pillow's bounds have it.
    const double left = std::floor(center - stretch / 2 + 0.5);
    const double right = std::floor(center + stretch / 2 + 0.5);
    const auto place = static_cast<double>(x);
    if (interpolation == Interpolation::kArea && (place < left || place >= right)) continue;
    const double weight =
        FilterAt(interpolation, (static_cast<double>(x) - center + 0.5) * (1 / stretch));
    sum += weight * line[x];
    weights += weight;
  }
  return sum / weights;
}

// In double, rounded and held between 0 and 255 after the rows only.
std::vector<double> Expected(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                             const Resize& resize) {
  std::vector<double> result;
  for (int64_t y = 0; y < resize.height; ++y) {
    for (int64_t x = 0; x < resize.width; ++x) {
      for (int64_t c = 0; c < shape.channels; ++c) {
        std::vector<double> column;
        for (int64_t row = 0; row < shape.height; ++row) {
          std::vector<double> line;
          for (int64_t i = 0; i < shape.width; ++i) {
            line.push_back(
                pixels[static_cast<size_t>((row * shape.width + i) * shape.channels + c)]);
          }
          const double sample =
              Sample(line, resize.interpolation, resize.antialias, resize.width, x);
          column.push_back(std::round(std::clamp(sample, 0.0, 255.0)));
        }
        result.push_back(std::clamp(
            Sample(column, resize.interpolation, resize.antialias, resize.height, y), 0.0, 255.0));
      }
    }
  }
  return result;
}

std::vector<uint8_t> Resized(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                             const Resize& resize, const Box& window) {
  Resampler resampler;
  resampler.Plan(shape, WholeOf(shape), resize, window);
  std::vector<uint8_t> result;
  resampler.Run(Contiguous(pixels.data(), shape).Crop(resampler.needed()),
                [&](int64_t y, const uint8_t* row) {
                  EXPECT_EQ(y * window.width * shape.channels, static_cast<int64_t>(result.size()));
                  result.insert(result.end(), row, row + window.width * shape.channels);
                });
  return result;
}

std::vector<uint8_t> Resized(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                             const Resize& resize) {
  return Resized(pixels, shape, resize, {0, 0, resize.width, resize.height});
}

// Every kind of change: the same size, smaller, larger, much smaller, one pixel.
struct Case {
  ImageShape shape;
  int64_t height, width;
};

const Case kCases[] = {{{7, 9, 3}, 7, 9},    {{7, 9, 3}, 4, 5},   {{7, 9, 3}, 15, 20},
                       {{20, 31, 3}, 3, 2},  {{5, 4, 1}, 9, 3},   {{9, 12, 4}, 5, 7},
                       {{6, 6, 2}, 3, 9},    {{1, 1, 3}, 4, 5},   {{16, 40, 3}, 1, 1},
                       {{13, 64, 3}, 6, 23}, {{9, 60, 3}, 4, 17}, {{6, 20, 4}, 5, 50}};

// Random pixels; alpha, if there is some, is 255, so that nothing is weighed by it.
std::vector<uint8_t> OpaquePixels(const ImageShape& shape, uint32_t seed) {
  std::vector<uint8_t> pixels = RandomBytes(shape.values(), seed);
  const auto channels = static_cast<size_t>(shape.channels);
  for (size_t i = channels - 1; i < pixels.size() && channels % 2 == 0; i += channels) {
    pixels[i] = 255;
  }
  return pixels;
}

TEST(Resampler, AgreesWithSumsInDouble) {
  for (const Case& one : kCases) {
    const std::vector<uint8_t> pixels = OpaquePixels(one.shape, 3);
    for (const Interpolation interpolation : kAll) {
      for (const bool antialias : {true, false}) {
        const Resize resize{one.height, one.width, interpolation, antialias};
        const std::vector<double> expected = Expected(pixels, one.shape, resize);
        const std::vector<uint8_t> result = Resized(pixels, one.shape, resize);
        ASSERT_EQ(result.size(), expected.size());
        // A half may be rounded either way, twice.
        for (size_t i = 0; i < result.size(); ++i) {
          ASSERT_NEAR(result[i], expected[i], 1.51)
              << i << " of " << one.height << " x " << one.width << ", filter "
              << static_cast<int>(interpolation) << ", antialias " << antialias;
        }
      }
    }
  }
}

TEST(Resampler, KeepsAnImageThatIsNotResized) {
  const ImageShape shape{11, 13, 3};
  const std::vector<uint8_t> pixels = RandomBytes(shape.values());
  for (const Interpolation interpolation : kAll) {
    EXPECT_EQ(Resized(pixels, shape, {11, 13, interpolation, true}), pixels);
  }
}

// A window of the result.
void ExpectPartLikeWhole(int64_t channels) {
  const ImageShape shape{30, 40, channels};
  const std::vector<uint8_t> pixels = RandomBytes(shape.values());
  const Resize resize{20, 25, Interpolation::kBicubic, true};
  const std::vector<uint8_t> whole = Resized(pixels, shape, resize);
  const Box window{4, 7, 13, 9};
  const std::vector<uint8_t> part = Resized(pixels, shape, resize, window);
  for (int64_t y = 0; y < window.height; ++y) {
    for (int64_t x = 0; x < window.width * channels; ++x) {
      ASSERT_EQ(
          part[static_cast<size_t>(y * window.width * channels + x)],
          whole[static_cast<size_t>((window.y + y) * 25 * channels + window.x * channels + x)]);
    }
  }
}

TEST(Resampler, MakesAPartLikeTheWhole) { ExpectPartLikeWhole(3); }

// One channel is made number by number, three and four by instructions that take several.
TEST(Resampler, TreatsEachChannelAsAnImage) {
  for (const Case& one : kCases) {
    const std::vector<uint8_t> pixels = OpaquePixels(one.shape, 4);
    const auto channels = static_cast<size_t>(one.shape.channels);
    for (const Interpolation interpolation : kAll) {
      const Resize resize{one.height, one.width, interpolation, true};
      const std::vector<uint8_t> result = Resized(pixels, one.shape, resize);
      for (size_t c = 0; c < channels; ++c) {
        std::vector<uint8_t> channel, expected;
        for (size_t i = c; i < pixels.size(); i += channels) channel.push_back(pixels[i]);
        for (size_t i = c; i < result.size(); i += channels) expected.push_back(result[i]);
        EXPECT_EQ(Resized(channel, {one.shape.height, one.shape.width, 1}, resize), expected)
            << "channel " << c << " of " << one.height << " x " << one.width << ", filter "
            << static_cast<int>(interpolation);
      }
    }
  }
}

// Colors are multiplied by alpha, resized, and divided by what alpha has become. That is not so
// where no pixels are mixed: by the nearest filter, and where an image keeps its size.
TEST(Resampler, WeighsColorsByAlpha) {
  uint32_t seed = 0;
  for (const int64_t channels : {2, 4}) {
    for (const Case& one : kCases) {
      const ImageShape shape{one.shape.height, one.shape.width, channels};
      const auto step = static_cast<size_t>(channels);
      std::vector<uint8_t> pixels = RandomBytes(shape.values(), ++seed);
      for (size_t i = step - 1; i < pixels.size(); i += 3 * step) pixels[i] = seed % 2 ? 0 : 255;
      for (const Interpolation interpolation : kAll) {
        const Resize resize{one.height, one.width, interpolation, seed % 3 != 0};
        const bool stays = one.height == shape.height && one.width == shape.width;
        const bool weighs = interpolation != Interpolation::kNearest && !stays;
        const auto line = [&](size_t c) {
          std::vector<uint8_t> values;
          for (size_t i = 0; i < pixels.size(); i += step) {
            const int value = pixels[i + c], alpha = pixels[i + step - 1];
            const bool is_weighed = weighs && c + 1 < step;
            values.push_back(static_cast<uint8_t>(
                is_weighed ? std::lround(static_cast<double>(value) * alpha / 255) : value));
          }
          return Resized(values, {shape.height, shape.width, 1}, resize);
        };
        const std::vector<uint8_t> result = Resized(pixels, shape, resize), alphas = line(step - 1);
        for (size_t c = 0; c < step; ++c) {
          const std::vector<uint8_t> channel = line(c);
          for (size_t i = 0; i < channel.size(); ++i) {
            const int alpha = weighs && c + 1 < step && alphas[i] > 0 ? alphas[i] : 255;
            ASSERT_EQ(result[i * step + c], std::min(255 * channel[i] / alpha, 255))
                << "channel " << c << " of " << channels << ", pixel " << i << " of " << one.height
                << " x " << one.width << ", filter " << static_cast<int>(interpolation);
          }
        }
      }
    }
  }
}

// A window of the result, and a part of the image that lies between pixels, as a run of operators
// asks for them.
TEST(Resampler, WeighsPartsByAlphaLikeTheWhole) {
  ExpectPartLikeWhole(4);
  // The same size, but of another part: pixels are mixed.
  Resampler resampler;
  const ImageShape two{1, 2, 2};
  const std::vector<uint8_t> black_and_none = {255, 255, 0, 0};
  resampler.Plan(two, {0.25, 0, 1.5, 1}, {1, 2, Interpolation::kBilinear, true}, {0, 0, 2, 1});
  std::vector<uint8_t> result;
  resampler.Run(Contiguous(black_and_none.data(), two).Crop(resampler.needed()),
                [&](int64_t, const uint8_t* row) { result.assign(row, row + 4); });
  EXPECT_EQ(result[0], 255);
  EXPECT_EQ(result[2], 255);
}

// numpy.asarray(PIL.Image.merge("LA", [gray, alpha]).resize((2, 2), filter)) with Pillow 12.3 and
// 13, for gray = PIL.Image.fromarray(numpy.array([[200, 0, 40, 255], [10, 90, 255, 3], [255, 128,
// 7, 255]], dtype="uint8")) and alpha, made likewise of [[255, 0, 128, 9], [77, 255, 0, 200], [1,
// 50, 255, 254]].
TEST(Resampler, GivesPillowsValuesOfGrayWithAlpha) {
  const std::vector<uint8_t> pixels = {200, 255, 0, 0,   40,  128, 255, 9,  10, 77,  90,  255,
                                       255, 0,   3, 200, 255, 1,   128, 50, 7,  255, 255, 254};
  const auto resized = [&](Interpolation interpolation) {
    return Resized(pixels, {3, 4, 2}, {2, 2, interpolation, true});
  };
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(resized(Interpolation::kBilinear), (Bytes{136, 133, 39, 83, 65, 90, 105, 186}));
  EXPECT_EQ(resized(Interpolation::kBicubic), (Bytes{141, 141, 14, 71, 47, 81, 107, 200}));
  EXPECT_EQ(resized(Interpolation::kArea), (Bytes{128, 147, 24, 85, 127, 26, 131, 255}));
  EXPECT_EQ(resized(Interpolation::kLanczos), (Bytes{141, 144, 0, 64, 36, 76, 107, 207}));
  EXPECT_EQ(resized(Interpolation::kNearest), (Bytes{0, 0, 255, 9, 128, 50, 255, 254}));
}

TEST(ResampleWeights, AreTheirHalvesTogether) {
  for (const Interpolation interpolation : kAll) {
    ResampleWeights weights;
    weights.Compute(20, 0.5, 19.25, 7, 0, 7, interpolation, true);
    for (int64_t i = 0; i < weights.count(); ++i) {
      for (int64_t k = 0; k < weights.taps(); ++k) {
        const int16_t* const lower = weights.halves(i) + k / 4 * 8 + k % 4;
        EXPECT_GE(lower[0], 0);
        EXPECT_EQ(lower[4] * (1 << kLowBits) + lower[0], weights.weights(i)[k]);
      }
    }
  }
}

TEST(Resampler, GivesTheSameValuesOnEveryProcessor) {
  for (const Case& one : kCases) {
    const std::vector<uint8_t> pixels = RandomBytes(one.shape.values(), 9);
    const Resize resize{one.height, one.width, Interpolation::kBicubic, true};
    const std::vector<uint8_t> expected = Resized(pixels, one.shape, resize);
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      EXPECT_EQ(Resized(pixels, one.shape, resize), expected) << hwy::TargetName(target);
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

// PIL.Image.fromarray(numpy.array([[0, 50, 100, 250], [10, 20, 255, 30], [7, 8, 9, 200]],
// dtype="uint8")).resize((2, 2), filter), Pillow 12.3 and 13.0.
TEST(Resampler, GivesPillowsValues) {
  const std::vector<uint8_t> pixels = {0, 50, 100, 250, 10, 20, 255, 30, 7, 8, 9, 200};
  const auto resized = [&](Interpolation interpolation) {
    return Resized(pixels, {3, 4, 1}, {2, 2, interpolation, true});
  };
  EXPECT_EQ(resized(Interpolation::kBilinear), (std::vector<uint8_t>{41, 145, 23, 104}));
  EXPECT_EQ(resized(Interpolation::kBicubic), (std::vector<uint8_t>{34, 157, 16, 108}));
  EXPECT_EQ(resized(Interpolation::kArea), (std::vector<uint8_t>{20, 159, 8, 105}));
  EXPECT_EQ(resized(Interpolation::kLanczos), (std::vector<uint8_t>{33, 160, 19, 108}));
  EXPECT_EQ(resized(Interpolation::kNearest), (std::vector<uint8_t>{50, 250, 8, 200}));
}

TEST(Resampler, TakesNoMemoryForSizesThatAreOutOfReach) {
  Resampler resampler;
  const auto expect_refused = [&](const std::string& words, const ImageShape& shape, int64_t height,
                                  int64_t width) {
    ExpectError(ErrorCode::kResourceLimit, words, [&] {
      resampler.Plan(shape, WholeOf(shape), {height, width, Interpolation::kBilinear, true},
                     {0, 0, width, height});
    });
  };
  expect_refused("to resize 1000000 pixels to 1 is out of reach", {1, 1000000, 1}, 1, 1);
  expect_refused("to resize 1 pixels to 200000000 is out of reach", {1, 1, 1}, 1, 200000000);
  expect_refused("an image of 1000000 x 1000000 pixels; the limit is 268435456 pixels",
                 {1000000, 1000000, 1}, 1000000, 1000000);
  // The result is small, but not the rows before the columns are resized.
  expect_refused("an image of 65500 x 65500 pixels", {65500, 1, 3}, 10, 65500);
  ExpectError(ErrorCode::kInvalidArgument, "cannot be resized to 0 x 5", [&] {
    resampler.Plan({4, 4, 1}, WholeOf({4, 4, 1}), {0, 5, Interpolation::kBilinear, true},
                   {0, 0, 5, 0});
  });
}

}  // namespace
}  // namespace millhopper
