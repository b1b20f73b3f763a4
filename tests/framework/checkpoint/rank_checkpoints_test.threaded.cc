// SPDX-License-Identifier: Apache-2.0
// Runs of several ranks that are stopped, and go on on another number of ranks.
#include "framework/checkpoint/rank_checkpoints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/checkpoint/checkpoint_folder.h"
#include "framework/checkpoint/run_checkpoints.h"
#include "tests/bytes.h"
#include "tests/files/record_files.h"
#include "tests/framework/checkpoint/saved_run.h"
#include "tests/framework/program/program_runner.h"
#include "tests/launcher_environment.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Steps = std::vector<std::vector<int64_t>>;

// Six lanes of files, of which each rank has its share, shuffled and batched.
std::string Startup(const std::string& data, int lanes) {
  return BlockText(
      0, -1,
      {ReaderText("files", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("shuffled"),
       ReaderText("own"), ReaderText("batches"),
       OpText("open_files", {}, {{"Out", {"files"}}},
              {{"file_names", StrCat("strings: \"", data, "/numbers-*.recordio\"")},
               {"lanes", StrCat("i: ", lanes)}}),
       OpText("create_shuffle_reader", {{"UnderlyingReader", {"files"}}}, {{"Out", {"shuffled"}}},
              {{"buffer_size", "i: 18"}}),
       OpText("create_shard_reader", {{"UnderlyingReader", {"shuffled"}}}, {{"Out", {"own"}}}),
       OpText("create_batch_reader", {{"UnderlyingReader", {"own"}}}, {{"Out", {"batches"}}},
              {{"batch_size", "i: 12"}})});
}

// Prints the numbers of each batch, one line for each.
std::string Main() {
  return BlockText(
             0, -1,
             {TensorText("has", "BOOL", {1}),
              OpText("has_next", {{"Reader", {"batches"}}}, {{"Out", {"has"}}}),
              OpText("while", {{"Condition", {"has"}}}, {}, {{"sub_block", "block_idx: 1"}})}) +
         BlockText(1, 0,
                   {TensorText("x", "FP32", {-1, 2}), TensorText("y", "INT64", {-1, 1}),
                    OpText("read", {{"Reader", {"batches"}}}, {{"Out", {"x", "y"}}}),
                    OpText("print", {{"In", {"y"}}}, {}, {{"summarize", "i: -1"}}),
                    OpText("has_next", {{"Reader", {"batches"}}}, {{"Out", {"has"}}})});
}

// Adds the numbers that one rank has printed to those of each step, from step `first` on.
void AddNumbers(const std::string& text, size_t first, Steps* steps) {
  std::istringstream lines(text);
  std::string line;
  for (size_t step = first; std::getline(lines, line); ++step) {
    if (step >= steps->size()) steps->resize(step + 1);
    std::istringstream numbers(line.substr(line.find('{') + 1));
    int64_t number = 0;
    for (char comma = ','; comma == ','; numbers >> comma) {
      numbers >> number;
      (*steps)[step].push_back(number);
    }
    std::sort((*steps)[step].begin(), (*steps)[step].end());
  }
}

class RankCheckpointsTest : public testing::Test {
 protected:
  RankCheckpointsTest() : data_(NewFolder("data")), folder_(NewFolder("saved")) {
    WriteNumbers(data_, 3, 26);
  }

  // Runs so many steps of each rank, -1: to the end, from where the run in folder_ is; adds what
  // they print to *steps. Returns whether they were stopped before the end.
  bool RunRanks(size_t ranks, int64_t count, Steps* steps, int lanes = 6) const {
    bool stopped = false;
    const size_t first = steps->size();
    // The first boundary of a resumed run, where it was saved, does not count.
    if (count > 0 && !NumbersOfRanksIn(folder_).empty()) --count;
    for (size_t rank = 0; rank < ranks; ++rank) {
      const SavedRunOutput output = RunRank({rank, ranks}, count, lanes);
      AddNumbers(output.text, first, steps);
      stopped = stopped || output.stopped;
    }
    return stopped;
  }
  SavedRunOutput RunRank(Rank rank, int64_t count, int lanes = 6) const {
    const LauncherEnvironment environment(
        {{"WORLD_SIZE", StrCat(rank.ranks)}, {"RANK", StrCat(rank.rank)}});
    SavedRun run = {folder_, Startup(data_, lanes), {Main()}};
    run.rank = rank;
    run.keep = 100;
    return RunSteps(run, count);
  }

  const std::string data_, folder_;
};

// Of six steps, all lanes can fill five or more.
TEST_F(RankCheckpointsTest, GoOnOnAnotherNumberOfRanks) {
  Steps expected;
  ASSERT_FALSE(RunRanks(1, -1, &expected));
  std::filesystem::remove_all(folder_);
  Steps steps;
  for (const size_t ranks : {2, 3, 1, 6}) EXPECT_TRUE(RunRanks(ranks, 1, &steps));
  ASSERT_EQ(steps.size(), 4u);
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], expected[i]) << i;
  EXPECT_FALSE(RunRanks(2, -1, &steps));
  std::vector<int64_t> all, all_expected;
  for (const auto& step : steps) all.insert(all.end(), step.begin(), step.end());
  for (const auto& step : expected)
    all_expected.insert(all_expected.end(), step.begin(), step.end());
  std::sort(all.begin(), all.end());
  std::sort(all_expected.begin(), all_expected.end());
  EXPECT_EQ(all, all_expected);
  EXPECT_EQ(all.size(), 78u);
}

