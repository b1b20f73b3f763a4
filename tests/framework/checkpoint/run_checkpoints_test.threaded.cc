// SPDX-License-Identifier: Apache-2.0
// Runs of programs that are saved, stopped and resumed, as a C++ program does it.
#include "framework/checkpoint/run_checkpoints.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "framework/io/command.h"
#include "framework/program/scope.h"
#include "readers/sources/element_queue.h"
#include "tests/files/record_files.h"
#include "tests/framework/checkpoint/saved_loop.h"
#include "tests/framework/checkpoint/saved_run.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string SubBlock(int number) { return StrCat("block_idx: ", number); }

// The loop in the first block.
std::string Plain() { return SavedLoopMain(2, true); }

// The loop in a block of if_else in a conditional block, whose conditions the first step changes.
std::string Nested() {
  const std::string conditional =
      OpText("conditional_block", {{"X", {"yes"}}}, {},
             {{"sub_block", SubBlock(1)}, {"is_scalar_condition", "b: true"}});
  std::vector<std::string> parts = SavedLoopBefore(2);
  for (const std::string& part : {TensorText("yes", "BOOL", {1}), FillText("yes", "BOOL", 1),
                                  conditional, OpText("print", {{"In", {"w"}}}, {})}) {
    parts.push_back(part);
  }
  return BlockText(0, -1, parts) +
         BlockText(1, 0,
                   {TensorText("no", "BOOL", {1}), TensorText("inner", "INT64", {1}),
                    FillText("no", "BOOL", 0), FillText("inner", "INT64", 40),
                    OpText("if_else", {{"Cond", {"no"}}}, {}, {{"false_block", SubBlock(2)}}),
                    OpText("print", {{"In", {"inner"}}}, {})}) +
         BlockText(
             2, 1,
             {FillText("yes", "BOOL", 0), FillText("no", "BOOL", 1),
              OpText("increment", {{"X", {"inner"}}}, {{"Out", {"inner"}}}), SavedLoopWhile(3)}) +
         SavedLoopBody(3, 2, true);
}

class RunCheckpointsTest : public testing::Test {
 protected:
  RunCheckpointsTest() : data_(NewFolder("data")) { WriteNumbers(data_, 2, 10); }

