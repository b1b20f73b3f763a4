// SPDX-License-Identifier: Apache-2.0
// The operator create_fake_reader.
#include <gtest/gtest.h>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers(int64_t records) {
  SourceSpec spec;
  spec.records = records;
  return MakePlannedSource(spec);
}

std::string Make(const AttributeTexts& attributes) {
  return DecoratorProgram("create_fake_reader", attributes);
}

TEST(CreateFakeReaderOp, YieldsTheFirstElementAgainAndAgain) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(7));
  runner.Startup(Make({{"count", "i: 300"}}));
  const std::vector<ElementValue> all = ReadAll(Numbers(7).get());
  EXPECT_EQ(runner.ReadAllOf("out"), std::vector<ElementValue>(300, all[0]));
  EXPECT_EQ(runner.Reader("source").Chain().elements, 1u) << "it is loaded once";
}

TEST(CreateFakeReaderOp, YieldsNothingOfNothing) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(0));
  runner.Startup(Make({{"count", "i: 3"}}));
  EXPECT_TRUE(runner.ReadAllOf("out").empty());
}

TEST(CreateFakeReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(7));
  runner.ExpectProblem(Make({{"count", "i: -1"}}),
                       "attribute 'count' is -1; it must be at least 0");
  runner.ExpectProblem(Make({}), "attribute 'count' is missing");
}

}  // namespace
}  // namespace millhopper