TEST_F(RankCheckpointsTest, GoOnFromTheNewestStepThatAllHave) {
  Steps steps;
  RunRanks(2, 2, &steps);
  // One rank gets further before both are stopped.
  RunRank({0, 2}, 2);
  Steps again = {steps[0], steps[1]};
  RunRanks(3, 2, &again);
  Steps expected;
  std::filesystem::remove_all(folder_);
  RunRanks(1, 4, &expected);
  EXPECT_EQ(again, expected);
}

TEST_F(RankCheckpointsTest, BeyondTheStepThatARunGoesOnFromAreRemoved) {
  Steps steps;
  RunRanks(2, 2, &steps);
  RunRank({0, 2}, 3);  // begins at the step that both have
  const std::string folder = FolderOfRank(folder_, {0, 2});
  const size_t before = CheckpointsIn(folder).size();
  {
    const LauncherEnvironment environment({{"WORLD_SIZE", "2"}, {"RANK", "0"}});
    std::string other = Main();
    other.replace(other.find("i: -1"), 5, "i: 12");
    SavedRun run = {folder_, Startup(data_, 6), {other}};
    run.rank = {0, 2};
    EXPECT_THROW(RunSteps(run, 0), Error);  // and has lost nothing
  }
  EXPECT_EQ(CheckpointsIn(folder).size(), before);
  RunRank({0, 2}, 0);  // stops after one step more
  const std::vector<std::string> left = CheckpointsIn(folder);
  EXPECT_LT(left.size(), before);
  std::vector<std::string> damaged;
  const std::optional<Checkpoint> common = NewestOfAllRanks(folder_, {1, 2}, &damaged);
  ASSERT_TRUE(common);
  const auto is_later = [&](const std::string& path) { return IsLater(path, folder, *common); };
  EXPECT_EQ(std::count_if(left.begin(), left.end(), is_later), 1);  // of that step
}

