// SPDX-License-Identifier: Apache-2.0
// conv2d and conv2d_grad.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "framework/memory/memory_limit.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;

LoDTensor Some(const Dims& dims) {
  std::vector<double> values;
  for (int64_t i = 0; i < Product(dims); ++i) {
    values.push_back(static_cast<double>(i * 37 % 101) / 64 - 0.75);
  }
  return MakeTensor(dims, values);
}

LoDTensor AsFloats(const LoDTensor& tensor) {
  const std::vector<double> values = ValuesOf<double>(tensor);
  return MakeTensor<float>(tensor.dims(), {values.begin(), values.end()});
}

struct Case {
  Dims input, filter;
  Ints strides{1, 1}, paddings{0, 0}, dilations{1, 1};
  int groups = 1;

  Attributes attributes() const {
    return {{"strides", strides},
            {"paddings", paddings},
            {"dilations", dilations},
            {"groups", int32_t{groups}}};
  }
};

std::vector<Case> Cases() {
  return {
      {{2, 3, 5, 4}, {4, 3, 3, 3}},
      {{2, 3, 5, 4}, {4, 3, 3, 2}, {1, 1}, {1, 1}},
      {{1, 2, 7, 6}, {3, 2, 3, 3}, {2, 3}, {1, 2}},
      {{1, 1, 8, 9}, {2, 1, 3, 2}, {1, 2}, {2, 0}, {2, 3}},
      {{2, 4, 4, 5}, {6, 2, 2, 3}, {1, 1}, {0, 1}, {1, 1}, 2},
      {{2, 3, 4, 4}, {3, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 3},
      {{9, 3, 3, 5}, {2, 3, 1, 1}},  // every pixel is a window
      {{2, 4, 3, 5}, {4, 2, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 2},
      {{1, 1, 1, 1}, {1, 1, 3, 3}, {1, 1}, {3, 3}},  // some windows are all padding
      {{1, 1, 2, 2}, {1, 1, 2, 2}, {5, 5}, {4, 4}},
  };
}

// The convolution, value by value.
std::vector<double> Convolved(const Case& c, const LoDTensor& input, const LoDTensor& filter,
                              const Dims& out) {
  const double* x = input.data<double>();
  const double* w = filter.data<double>();
  const int64_t group_filters = c.filter[0] / c.groups;
  std::vector<double> values;
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      for (int64_t y = 0; y < out[2]; ++y) {
        for (int64_t z = 0; z < out[3]; ++z) {
          double sum = 0;
          for (int64_t k = 0; k < c.filter[1]; ++k) {
            const int64_t channel = o / group_filters * c.filter[1] + k;
            for (int64_t i = 0; i < c.filter[2]; ++i) {
              for (int64_t j = 0; j < c.filter[3]; ++j) {
                const int64_t row = y * c.strides[0] - c.paddings[0] + i * c.dilations[0];
                const int64_t column = z * c.strides[1] - c.paddings[1] + j * c.dilations[1];
                if (row < 0 || column < 0 || row >= c.input[2] || column >= c.input[3]) continue;
                const int64_t pixel =
                    ((n * c.input[1] + channel) * c.input[2] + row) * c.input[3] + column;
                sum += x[pixel] * w[((o * c.filter[1] + k) * c.filter[2] + i) * c.filter[3] + j];
              }
            }
          }
          values.push_back(sum);
        }
      }
    }
  }
  return values;
}

LoDTensor Conv2d(const Case& c, const LoDTensor& input, const LoDTensor& filter) {
  return RunOp("conv2d", {{"Input", input}, {"Filter", filter}}, {"Output"}, c.attributes())
      .at("Output");
}

TEST(Conv2dOp, MultipliesWindowsByFilters) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(ToString(c.input) + " by " + ToString(c.filter));
    const LoDTensor input = Some(c.input), filter = Some(c.filter);
    const LoDTensor out = Conv2d(c, input, filter);
    const std::vector<double> expected = Convolved(c, input, filter, out.dims());
    const std::vector<double> values = ValuesOf<double>(out);
    const std::vector<float> floats = ValuesOf<float>(Conv2d(c, AsFloats(input), AsFloats(filter)));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(values[i], expected[i], 1e-12) << i;
      EXPECT_NEAR(floats[i], expected[i], 1e-4) << i;
    }
  }
}

TEST(Conv2dOp, MakesAsManyValuesAsWindowsFit) {
  const auto dims = [](const Case& c) { return Conv2d(c, Some(c.input), Some(c.filter)).dims(); };
  EXPECT_EQ(dims({{1, 1, 7, 9}, {1, 1, 3, 3}}), (Dims{1, 1, 5, 7}));
  EXPECT_EQ(dims({{1, 1, 7, 9}, {1, 1, 3, 3}, {2, 2}, {1, 1}}), (Dims{1, 1, 4, 5}));
  EXPECT_EQ(dims({{1, 1, 8, 8}, {1, 1, 3, 3}, {2, 3}}), (Dims{1, 1, 3, 2}));
  EXPECT_EQ(dims({{1, 1, 5, 5}, {1, 1, 3, 3}, {1, 1}, {0, 0}, {2, 1}}), (Dims{1, 1, 1, 3}));
  EXPECT_EQ(dims({{0, 3, 5, 5}, {2, 3, 3, 3}}), (Dims{0, 2, 3, 3}));
}

TEST(Conv2dOp, KeepsLevelsOfDetail) {
  LoDTensor input = Some({3, 1, 2, 2});
  input.set_lod({{0, 1, 3}});
  EXPECT_EQ(Conv2d({input.dims(), {1, 1, 2, 2}}, input, Some({1, 1, 2, 2})).lod(), input.lod());
}

