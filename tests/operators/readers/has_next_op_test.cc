// SPDX-License-Identifier: Apache-2.0
// The operator has_next.
#include <gtest/gtest.h>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const std::string kProgram =
    BlockText(0, -1,
              {ReaderText("source"), TensorText("has_next", "BOOL", {1}),
               OpText("has_next", {{"Reader", {"source"}}}, {{"Out", {"has_next"}}})});

TEST(HasNextOp, TellsTheEndAndReadsNothing) {
  SourceSpec spec;
  spec.records = 2;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Main(kProgram);
  std::vector<LoDTensor> element;
  for (int64_t record = 0; record < 2; ++record) {
    for (int i = 0; i < 2; ++i) {
      runner.Again();
      EXPECT_TRUE(runner.Tensor("has_next").scalar<bool>());
    }
    runner.Reader("source").ReadNext(&element);
    EXPECT_EQ(element[0].scalar<int64_t>(), record);
  }
  for (int i = 0; i < 2; ++i) {
    runner.Again();
    EXPECT_FALSE(runner.Tensor("has_next").scalar<bool>());
    EXPECT_EQ(runner.Tensor("has_next").dims(), Dims({1}));
  }
}

TEST(HasNextOp, ThrowsAnErrorAgainAndAgain) {
  SourceSpec spec;
  spec.records = 2;
  spec.plan_error = 0;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  const std::optional<Thrown> first = ErrorOf([&] { runner.Main(kProgram); });
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->is_end);
  EXPECT_NE(first->text.find("while running operator 'has_next' (main.pbtxt:"), std::string::npos)
      << first->text;
  EXPECT_EQ(ErrorOf([&] { runner.Again(); }), first);
}

TEST(HasNextOp, RefusesAReaderThatWasNotCreated) {
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "'source'", [&] { runner.Main(kProgram); });
}

TEST(HasNextOp, RefusesAVariableThatIsNoReader) {
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "'x'", [&] {
    runner.Main(BlockText(0, -1,
                          {TensorText("x", "BOOL", {1}), TensorText("has_next", "BOOL", {1}),
                           FillText("x", "BOOL", 1),
                           OpText("has_next", {{"Reader", {"x"}}}, {{"Out", {"has_next"}}})}));
  });
}

}  // namespace
}  // namespace millhopper