TEST_F(RankCheckpointsTest, PassOverADamagedOne) {
  Steps steps;
  RunRanks(2, 3, &steps);
  const std::vector<std::string> newest = CheckpointsIn(FolderOfRank(folder_, {1, 2}));
  ASSERT_GE(newest.size(), 2u);
  const std::string whole = ReadFile(newest[0]);
  WriteFile(newest[0], whole.substr(0, whole.size() / 2));
  std::vector<std::string> damaged;
  const std::optional<Checkpoint> older = NewestOfAllRanks(folder_, {0, 2}, &damaged);
  ASSERT_TRUE(older);
  EXPECT_EQ(older->numbers, ReadCheckpointNumbers(newest[1]));
  ASSERT_EQ(damaged.size(), 1u);
  EXPECT_NE(damaged[0].find(newest[0]), std::string::npos) << damaged[0];
}

TEST_F(RankCheckpointsTest, WithoutLanesStayWithTheirRanks) {
  Steps steps;
  RunRanks(2, 2, &steps, 1);
  ExpectError(ErrorCode::kInvalidArgument, "which must share lanes", [&] {
    RunRank({0, 3}, 1, 1);
  });
  EXPECT_TRUE(RunRank({1, 2}, 1, 1).stopped);
}

// A rank that runs far ahead of another one keeps the steps that this one is not past yet.
TEST_F(RankCheckpointsTest, StayUntilAllRanksArePastThem) {
  const auto run = [&](Rank rank, int64_t count) {
    const LauncherEnvironment environment(
        {{"WORLD_SIZE", StrCat(rank.ranks)}, {"RANK", StrCat(rank.rank)}});
    SavedRun saved = {folder_, Startup(data_, 6), {Main()}};
    saved.rank = rank;
    saved.keep = 1;
    return RunSteps(saved, count);
  };
  Steps expected;
  AddNumbers(run({0, 1}, -1).text, 0, &expected);
  std::filesystem::remove_all(folder_);
  run({0, 2}, -1);
  EXPECT_GT(CheckpointsIn(FolderOfRank(folder_, {0, 2})).size(), 4u);
  run({1, 2}, 3);
  EXPECT_EQ(CheckpointsIn(FolderOfRank(folder_, {1, 2})).size(), 1u);
  Steps steps;
  for (size_t rank = 0; rank < 3; ++rank) AddNumbers(run({rank, 3}, 2).text, 0, &steps);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps[0], expected[3]);
}

// As many ranks as before each go on from their own newest checkpoint, if none have a step in
// common. Another number of ranks cannot.
TEST_F(RankCheckpointsTest, OfDifferentStepsAreForAsManyRanks) {
  RunRank({0, 2}, 2);
  std::vector<std::string> damaged;
  const std::optional<Checkpoint> own = NewestOfAllRanks(folder_, {0, 2}, &damaged);
  ASSERT_TRUE(own);
  const std::string newest = CheckpointsIn(FolderOfRank(folder_, {0, 2}))[0];
  EXPECT_EQ(own->numbers, ReadCheckpointNumbers(newest));
  EXPECT_FALSE(NewestOfAllRanks(folder_, {1, 2}, &damaged));
  ExpectError(ErrorCode::kInvalidArgument, "no other number of ranks can resume", [&] {
    NewestOfAllRanks(folder_, {0, 3}, &damaged);
  });
  EXPECT_TRUE(damaged.empty());
}

TEST_F(RankCheckpointsTest, AreNoneWithoutAFolder) {
  std::vector<std::string> damaged;
  EXPECT_FALSE(NewestOfAllRanks(folder_, {0, 2}, &damaged));
  EXPECT_TRUE(NumbersOfRanksIn(folder_).empty());
  RunRank({0, 2}, 1);
  EXPECT_EQ(NumbersOfRanksIn(folder_), std::vector<size_t>{2});
}

TEST_F(RankCheckpointsTest, OfAllNumbersOfRanksAreCleared) {
  Steps steps;
  RunRanks(2, 1, &steps);
  RunRanks(3, 1, &steps);
  RunCheckpointOptions options;
  options.folder = folder_;
  RunCheckpoints run(options, {});
  EXPECT_TRUE(run.HasAny());
  run.Clear();
  EXPECT_FALSE(run.HasAny());
}

}  // namespace
}  // namespace millhopper
