// SPDX-License-Identifier: Apache-2.0
// The operator create_unbatch_reader.
#include <gtest/gtest.h>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers(bool ragged) {
  SourceSpec spec;
  spec.records = 10;
  spec.ragged = ragged;
  return MakePlannedSource(spec);
}

std::string BatchAndUnbatch(const std::string& mode, const std::string& unbatch_mode) {
  return BlockText(
      0, -1,
      {ReaderText("source"), ReaderText("batches"), ReaderText("out"),
       OpText("create_batch_reader", {{"UnderlyingReader", {"source"}}}, {{"Out", {"batches"}}},
              {{"batch_size", "i: 4"}, {"mode", "s: \"" + mode + "\""}}),
       OpText("create_unbatch_reader", {{"UnderlyingReader", {"batches"}}}, {{"Out", {"out"}}},
              {{"mode", "s: \"" + unbatch_mode + "\""}})});
}

TEST(CreateUnbatchReaderOp, UndoesABatch) {
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    for (const std::string mode : {"concat", "stack"}) {
      ProgramRunner runner;
      runner.Reader("source").Reset(Numbers(false));
      runner.Startup(BatchAndUnbatch(mode, mode));
      EXPECT_EQ(runner.ReadAllOf("out"), ReadAll(Numbers(false).get())) << mode;
      EXPECT_EQ(runner.Reader("out").slots()[0].dims, Dims({1, 1}));
    }
    ProgramRunner runner;
    runner.Reader("source").Reset(Numbers(true));
    runner.Startup(BatchAndUnbatch("concat", "concat"));
    EXPECT_EQ(runner.ReadAllOf("out"), ReadAll(Numbers(true).get()));
  }
}

TEST(CreateUnbatchReaderOp, RefusesToTakeTheAxisFromSequences) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers(true));
  ExpectError(ErrorCode::kInvalidArgument, "use mode \"concat\"",
              [&] { runner.Startup(BatchAndUnbatch("concat", "stack")); });
}

}  // namespace
}  // namespace millhopper
