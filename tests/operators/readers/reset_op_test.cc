// SPDX-License-Identifier: Apache-2.0
// The operator reset.
#include <gtest/gtest.h>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const std::string kProgram =
    BlockText(0, -1, {ReaderText("source"), OpText("reset", {{"Reader", {"source"}}}, {})});

int64_t Next(ProgramRunner* runner) {
  std::vector<LoDTensor> element;
  runner->Reader("source").ReadNext(&element);
  return element[0].scalar<int64_t>();
}

TEST(ResetOp, BeginsAPassFromWhereverTheReaderIs) {
  SourceSpec spec;
  spec.records = 3;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Main(kProgram);  // from the beginning
  EXPECT_EQ(Next(&runner), 0);
  EXPECT_EQ(Next(&runner), 1);
  runner.Again();  // from the middle
  for (int64_t record = 0; record < 3; ++record) EXPECT_EQ(Next(&runner), record);
  EXPECT_FALSE(runner.Reader("source").HasNext());
  runner.Again();  // from the end
  EXPECT_EQ(Next(&runner), 0);
}

TEST(ResetOp, BeginsAPassAfterAnError) {
  SourceSpec spec;
  spec.records = 3;
  spec.load_error = 1;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Main(kProgram);
  EXPECT_EQ(Next(&runner), 0);
  EXPECT_TRUE(ErrorOf([&] { Next(&runner); }));
  EXPECT_TRUE(ErrorOf([&] { Next(&runner); }));
  runner.Again();
  EXPECT_EQ(Next(&runner), 0);
}

}  // namespace
}  // namespace millhopper
