// SPDX-License-Identifier: Apache-2.0
// Runs of programs that are saved, stopped and gone on with, as a C++ program does it.
#include "framework/checkpoint/run_checkpoints.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "tests/program_runner.h"
#include "tests/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Numbers from files, shuffled, in batches, loaded ahead.
std::string Startup(const std::string& folder, int window = 5) {
  return BlockText(
      0, -1,
      {ReaderText("files", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("shuffled"),
       ReaderText("batches"), ReaderText("data"), TensorText("w", "FP32", {1}, 0, true),
       OpText("open_files", {}, {{"Out", {"files"}}},
              {{"file_names", StrCat("strings: \"", folder, "/numbers-*.recordio\"")}}),
       OpText("create_shuffle_reader", {{"UnderlyingReader", {"files"}}}, {{"Out", {"shuffled"}}},
              {{"buffer_size", StrCat("i: ", window)}}),
       OpText("create_batch_reader", {{"UnderlyingReader", {"shuffled"}}}, {{"Out", {"batches"}}},
              {{"batch_size", "i: 3"}}),
       OpText("create_double_buffer_reader", {{"UnderlyingReader", {"batches"}}},
              {{"Out", {"data"}}}),
       FillText("w", "FP32", 1), OpText("print", {{"In", {"w"}}}, {})});
}

std::string SubBlock(int number) { return StrCat("block_idx: ", number); }

// The operators before a loop over all passes, the loop's body (block `block`), and what follows.
const std::vector<std::string> kBefore = {
    TensorText("more", "BOOL", {1}),   TensorText("passes", "INT64", {1}),
    TensorText("limit", "INT64", {1}), FillText("passes", "INT64", 0),
    FillText("limit", "INT64", 2),     FillText("more", "BOOL", 1)};

std::string Body(int block, int parent) {
  return BlockText(block, parent,
                   {TensorText("has", "BOOL", {1}),
                    OpText("has_next", {{"Reader", {"data"}}}, {{"Out", {"has"}}}),
                    OpText("if_else", {{"Cond", {"has"}}}, {},
                           {{"true_block", SubBlock(block + 1)},
                            {"false_block", SubBlock(block + 2)}})}) +
         BlockText(block + 1, block,
                   {TensorText("x", "FP32", {-1, 2}), TensorText("y", "INT64", {-1, 1}),
                    OpText("read", {{"Reader", {"data"}}}, {{"Out", {"x", "y"}}}),
                    OpText("print", {{"In", {"y"}}}, {}),
                    OpText("scale", {{"X", {"w"}}}, {{"Out", {"w"}}},
                           {{"scale", "f: 1.25"}, {"bias", "f: 1"}}),
                    OpText("print", {{"In", {"w"}}}, {}, {{"first_n", "i: 4"}})}) +
         BlockText(
             block + 2, block,
             {OpText("reset", {{"Reader", {"data"}}}, {}),
              OpText("increment", {{"X", {"passes"}}}, {{"Out", {"passes"}}}),
              OpText("less_than", {{"X", {"passes"}}, {"Y", {"limit"}}}, {{"Out", {"more"}}})});
}

const std::vector<std::string> kAfter = {OpText("print", {{"In", {"w"}}}, {}),
                                         OpText("print", {{"In", {"passes"}}}, {})};

std::string Loop(int block) {
  return OpText("while", {{"Condition", {"more"}}}, {}, {{"sub_block", SubBlock(block)}});
}

std::vector<std::string> Joined(std::vector<std::string> parts,
                                const std::vector<std::string>& more) {
  parts.insert(parts.end(), more.begin(), more.end());
  return parts;
}

// The loop in the first block.
std::string Plain() {
  return BlockText(0, -1, Joined(Joined(kBefore, {Loop(1)}), kAfter)) + Body(1, 0);
}

// The loop in a block of if_else in a conditional block, whose conditions the first step changes.
std::string Nested() {
  const std::string conditional =
      OpText("conditional_block", {{"X", {"yes"}}}, {},
             {{"sub_block", SubBlock(1)}, {"is_scalar_condition", "b: true"}});
  return BlockText(0, -1,
                   Joined(Joined(kBefore, {TensorText("yes", "BOOL", {1}),
                                           FillText("yes", "BOOL", 1), conditional}),
                          kAfter)) +
         BlockText(1, 0,
                   {TensorText("no", "BOOL", {1}), TensorText("inner", "INT64", {1}),
                    FillText("no", "BOOL", 0), FillText("inner", "INT64", 40),
                    OpText("if_else", {{"Cond", {"no"}}}, {}, {{"false_block", SubBlock(2)}}),
                    OpText("print", {{"In", {"inner"}}}, {})}) +
         BlockText(2, 1,
                   {FillText("yes", "BOOL", 0), FillText("no", "BOOL", 1),
                    OpText("increment", {{"X", {"inner"}}}, {{"Out", {"inner"}}}), Loop(3)}) +
         Body(3, 2);
}

// What a run prints, until its end or until it is stopped.
struct Printed {
  std::string text;
  bool stopped = false;
};

struct Setup {
  std::string folder;  // of checkpoints
  std::string startup;
  std::vector<std::string> mains;
  int64_t every_steps = 1;
  size_t keep = 3;
};

// Runs the programs and stops after `steps` more steps; -1: never. What the startup program prints
// is left out in a run that goes on.
Printed RunSome(const Setup& setup, int64_t steps) {
  std::ostringstream out;
  Printed printed;
  RunCheckpointOptions options;
  options.folder = setup.folder;
  options.every_steps = setup.every_steps;
  options.keep = setup.keep;
  options.stop_wanted = [&steps] { return steps-- == 0; };
  RunCheckpoints checkpoints(options, {{"the seed", "0"}});
  std::vector<std::string> damaged;
  checkpoints.Resume(&damaged);
  std::ostringstream ignored;
  Scope scope;
  RunState run;
  run.output = checkpoints.resumes() ? &ignored : &out;
  Executor(run).Run(Program::FromString(setup.startup, "startup.pbtxt"), ProgramRole::kStartup,
                    &scope);
  checkpoints.Watch(&scope);
  run.output = &out;
  run.watcher = &checkpoints;
  std::vector<std::unique_ptr<PreparedProgram>> prepared;
  try {
    for (const std::string& main : setup.mains) {
      const auto program = Program::FromString(main, "main.pbtxt");
      prepared.push_back(Executor(run).Prepare(program, ProgramRole::kMain, &scope));
      checkpoints.Run(program, prepared.back().get());
    }
    checkpoints.Finish();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled) throw;
    printed.stopped = true;
  }
  printed.text = out.str();
  return printed;
}

