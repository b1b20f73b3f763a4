// SPDX-License-Identifier: Apache-2.0
// The operator create_take_reader.
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
  return DecoratorProgram("create_take_reader", attributes);
}

TEST(CreateTakeReaderOp, YieldsTheFirstElementsOfEachPass) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(7));
  runner.Startup(Make({{"count", "i: 3"}}));
  const std::vector<ElementValue> all = ReadAll(Numbers(7).get());
  const std::vector<ElementValue> first(all.begin(), all.begin() + 3);
  EXPECT_EQ(runner.ReadAllOf("out"), first);
  runner.Reader("out").ReInit();
  EXPECT_EQ(runner.ReadAllOf("out"), first);
  EXPECT_EQ(ReadSome(runner.Reader("source").NewHandle().get(), 1),
            std::vector<ElementValue>{all[3]})
      << "others get the rest";
}

TEST(CreateTakeReaderOp, MayYieldNothing) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(7));
  runner.Startup(Make({{"count", "i: 0"}}));
  EXPECT_TRUE(runner.ReadAllOf("out").empty());
  EXPECT_EQ(runner.Reader("out").PassLength(), 0u);
}

TEST(CreateTakeReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(7));
  runner.ExpectProblem(Make({{"count", "i: -1"}}),
                       "attribute 'count' is -1; it must be at least 0");
  runner.ExpectProblem(Make({}), "attribute 'count' is missing");
}

}  // namespace
}  // namespace millhopper
