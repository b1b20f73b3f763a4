// SPDX-License-Identifier: Apache-2.0
// The operator create_multi_pass_reader.
#include <gtest/gtest.h>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers() {
  SourceSpec spec;
  spec.records = 3;
  return MakePlannedSource(spec);
}

std::string MultiPass(const AttributeTexts& attributes) {
  return DecoratorProgram("create_multi_pass_reader", attributes);
}

TEST(CreateMultiPassReaderOp, YieldsAllPassesAsOne) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.Startup(MultiPass({{"pass_num", "i: 3"}}));
  const std::vector<ElementValue> once = ReadAll(Numbers().get());
  std::vector<ElementValue> expected;
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), once.begin(), once.end());
  EXPECT_EQ(runner.ReadAllOf("out"), expected);
  EXPECT_EQ(runner.Reader("out").origin(),
            "reader 'out' (create_multi_pass_reader, startup.pbtxt:6)");
}

TEST(CreateMultiPassReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.ExpectProblem(MultiPass({{"pass_num", "i: 0"}}),
                       "attribute 'pass_num' is 0; it must be at least 1");
  runner.ExpectProblem(MultiPass({{"pass_num", "i: -2"}}), "attribute 'pass_num' is -2");
  runner.ExpectProblem(MultiPass({}), "attribute 'pass_num' is missing");
}

}  // namespace
}  // namespace millhopper