class RunCheckpointsTest : public testing::Test {
 protected:
  RunCheckpointsTest() : data_(NewFolder("data")) { WriteNumbers(data_, 2, 10); }

  Setup NewSetup(std::vector<std::string> mains) const {
    return {NewFolder("saved"), Startup(data_), std::move(mains)};
  }
  // Expects that a run in pieces of so many steps, each with another number of threads, prints what
  // a run in one piece prints.
  void ExpectSameInPieces(const std::vector<std::string>& mains, int64_t steps) const {
    Setup whole = NewSetup(mains);
    whole.every_steps = 0;
    const Printed expected = RunSome(whole, -1);
    ASSERT_FALSE(expected.stopped);
    const Setup pieces = NewSetup(mains);
    std::string text;
    int count = 0;
    for (bool stopped = true; stopped; ++count) {
      ASSERT_LT(count, 100);
      const PoolSize size(std::vector<int>{0, 1, 2, 7}[static_cast<size_t>(count) % 4]);
      // The first boundary of a run that goes on is where it was saved.
      const Printed piece = RunSome(pieces, steps);
      text += piece.text;
      stopped = piece.stopped;
    }
    EXPECT_GT(count, 2);
    EXPECT_EQ(text, expected.text);
  }

  const std::string data_;
};

TEST_F(RunCheckpointsTest, GoesOnAsIfNothingHadHappened) {
  for (const int64_t steps : {1, 2, 3, 7}) ExpectSameInPieces({Plain()}, steps);
}