  SavedRun NewRun(std::vector<std::string> mains) const {
    return {NewFolder("saved"), SavedLoopStartup(data_), std::move(mains)};
  }
  // Expects that a run in pieces of so many steps, each with another number of threads, prints what
  // a run in one piece prints.
  void ExpectSameInPieces(const std::vector<std::string>& mains, int64_t steps) const {
    SavedRun whole = NewRun(mains);
    whole.every_steps = 0;
    const SavedRunOutput expected = RunSteps(whole, -1);
    ASSERT_FALSE(expected.stopped);
    const SavedRun pieces = NewRun(mains);
    std::string text;
    int count = 0;
    for (bool stopped = true; stopped; ++count) {
      ASSERT_LT(count, 100);
      const PoolSize size(std::vector<int>{0, 1, 2, 7}[static_cast<size_t>(count) % 4]);
      // The first boundary of a resumed run is where it was saved.
      const SavedRunOutput piece = RunSteps(pieces, steps);
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
  SavedRun job = NewRun({Plain()});
  job.every_steps = 3;
  job.keep = 2;
  EXPECT_TRUE(RunSteps(job, 8).stopped);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(job.folder)) {
    ++files;
  }
  EXPECT_EQ(files, 2u);
}

TEST_F(RunCheckpointsTest, SaysWhatDiffers) {
  const SavedRun job = NewRun({Plain()});
  EXPECT_TRUE(RunSteps(job, 2).stopped);
  SavedRun other = job;
  other.mains = {Nested()};
  ExpectError(ErrorCode::kInvalidArgument, "main program 1: in line ",
              [&] { RunSteps(other, -1); });
  other = job;
  other.startup = SavedLoopStartup(data_, 6);
  ExpectError(ErrorCode::kInvalidArgument, "buffer_size was 5, now it is 6",
              [&] { RunSteps(other, -1); });
  WriteNumbers(data_, 2, 9);
  ExpectError(ErrorCode::kInvalidArgument, "numbers-0.recordio", [&] { RunSteps(job, -1); });
  WriteNumbers(data_, 2, 10);
  EXPECT_FALSE(RunSteps(job, -1).stopped);
}

TEST_F(RunCheckpointsTest, RefusesARunWithFewerProgramsThanTheOneThatWasSaved) {
  const SavedRun job = NewRun({Plain(), Plain()});
  SavedRun first = job;
  first.mains = {Plain()};
  EXPECT_TRUE(RunSteps(job, 20).stopped);
  ExpectError(ErrorCode::kInvalidArgument, "saved in main program 2, and this run has 1",
              [&] { RunSteps(first, -1); });
  EXPECT_FALSE(RunSteps(job, -1).stopped);
}

TEST_F(RunCheckpointsTest, SaysWhichReaderCannotBeSaved) {
  AllowExec();
  SavedRun job = NewRun({Plain()});
  job.startup = BlockText(
      0, -1,
      {ReaderText("files", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("data"),
       ReaderText("other"), TensorText("w", "FP32", {1}, 0, true), FillText("w", "FP32", 1),
       OpText("open_files", {}, {{"Out", {"files"}}},
              {{"file_names", StrCat("strings: \"", data_, "/numbers-*.recordio\"")}}),
       OpText("create_batch_reader", {{"UnderlyingReader", {"files"}}}, {{"Out", {"data"}}},
              {{"batch_size", "i: 3"}}),
       OpText("create_text_file_reader", {}, {{"Out", {"other"}}},
              {{"filename", "s: \"pipe:echo line\""}})});
  ExpectError(ErrorCode::kInvalidArgument, "to continue from a place needs to read it again",
              [&] { RunSteps(job, -1); });
  AllowExec(false);
}

// Both loops of a step read from one source, batches of 2 and of 3.
TEST_F(RunCheckpointsTest, GoesOnWithTwoReadersOnOneSource) {
  const auto batches = [](const std::string& name, int size) {
    return OpText("create_batch_reader", {{"UnderlyingReader", {"files"}}}, {{"Out", {name}}},
                  {{"batch_size", StrCat("i: ", size)}});
  };
  const auto read = [](const std::string& name) {
    return OpText("read", {{"Reader", {name}}}, {{"Out", {"x", "y"}}}) +
           OpText("print", {{"In", {"y"}}}, {});
  };
  SavedRun whole = NewRun(
      {BlockText(0, -1,
                 {TensorText("more", "BOOL", {1}), FillText("more", "BOOL", 1),
                  OpText("while", {{"Condition", {"more"}}}, {}, {{"sub_block", SubBlock(1)}})}) +
       BlockText(1, 0,
                 {TensorText("x", "FP32", {-1, 2}), TensorText("y", "INT64", {-1, 1}), read("two"),
                  read("three"), OpText("has_next", {{"Reader", {"two"}}}, {{"Out", {"more"}}})})});
  whole.startup =
      BlockText(0, -1,
                {ReaderText("files", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("two"),
                 ReaderText("three"),
                 OpText("open_files", {}, {{"Out", {"files"}}},
                        {{"file_names", StrCat("strings: \"", data_, "/numbers-*.recordio\"")}}),
                 batches("two", 2), batches("three", 3)});
  whole.every_steps = 0;
  const std::string expected = RunSteps(whole, -1).text;
  SavedRun pieces = whole;
  pieces.folder = NewFolder("saved");
  pieces.every_steps = 1;
  std::string text;
  for (bool stopped = true; stopped;) {
    const SavedRunOutput piece = RunSteps(pieces, 1);
    text += piece.text;
    stopped = piece.stopped;
  }
  EXPECT_EQ(text, expected);
}

// It is said once, whatever is saved how often.
TEST_F(RunCheckpointsTest, TellsOfVariablesThatAreNotSaved) {
  static int round = 0;  // a process is told of a name once, however often tests are repeated
  const std::string name = StrCat("pages", ++round);
  SavedRun job = NewRun({Plain()});
  job.prepare = [&name](Scope* scope) {
    scope->Var(name)->GetMutable<std::vector<LoDTensor>>();
    scope->Var("empty");
  };
  testing::internal::CaptureStderr();
  EXPECT_TRUE(RunSteps(job, 3).stopped);
  EXPECT_FALSE(RunSteps(job, -1).stopped);
  const std::string told = testing::internal::GetCapturedStderr();
  const std::string words =
      StrCat("warning: a checkpoint does not hold variable '", name, "', a std::vector<");
  const size_t at = told.find(words);
  ASSERT_NE(at, std::string::npos) << told;
  EXPECT_NE(told.find("LoDTensor", at), std::string::npos) << told;
  EXPECT_EQ(told.find("warning", at + 1), std::string::npos) << told;
}

// The process makes each pass again in which the program resumes, and drops what was taken.
TEST_F(RunCheckpointsTest, GoesOnWithWhatTheProcessFeeds) {
  using Queue = std::shared_ptr<ElementQueue>;
  Queue queue;
  std::thread provider;
  const auto stop = [&] {
    if (queue != nullptr) queue->Detach();
    if (provider.joinable()) provider.join();
  };
  SavedRun job = NewRun({SavedLoopMain(2, true)});
  job.startup =
      BlockText(0, -1,
                {"vars { name: \"queue\" persistable: true type { type: RAW } }",
                 ReaderText("fed", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("data"),
                 TensorText("w", "FP32", {1}, 0, true), FillText("w", "FP32", 1),
                 OpText("create_py_reader", {{"blocking_queue", {"queue"}}}, {{"Out", {"fed"}}}),
                 OpText("create_double_buffer_reader", {{"UnderlyingReader", {"fed"}}},
                        {{"Out", {"data"}}})});
  job.prepare = [&](Scope* scope) {
    stop();
    queue = std::make_shared<ElementQueue>(3);
    *scope->Var("queue")->GetMutable<Queue>() = queue;
    provider = std::thread([queue, generation = queue->Attach()] {
      for (std::optional<uint64_t> pass = generation; pass;
           pass = queue->AwaitNext(std::chrono::minutes(1), *pass)) {
        for (int64_t i = 0; i < 17; ++i) {
          if (!queue->Push(*pass,
                           {MakeTensor<float>({1, 2}, {1, 2}), MakeTensor<int64_t>({1, 1}, {i})})) {
            break;
          }
        }
        queue->Close(*pass);
      }
    });
  };
  SavedRun whole = job;
  whole.folder = NewFolder("saved");
  whole.every_steps = 0;
  const std::string expected = RunSteps(whole, -1).text;
  std::string text;
  testing::internal::CaptureStderr();
  for (bool stopped = true; stopped;) {
    const SavedRunOutput piece = RunSteps(job, 3);
    text += piece.text;
    stopped = piece.stopped;
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "of the queue, which is the process's";
  EXPECT_EQ(text, expected);
  stop();
}

// A loop of quick steps over values that take long to write.
TEST_F(RunCheckpointsTest, ALoopDoesNotWaitForTheDisk) {
  constexpr int kSteps = 200;
  const std::string large = StrCat(int64_t{16} << 20);
  SavedRun job = NewRun(
      {BlockText(0, -1,
                 {TensorText("i", "INT64", {1}), TensorText("n", "INT64", {1}),
                  TensorText("more", "BOOL", {1}), FillText("i", "INT64", 0),
                  FillText("n", "INT64", kSteps), FillText("more", "BOOL", 1),
                  OpText("while", {{"Condition", {"more"}}}, {}, {{"sub_block", SubBlock(1)}})}) +
       BlockText(1, 0,
                 {OpText("increment", {{"X", {"i"}}}, {{"Out", {"i"}}}),
                  OpText("less_than", {{"X", {"i"}}, {"Y", {"n"}}}, {{"Out", {"more"}}})})});
  job.startup = BlockText(
      0, -1,
      {TensorText("w", "FP32", {int64_t{16} << 20}, 0, true),
       OpText("fill_constant", {}, {{"Out", {"w"}}},
              {{"shape", StrCat("ints: ", large)}, {"dtype", "i: 5"}, {"value", "f: 1"}})});
  job.keep = kSteps;
  EXPECT_FALSE(RunSteps(job, -1).stopped);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(job.folder)) {
    ++files;
  }
  EXPECT_GE(files, 1u);
  EXPECT_LT(files, size_t{kSteps} / 4);
}

TEST_F(RunCheckpointsTest, AFailedWriteEndsTheRunAndLeavesWhatWasSaved) {
  const SavedRun job = NewRun({Plain()});
  EXPECT_TRUE(RunSteps(job, 4).stopped);
  // No file can get the name of the next checkpoint, because a folder has it.
  std::string next;
  for (const auto& entry : std::filesystem::directory_iterator(job.folder)) {
    if (entry.is_regular_file()) next = std::max(next, entry.path().string());
  }
  const size_t digits = next.rfind('.') - 8;
  const std::string number = std::to_string(std::stoi(next.substr(digits, 8)) + 1);
  next.replace(digits + 8 - number.size(), number.size(), number);
  std::filesystem::create_directories(next + "/full");
  ExpectError(ErrorCode::kIo, next, [&] { RunSteps(job, -1); });
  std::filesystem::remove_all(next);
  EXPECT_FALSE(RunSteps(job, -1).stopped);
}

}  // namespace
}  // namespace millhopper
