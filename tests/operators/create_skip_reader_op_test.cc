// SPDX-License-Identifier: Apache-2.0
// The operator create_skip_reader.
#include <gtest/gtest.h>

#include "tests/program_runner.h"
#include "tests/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers(int64_t records) {
  SourceSpec spec;
  spec.records = records;
  return MakePlannedSource(spec);
}

std::string Make(const AttributeTexts& attributes) {
  return DecoratorProgram("create_skip_reader", attributes);
}

TEST(CreateSkipReaderOp, LeavesOutTheFirstElementsOfEachPass) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(7));
  runner.Startup(Make({{"count", "i: 3"}}));
  const std::vector<ElementValue> all = ReadAll(Numbers(7).get());
  const std::vector<ElementValue> rest(all.begin() + 3, all.end());
  EXPECT_EQ(runner.ReadAllOf("out"), rest);
  runner.Reader("out").ReInit();
  EXPECT_EQ(runner.ReadAllOf("out"), rest);
}

TEST(CreateSkipReaderOp, MayLeaveOutAll) {
  for (const char* count : {"i: 7", "i: 8", "l: 9223372036854775807"}) {
    ProgramRunner runner;
    runner.Reader("source").Reset(Numbers(7));
    runner.Startup(Make({{"count", count}}));
    EXPECT_TRUE(runner.ReadAllOf("out").empty());
  }
}

TEST(CreateSkipReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(7));
  runner.ExpectProblem(Make({{"count", "i: -1"}}),
                       "attribute 'count' is -1; it must be at least 0");
  runner.ExpectProblem(Make({}), "attribute 'count' is missing");
}

}  // namespace
}  // namespace millhopper