// An image of more windows than are taken at once.
Case Large() { return {{3, 4, 150, 140}, {5, 4, 3, 3}, {1, 1}, {1, 0}, {1, 1}, 1}; }

TEST(Conv2dOp, TakesLargeImagesInTiles) {
  const Case c = Large();
  const LoDTensor input = Some(c.input), filter = Some(c.filter);
  const LoDTensor out = Conv2d(c, input, filter);
  const std::vector<double> expected = Convolved(c, input, filter, out.dims());
  const std::vector<double> values = ValuesOf<double>(out);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(values[i], expected[i], 1e-12) << i;
}

TEST(Conv2dOp, HasTheGradientOfDifferences) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(ToString(c.input) + " by " + ToString(c.filter));
    ExpectGradients({"conv2d",
                     {{"Input", Some(c.input)}, {"Filter", Some(c.filter)}},
                     {"Output"},
                     "Output",
                     {"Input", "Filter"},
                     {"Input", "Filter"},
                     c.attributes()});
  }
}

TEST(Conv2dOp, HasNoGradientOfNoImages) {
  const auto gradients = RunOp("conv2d_grad",
                               {{"Input", Some({0, 1, 3, 3})},
                                {"Filter", Some({1, 1, 2, 2})},
                                {"Output@GRAD", Some({0, 1, 2, 2})}},
                               {"Input@GRAD", "Filter@GRAD"});
  EXPECT_EQ(gradients.at("Input@GRAD").dims(), (Dims{0, 1, 3, 3}));
  EXPECT_EQ(ValuesOf<double>(gradients.at("Filter@GRAD")), std::vector<double>(4, 0));
}

// Outputs and gradients of some images, as floats.
std::vector<std::vector<float>> AllValues(const Case& c) {
  const LoDTensor input = AsFloats(Some(c.input)), filter = AsFloats(Some(c.filter));
  const LoDTensor out = Conv2d(c, input, filter);
  const auto gradients =
      RunOp("conv2d_grad", {{"Input", input}, {"Filter", filter}, {"Output@GRAD", out}},
            {"Input@GRAD", "Filter@GRAD"}, c.attributes());
  return {ValuesOf<float>(out), ValuesOf<float>(gradients.at("Input@GRAD")),
          ValuesOf<float>(gradients.at("Filter@GRAD"))};
}

TEST(Conv2dOp, HasTheSameBitsForAnyNumberOfThreads) {
  for (const Case& c : {Large(), Case{{21, 3, 9, 11}, {7, 3, 3, 3}, {2, 1}, {1, 1}}}) {
    std::vector<std::vector<float>> expected;
    for (const int threads : {0, 1, 2, 7}) {
      const PoolSize pool(threads);
      const std::vector<std::vector<float>> values = AllValues(c);
      if (threads == 0) expected = values;
      EXPECT_TRUE(values == expected) << threads << " threads";
    }
  }
}

TEST(Conv2dOp, NeedsNoMoreMemoryForMoreThreads) {
  const std::vector<std::vector<float>> expected = AllValues(Large());
  const PoolSize pool(7);
  const LimitInForce limit(64 << 20);
  const LittleRoomAhead little(1 << 10);
  EXPECT_TRUE(AllValues(Large()) == expected);
}

TEST(Conv2dOp, RefusesWhatDoesNotFit) {
  const LoDTensor input = Some({1, 4, 5, 6});
  const LoDTensor filter = Some({3, 2, 3, 3});
  const auto refuse = [&](const std::string& words, const LoDTensor& x, const LoDTensor& w,
                          const Attributes& attributes = {}) {
    ExpectRefused(words, "conv2d", {{"Input", x}, {"Filter", w}}, {"Output"}, attributes);
  };
  refuse("input 'Input' (variable 'input_variable') is float64 [2, 2]; images [N, C, H, W]",
         Some({2, 2}), filter);
  refuse("'Filter' (variable 'filter_variable') is float64 [4]; filters [O, C / groups, height",
         input, Some({4}));
  refuse("with groups = 1 the dims of the filters are [O, 4 / 1, height, width]", input, filter);
  refuse("must be a multiple of groups = 2", input, filter, {{"groups", int32_t{2}}});
  refuse("no dim may be 0", input, Some({0, 4, 3, 3}));
  refuse("its height and 2 places of padding are less than the 9 that a filter covers", input,
         Some({1, 4, 5, 3}), {{"paddings", Ints{1, 0}}, {"dilations", Ints{2, 1}}});
  refuse("its width and 0 places of padding are less than the 7", input, Some({1, 4, 1, 7}));
  refuse("attribute 'strides' has 1 values; it takes two", input, filter, {{"strides", Ints{1}}});
  refuse("attribute 'strides' is 0; it must be at least 1", input, filter,
         {{"strides", Ints{0, 1}}});
  refuse("attribute 'paddings' is [0, 2000000000]; at most 1048576 is taken", input, filter,
         {{"paddings", Ints{0, 2000000000}}});
  refuse("float64 is needed, the type of 'Input'", input, AsFloats(filter));
  const LoDTensor ints = MakeTensor<int32_t>({1, 1, 1, 1}, {1});
  refuse("the types taken are float32, float64", ints, ints);
  ExpectRefused(
      "input 'Output@GRAD' (variable 'output@grad_variable') is float64 [1, 1, 1, 1]; "
      "dims [1, 1, 3, 4] are needed",
      "conv2d_grad",
      {{"Input", input}, {"Filter", Some({1, 4, 3, 3})}, {"Output@GRAD", Some({1, 1, 1, 1})}},
      {"Input@GRAD"});
}

}  // namespace
}  // namespace millhopper
