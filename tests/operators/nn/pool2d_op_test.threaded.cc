// SPDX-License-Identifier: Apache-2.0
// pool2d and pool2d_grad.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Values that are all different.
LoDTensor Some(const Dims& dims) {
  std::vector<double> values;
  for (int64_t i = 0; i < Product(dims); ++i) {
    values.push_back(static_cast<double>(i * 37 % 1009) / 64 - 7);
  }
  return MakeTensor(dims, values);
}

struct Case {
  Dims x;
  std::string type;
  Ints ksize, strides{1, 1}, paddings{0, 0};
  bool exclusive = true;
  bool ceil_mode = false;
  bool global_pooling = false;

  Attributes attributes() const {
    return {{"pooling_type", type},
            {"ksize", ksize},
            {"strides", strides},
            {"paddings", paddings},
            {"exclusive", exclusive},
            {"ceil_mode", ceil_mode},
            {"global_pooling", global_pooling}};
  }
};

LoDTensor Pool2d(const Case& c, const LoDTensor& x) {
  return RunOp("pool2d", {{"X", x}}, {"Out"}, c.attributes()).at("Out");
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* type : {"max", "avg"}) {
    for (const bool exclusive : {true, false}) {
      cases.push_back({{2, 2, 4, 6}, type, {2, 2}, {2, 2}, {0, 0}, exclusive});
      cases.push_back({{1, 3, 5, 4}, type, {3, 2}, {1, 1}, {1, 1}, exclusive});
      cases.push_back({{1, 1, 7, 6}, type, {3, 3}, {2, 2}, {1, 1}, exclusive, true});
      cases.push_back({{2, 1, 4, 4}, type, {2, 3}, {2, 3}, {1, 0}, exclusive, true});
      cases.push_back({{2, 2, 3, 5}, type, {-1, -1}, {2, 2}, {1, 1}, exclusive, false, true});
    }
  }
  return cases;
}

// The pooling, value by value.
std::vector<double> Pooled(const Case& c, const LoDTensor& x, const Dims& out) {
  const double* values = x.data<double>();
  std::vector<double> pooled;
  for (int64_t plane = 0; plane < out[0] * out[1]; ++plane) {
    for (int64_t y = 0; y < out[2]; ++y) {
      for (int64_t z = 0; z < out[3]; ++z) {
        double highest = -1e300, sum = 0;
        int covered = 0;
        for (int64_t row = 0; row < c.x[2]; ++row) {
          for (int64_t column = 0; column < c.x[3]; ++column) {
            const int64_t i = row + c.paddings[0] - y * c.strides[0];
            const int64_t j = column + c.paddings[1] - z * c.strides[1];
            const bool is_covered = i >= 0 && j >= 0 && i < c.ksize[0] && j < c.ksize[1];
            if (!is_covered && !c.global_pooling) continue;
            const double value = values[(plane * c.x[2] + row) * c.x[3] + column];
            highest = std::max(highest, value);
            sum += value;
            ++covered;
          }
        }
        const int divisor = c.exclusive || c.global_pooling ? covered : c.ksize[0] * c.ksize[1];
        pooled.push_back(c.type == "max" ? highest : sum / divisor);
      }
    }
  }
  return pooled;
}

TEST(Pool2dOp, TakesTheHighestValueOrTheMean) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.type + " of " + ToString(c.x));
    const LoDTensor x = Some(c.x);
    const LoDTensor out = Pool2d(c, x);
    const std::vector<double> expected = Pooled(c, x, out.dims());
    const std::vector<double> values = ValuesOf<double>(out);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-12) << i;
  }
}

TEST(Pool2dOp, MakesAsManyValuesAsWindowsFit) {
  const auto dims = [](const Case& c) { return Pool2d(c, Some(c.x)).dims(); };
  EXPECT_EQ(dims({{1, 2, 5, 7}, "max", {2, 2}, {2, 2}}), (Dims{1, 2, 2, 3}));
  EXPECT_EQ(dims({{1, 2, 5, 7}, "max", {2, 2}, {2, 2}, {0, 0}, true, true}), (Dims{1, 2, 3, 4}));
  EXPECT_EQ(dims({{1, 1, 7, 7}, "avg", {3, 3}, {2, 2}, {1, 1}}), (Dims{1, 1, 4, 4}));
  EXPECT_EQ(dims({{0, 1, 7, 7}, "avg", {3, 3}}), (Dims{0, 1, 5, 5}));
}

TEST(Pool2dOp, TakesFloatsAndPassesNaNOn) {
  const auto f = static_cast<float>(kNaN);
  const LoDTensor x = MakeTensor<float>({1, 1, 2, 4}, {1, 2, f, 3, 4, 0, 5, 6});
  const std::vector<float> out = ValuesOf<float>(Pool2d({{}, "max", {2, 2}, {2, 2}}, x));
  EXPECT_EQ(out[0], 4);
  EXPECT_TRUE(std::isnan(out[1]));
}

