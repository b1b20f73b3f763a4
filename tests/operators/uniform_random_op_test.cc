// SPDX-License-Identifier: Apache-2.0
// uniform_random.
#include <gtest/gtest.h>

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
  return RunOp("uniform_random", {}, {"Out"}, attributes, {{}, run_seed}).at("Out");
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
      {0,
       0,
       {-0.91430629710563727, -0.50662734556459998, -0.16901360850639136, -0.83603971154456547}},
      {1,
       0,
       {0.51226359794159548, -0.41476880344273126, -0.49348442823012784, 0.53861645433553007}},
      {0,
       7,
       {0.95589446898556596, -0.53588195146903916, -0.8312241571186445, -0.78011534565464813}},
      {uint64_t{1} << 40,
       -3,
       {-0.70439078163384172, -0.82529248304016023, -0.81489851459413298, 0.33048836626822187}},
  };
  return *golden;
}

TEST(UniformRandomOp, HasTheValuesOfItsSeeds) {
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

TEST(UniformRandomOp, GivesValueIWhateverTheLength) {
  const std::vector<float> few = ValuesOf<float>(Random({3}, DataType::kFp32, 5, {}));
  std::vector<float> many = ValuesOf<float>(Random({10, 3}, DataType::kFp32, 5, {}));
  many.resize(3);
  EXPECT_EQ(few, many);
}

TEST(UniformRandomOp, DependsOnTheNameOfTheVariable) {
  const auto values_of = [](const std::string& name) {
    const std::string program = "blocks { idx: 0 parent_idx: -1 vars { name: \"" + name +
                                "\" persistable: true type { type: LOD_TENSOR } } ops { type: "
                                "\"uniform_random\" outputs { parameter: \"Out\" arguments: \"" +
                                name + "\" } attrs { name: \"shape\" ints: 4 } } }";
    Scope scope;
    Executor().Run(Program::FromString(program, "test.pbtxt"), ProgramRole::kStartup, &scope);
    return ValuesOf<float>(scope.Find(name)->Get<LoDTensor>());
  };
  EXPECT_EQ(values_of("w1"), values_of("w1"));
  EXPECT_NE(values_of("w1"), values_of("w2"));
}

TEST(UniformRandomOp, FillsTheRangeEvenly) {
  const std::vector<float> values =
      ValuesOf<float>(Random({100000}, DataType::kFp32, 1, {{"min", 2.0f}, {"max", 4.0f}}));
  double sum = 0;
  size_t low = 0;
  for (const float value : values) {
    ASSERT_GE(value, 2.0f);
    ASSERT_LE(value, 4.0f);
    sum += value;
    if (value < 2.5f) ++low;
  }
  EXPECT_NEAR(sum / 100000, 3.0, 0.01);
  EXPECT_NEAR(static_cast<double>(low) / 100000, 0.25, 0.01);
}

TEST(UniformRandomOp, TakesARangeOfOneValue) {
  EXPECT_EQ(ValuesOf<float>(Random({2}, DataType::kFp32, 1, {{"min", 0.5f}, {"max", 0.5f}})),
            (std::vector<float>{0.5f, 0.5f}));
}

TEST(UniformRandomOp, TakesNoRows) {
  EXPECT_EQ(Random({0, 2}, DataType::kFp32, 0, {}).dims(), (Dims{0, 2}));
}

TEST(UniformRandomOp, RefusesOtherTypesAndShapes) {
  const auto refused = [](const std::string& words, const Attributes& attributes) {
    ExpectRefused(words, "uniform_random", {}, {"Out"}, attributes);
  };
  const std::vector<int32_t> shape = {1};
  refused("attribute 'dtype' is 3; it must be 5 (float32) or 6 (float64)",
          {{"shape", shape}, {"dtype", 3}});
  refused("attribute 'dtype' is 7", {{"shape", shape}, {"dtype", 7}});
  refused("shape", {});
  refused("attribute 'shape' is -1", {{"shape", std::vector<int32_t>{-1}}});
  refused("attribute 'max' is 1, below 'min', which is 2", {{"shape", shape}, {"min", 2.0f}});
}

}  // namespace
}  // namespace millhopper
