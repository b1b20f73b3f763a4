// SPDX-License-Identifier: Apache-2.0
// abs, exp, log, log1p and sqrt.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

struct Row {
  const char* type;
  double (*function)(double);
};

const Row kRows[] = {
    {"abs", [](double x) { return x < 0 || std::signbit(x) ? -x : x; }},
    {"exp", [](double x) { return std::pow(std::exp(1.0), x); }},
    {"log", [](double x) { return std::log2(x) * std::log(2.0); }},
    {"log1p", [](double x) { return std::log2(1 + x) * std::log(2.0); }},
    {"sqrt", [](double x) { return std::pow(x, 0.5); }},
};

TEST(FunctionsOfOneValue, ComputeValueByValue) {
  const std::vector<double> values = {0.25, 1, 2, 7.5, 0.001};
  const LoDTensor x = MakeTensor<double>({5, 1}, values, {{0, 2, 5}});
  const LoDTensor small = MakeTensor<float>({1}, {0.5f});
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.type);
    for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"Out", "X"}}, 0}}) {
      const LoDTensor out = RunOp(row.type, {{"X", x}}, {"Out"}, {}, options).at("Out");
      EXPECT_EQ(out.lod(), x.lod());
      const std::vector<double> results = ValuesOf<double>(out);
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(results[i], row.function(values[i]), 1e-12);
      }
    }
    const LoDTensor out = RunOp(row.type, {{"X", small}}, {"Out"}).at("Out");
    EXPECT_NEAR(ValuesOf<float>(out)[0], row.function(0.5), 1e-6);
  }
}

TEST(FunctionsOfOneValue, AtTheirEdges) {
  const auto of = [](const char* type, double x) {
    return ValuesOf<double>(
        RunOp(type, {{"X", MakeTensor<double>({1}, {x})}}, {"Out"}).at("Out"))[0];
  };
  EXPECT_EQ(of("log", 0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(of("log", -1)));
  EXPECT_TRUE(std::isnan(of("sqrt", -1)));
  EXPECT_EQ(of("log1p", 0), 0);
  EXPECT_EQ(of("log1p", 1e-20), 1e-20);
  EXPECT_FALSE(std::signbit(of("abs", -0.0)));
}

TEST(AbsOp, TakesIntegers) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  const LoDTensor x = MakeTensor<int64_t>({3}, {-5, 5, kLowest});
  EXPECT_EQ(ValuesOf<int64_t>(RunOp("abs", {{"X", x}}, {"Out"}).at("Out")),
            (std::vector<int64_t>{5, 5, kLowest}));
}

TEST(FunctionsOfOneValue, RefuseIntegersWhoseResultsAreNone) {
  for (const char* type : {"exp", "log", "log1p", "sqrt"}) {
    ExpectRefused("is int32 [1]; the types taken are float32, float64", type,
                  {{"X", MakeTensor<int32_t>({1}, {3})}}, {"Out"});
  }
}

}  // namespace
}  // namespace millhopper