TEST(Pool2dOp, KeepsLevelsOfDetail) {
  LoDTensor x = Some({3, 1, 2, 2});
  x.set_lod({{0, 1, 3}});
  EXPECT_EQ(Pool2d({{}, "max", {2, 2}}, x).lod(), x.lod());
}

TEST(Pool2dOp, HasTheGradientOfDifferences) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.type + " of " + ToString(c.x));
    ExpectGradients(
        {"pool2d", {{"X", Some(c.x)}}, {"Out"}, "Out", {"X", "Out"}, {"X"}, c.attributes()});
  }
}

TEST(Pool2dOp, GivesTheGradientToTheFirstOfEqualValues) {
  const LoDTensor x = MakeTensor<double>({1, 1, 2, 3}, {1, 3, 3, 3, kNaN, kNaN});
  const LoDTensor dout = MakeTensor<double>({1, 1, 1, 2}, {5, 7});
  const auto gradient = RunOp("pool2d_grad", {{"X", x}, {"Out@GRAD", dout}}, {"X@GRAD"},
                              Case{{}, "max", {1, 2}, {2, 1}}.attributes());
  EXPECT_EQ(ValuesOf<double>(gradient.at("X@GRAD")), (std::vector<double>{0, 12, 0, 0, 0, 0}));
  const LoDTensor one = MakeTensor<double>({1, 1, 1, 1}, {4});
  const auto of_nan = RunOp("pool2d_grad", {{"X", x}, {"Out@GRAD", one}}, {"X@GRAD"},
                            Case{{}, "max", {2, 3}}.attributes());
  EXPECT_EQ(ValuesOf<double>(of_nan.at("X@GRAD")), (std::vector<double>{0, 0, 0, 0, 4, 0}));
}

TEST(Pool2dOp, HasTheSameBitsForAnyNumberOfThreads) {
  for (const char* type : {"max", "avg"}) {
    const Case c{{13, 3, 9, 11}, type, {3, 3}, {2, 2}, {1, 1}};
    const LoDTensor x = Some(c.x);
    std::vector<std::vector<double>> expected;
    for (const int threads : {0, 1, 2, 7}) {
      const PoolSize pool(threads);
      const LoDTensor out = Pool2d(c, x);
      const auto gradient =
          RunOp("pool2d_grad", {{"X", x}, {"Out@GRAD", out}}, {"X@GRAD"}, c.attributes());
      const std::vector<std::vector<double>> values = {ValuesOf<double>(out),
                                                       ValuesOf<double>(gradient.at("X@GRAD"))};
      if (threads == 0) expected = values;
      EXPECT_TRUE(values == expected) << type << ", " << threads << " threads";
    }
  }
}

TEST(Pool2dOp, RefusesWhatDoesNotFit) {
  const auto refuse = [](const std::string& words, const Dims& x, const Case& c) {
    ExpectRefused(words, "pool2d", {{"X", Some(x)}}, {"Out"}, c.attributes());
  };
  refuse("is float64 [2, 2]; images [N, C, H, W] are needed", {2, 2}, {{}, "max", {1, 1}});
  refuse("images have a height and a width of at least 1", {1, 1, 0, 2}, {{}, "max", {1, 1}});
  refuse("of its width every window must cover a value; they are 4 long, 1 apart, and begin in 0",
         {1, 1, 3, 3}, {{}, "max", {3, 4}});
  refuse("of its height every window must cover a value; they are 2 long, 1 apart, and begin in 2",
         {1, 1, 3, 3}, {{}, "avg", {2, 2}, {1, 1}, {2, 0}});
  refuse("every window must cover a value", {1, 1, 5, 5},
         {{}, "avg", {1, 1}, {3, 3}, {0, 0}, true, true});
  refuse("attribute 'ksize' is [0, 2]; a window has", {1, 1, 3, 3}, {{}, "max", {0, 2}});
  refuse("attribute 'ksize' has 3 values; it takes two", {1, 1, 3, 3}, {{}, "max", {1, 2, 3}});
  refuse("attribute 'pooling_type' is \"sum\"", {1, 1, 3, 3}, {{}, "sum", {1, 2}});
  ExpectRefused("attribute 'ksize' is missing", "pool2d", {{"X", Some({1, 1, 1, 1})}}, {"Out"},
                {{"pooling_type", std::string("max")}});
  ExpectRefused("the types taken are float32, float64", "pool2d",
                {{"X", MakeTensor<int32_t>({1, 1, 1, 1}, {1})}}, {"Out"},
                Case{{}, "max", {1, 1}}.attributes());
  ExpectRefused("is float64 [1, 1, 1, 1]; dims [1, 1, 2, 2] are needed", "pool2d_grad",
                {{"X", Some({1, 1, 2, 2})}, {"Out@GRAD", Some({1, 1, 1, 1})}}, {"X@GRAD"},
                Case{{}, "max", {1, 1}}.attributes());
}

}  // namespace
}  // namespace millhopper
