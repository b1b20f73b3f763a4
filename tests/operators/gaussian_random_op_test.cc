// SPDX-License-Identifier: Apache-2.0
// gaussian_random.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "tests/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Random(const std::vector<int32_t>& shape, DataType type, uint64_t run_seed,
                 Attributes attributes) {
  attributes.emplace_back("shape", shape);
  attributes.emplace_back("dtype", static_cast<int32_t>(type));
  return RunOp("gaussian_random", {}, {"Out"}, attributes, {{}, run_seed}).at("Out");
}

struct Golden {
  uint64_t run_seed;
  int32_t seed;
  std::vector<double> values;
};

// Computed apart from this code, from the definitions in framework/base/random.h. They hold as long
// as kOrderVersion does.
const std::vector<Golden>& GoldenValues() {
  static_assert(kOrderVersion == 2);
  static const auto* golden = new std::vector<Golden>{
      {0, 0, {0.0061612645557879622, 0.295881361043144, 0.90185864387945991, 0.5105141530182612}},
      {1, 0, {-0.4444721456961705, 1.6200923524257844, 0.092488783166694788, -0.75862792038687377}},
      {0, 7, {0.31069134839214441, 2.7444681481636439, 0.32364372792329771, 0.26754389440941745}},
      {uint64_t{1} << 40,
       -3,
       {0.48250616767929821, 0.29507065450955194, -0.22376311447829256, -0.37969109425974079}},
  };
  return *golden;
}

TEST(GaussianRandomOp, HasTheValuesOfItsSeeds) {
  for (const Golden& golden : GoldenValues()) {
    const Attributes seed = {{"seed", golden.seed}};
    const std::vector<double> wide =
        ValuesOf<double>(Random({2, 2}, DataType::kFp64, golden.run_seed, seed));
    const std::vector<float> narrow =
        ValuesOf<float>(Random({4}, DataType::kFp32, golden.run_seed, seed));
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(wide[i], golden.values[i], 1e-14);
      EXPECT_FLOAT_EQ(narrow[i], static_cast<float>(golden.values[i]));
    }
  }
}

TEST(GaussianRandomOp, GivesValueIWhateverTheLength) {
  const std::vector<float> few = ValuesOf<float>(Random({3}, DataType::kFp32, 5, {}));
  std::vector<float> many = ValuesOf<float>(Random({10, 3}, DataType::kFp32, 5, {}));
  many.resize(3);
  EXPECT_EQ(few, many);
}

TEST(GaussianRandomOp, DependsOnTheNameOfTheVariable) {
  const auto values_of = [](const std::string& name) {
    const std::string program = "blocks { idx: 0 parent_idx: -1 vars { name: \"" + name +
                                "\" persistable: true type { type: LOD_TENSOR } } ops { type: "
                                "\"gaussian_random\" outputs { parameter: \"Out\" arguments: \"" +
                                name + "\" } attrs { name: \"shape\" ints: 4 } } }";
    Scope scope;
    Executor().Run(Program::FromString(program, "test.pbtxt"), ProgramRole::kStartup, &scope);
    return ValuesOf<float>(scope.Find(name)->Get<LoDTensor>());
  };
  EXPECT_EQ(values_of("w1"), values_of("w1"));
  EXPECT_NE(values_of("w1"), values_of("w2"));
}

TEST(GaussianRandomOp, HasItsMeanAndDeviation) {
  const std::vector<double> values =
      ValuesOf<double>(Random({100001}, DataType::kFp64, 1, {{"mean", 3.0f}, {"std", 2.0f}}));
  double sum = 0, squares = 0, neighbours = 0;
  size_t beyond = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = (values[i] - 3) / 2;
    sum += value;
    squares += value * value;
    if (i > 0) neighbours += value * (values[i - 1] - 3) / 2;
    if (std::abs(value) > 2) ++beyond;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(neighbours / count, 0, 0.01);
  EXPECT_NEAR(static_cast<double>(beyond) / count, 0.0455, 0.003);
}

TEST(GaussianRandomOp, IsItsMeanWithoutDeviation) {
  EXPECT_EQ(ValuesOf<float>(Random({2}, DataType::kFp32, 1, {{"mean", 0.5f}, {"std", 0.0f}})),
            (std::vector<float>{0.5f, 0.5f}));
}

TEST(GaussianRandomOp, TakesNoRows) {
  EXPECT_EQ(Random({0, 2}, DataType::kFp32, 0, {}).dims(), (Dims{0, 2}));
}

TEST(GaussianRandomOp, RefusesOtherTypesAndShapes) {
  const auto refused = [](const std::string& words, const Attributes& attributes) {
    ExpectRefused(words, "gaussian_random", {}, {"Out"}, attributes);
  };
  const std::vector<int32_t> shape = {1};
  refused("attribute 'dtype' is 3; it must be 5 (float32) or 6 (float64)",
          {{"shape", shape}, {"dtype", 3}});
  refused("attribute 'dtype' is 7", {{"shape", shape}, {"dtype", 7}});
  refused("shape", {});
  refused("attribute 'shape' is -1", {{"shape", std::vector<int32_t>{-1}}});
  refused("attribute 'std' is -1; it must be at least 0", {{"shape", shape}, {"std", -1.0f}});
}

}  // namespace
}  // namespace millhopper