TEST_F(RunCheckpointsTest, GoesOnInLoopsWithinBlocks) { ExpectSameInPieces({Nested()}, 3); }

TEST_F(RunCheckpointsTest, GoesOnInTheProgramThatRan) {
  ExpectSameInPieces({Plain(), Nested(), Plain()}, 5);
}

TEST_F(RunCheckpointsTest, TakesTheNewestOfThoseThatAreDue) {
  Setup setup = NewSetup({Plain()});
  setup.every_steps = 3;
  setup.keep = 2;
  EXPECT_TRUE(RunSome(setup, 8).stopped);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(setup.folder)) {
    ++files;
  }
  EXPECT_EQ(files, 2u);
}

TEST_F(RunCheckpointsTest, SaysWhatDiffers) {
  const Setup setup = NewSetup({Plain()});
  EXPECT_TRUE(RunSome(setup, 2).stopped);
  Setup other = setup;
  other.mains = {Nested()};
  ExpectError(ErrorCode::kInvalidArgument, "main program 1: in line ", [&] { RunSome(other, -1); });
  other = setup;
  other.startup = Startup(data_, 6);
  ExpectError(ErrorCode::kInvalidArgument, "window", [&] { RunSome(other, -1); });
  WriteNumbers(data_, 2, 9);
  ExpectError(ErrorCode::kInvalidArgument, "numbers-0.recordio", [&] { RunSome(setup, -1); });
  WriteNumbers(data_, 2, 10);
  EXPECT_FALSE(RunSome(setup, -1).stopped);
}

TEST_F(RunCheckpointsTest, SaysWhichReaderCannotBeSaved) {
  Setup setup = NewSetup({Plain()});
  // Two readers stand on one.
  setup.startup = BlockText(
      0, -1,
      {ReaderText("files", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("data"),
       ReaderText("other"), TensorText("w", "FP32", {1}, 0, true), FillText("w", "FP32", 1),
       OpText("open_files", {}, {{"Out", {"files"}}},
              {{"file_names", StrCat("strings: \"", data_, "/numbers-*.recordio\"")}}),
       OpText("create_batch_reader", {{"UnderlyingReader", {"files"}}}, {{"Out", {"data"}}},
              {{"batch_size", "i: 3"}}),
       OpText("create_batch_reader", {{"UnderlyingReader", {"files"}}}, {{"Out", {"other"}}},
              {{"batch_size", "i: 3"}})});
  ExpectError(ErrorCode::kInvalidArgument, "while preparing reader 'data' for checkpoints",
              [&] { RunSome(setup, -1); });
}

TEST_F(RunCheckpointsTest, AFailedWriteEndsTheRunAndLeavesWhatWasSaved) {
  const Setup setup = NewSetup({Plain()});
  EXPECT_TRUE(RunSome(setup, 4).stopped);
  // No file can get the name of the next checkpoint, because a folder has it.
  std::string next;
  for (const auto& entry : std::filesystem::directory_iterator(setup.folder)) {
    if (entry.is_regular_file()) next = std::max(next, entry.path().string());
  }
  const size_t digits = next.rfind('.') - 8;
  const std::string number = std::to_string(std::stoi(next.substr(digits, 8)) + 1);
  next.replace(digits + 8 - number.size(), number.size(), number);
  std::filesystem::create_directories(next + "/full");
  ExpectError(ErrorCode::kIo, next, [&] { RunSome(setup, -1); });
  std::filesystem::remove_all(next);
  EXPECT_FALSE(RunSome(setup, -1).stopped);
}

}  // namespace
}  // namespace millhopper
