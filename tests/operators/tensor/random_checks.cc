// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/tensor/random_checks.h"

#include <gtest/gtest.h>

#include "framework/base/random.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// The golden values are those of this version.
static_assert(kOrderVersion == 2);

void CheckGoldenValues(const std::string& type, const std::vector<GoldenValues>& all) {
  for (const GoldenValues& golden : all) {
    const Attributes seed = {{"seed", golden.seed}};
    const std::vector<double> wide =
        ValuesOf<double>(Draw(type, {2, 2}, DataType::kFp64, golden.run_seed, seed));
    const std::vector<float> narrow =
        ValuesOf<float>(Draw(type, {4}, DataType::kFp32, golden.run_seed, seed));
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(wide[i], golden.values[i], 1e-14);
      EXPECT_FLOAT_EQ(narrow[i], static_cast<float>(golden.values[i]));
    }
  }
}

// Value i is the same for any number of values.
void CheckLengths(const std::string& type) {
  const std::vector<float> few = ValuesOf<float>(Draw(type, {3}, DataType::kFp32, 5));
  std::vector<float> many = ValuesOf<float>(Draw(type, {10, 3}, DataType::kFp32, 5));
  many.resize(3);
  EXPECT_EQ(few, many);
  EXPECT_EQ(Draw(type, {0, 2}, DataType::kFp32, 0).dims(), (Dims{0, 2}));
}

void CheckNames(const std::string& type) {
  const auto values_of = [&type](const std::string& name) {
    const std::string program = "blocks { idx: 0 parent_idx: -1 vars { name: \"" + name +
                                "\" persistable: true type { type: LOD_TENSOR } } ops { type: \"" +
                                type + "\" outputs { parameter: \"Out\" arguments: \"" + name +
                                "\" } attrs { name: \"shape\" ints: 4 } } }";
    Scope scope;
    Executor().Run(Program::FromString(program, "test.pbtxt"), ProgramRole::kStartup, &scope);
    return ValuesOf<float>(scope.Find(name)->Get<LoDTensor>());
  };
  EXPECT_EQ(values_of("w1"), values_of("w1"));
  EXPECT_NE(values_of("w1"), values_of("w2"));
}

void CheckRefusals(const std::string& type) {
  const auto refused = [&type](const std::string& words, const Attributes& attributes) {
    ExpectRefused(words, type, {}, {"Out"}, attributes);
  };
  const std::vector<int32_t> shape = {1};
  refused("attribute 'dtype' is 3; it must be 5 (float32) or 6 (float64)",
          {{"shape", shape}, {"dtype", 3}});
  refused("attribute 'dtype' is 7", {{"shape", shape}, {"dtype", 7}});
  refused("shape", {});
  refused("attribute 'shape' is -1", {{"shape", std::vector<int32_t>{-1}}});
}

}  // namespace

LoDTensor Draw(const std::string& type, const std::vector<int32_t>& shape, DataType dtype,
               uint64_t run_seed, Attributes attributes) {
  attributes.emplace_back("shape", shape);
  attributes.emplace_back("dtype", static_cast<int32_t>(dtype));
  return RunOp(type, {}, {"Out"}, attributes, {{}, run_seed}).at("Out");
}

void CheckRandomOp(const std::string& type, const std::vector<GoldenValues>& golden) {
  CheckGoldenValues(type, golden);
  CheckLengths(type);
  CheckNames(type);
  CheckRefusals(type);
}

}  // namespace millhopper
