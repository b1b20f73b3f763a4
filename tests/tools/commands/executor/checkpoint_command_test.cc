// SPDX-License-Identifier: Apache-2.0
// executor --checkpoint_dir: runs that are killed, stopped and resumed.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/child.h"
#include "tests/files/number_files.h"
#include "tests/files/record_files.h"
#include "tests/framework/checkpoint/saved_loop.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Words = std::vector<std::string>;

constexpr int kPasses = 60;
constexpr int kKills = 100;
// The code of a process that SIGTERM has ended, and of one that SIGKILL has.
constexpr int kTerminated = 128 + SIGTERM;
constexpr int kKilled = 128 + SIGKILL;

std::vector<std::string> Files(const std::string& folder) {
  std::vector<std::string> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The lines in their order, each once.
std::vector<std::string> LinesOnce(const std::string& text) {
  std::vector<std::string> lines;
  std::set<std::string> seen;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (seen.insert(line).second) lines.push_back(line);
  }
  return lines;
}

class CheckpointCommandTest : public testing::Test {
 protected:
  CheckpointCommandTest() {
    WriteNumbers(folder_, 4, 500);
    WriteFile(folder_ + "/startup.pbtxt", SavedLoopStartup(folder_, 50));
    WriteFile(folder_ + "/main.pbtxt", SavedLoopMain(kPasses, false));
  }

  Words Command(const Words& flags) const {
    Words words = {"tools/executor", "--startup=" + folder_ + "/startup.pbtxt",
                   "--main=" + folder_ + "/main.pbtxt", "--quiet", "--fetch=w"};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }
  // The same with checkpoints.
  Words Saving(const Words& flags) const {
    Words more = {"--checkpoint_dir=" + saved_};
    more.insert(more.end(), flags.begin(), flags.end());
    return Command(more);
  }
  void ExpectRefused(const Words& command, const std::string& words) const {
    const ChildResult result = RunChild(command);
    EXPECT_EQ(result.exit_code, 2) << result.errors;
    EXPECT_NE(result.errors.find(words), std::string::npos) << result.errors;
  }

  const std::string folder_ = NewFolder("data");
  const std::string saved_ = folder_ + "/saved";
};

// What is printed more than once, because a process was killed after the last checkpoint, is the
// same each time. So the lines, each once, are those of a run that was not stopped.
TEST_F(CheckpointCommandTest, RunsThatAreKilledEndAsTheOneThatIsNot) {
  const ChildResult whole = RunChild(Command({}));
  ASSERT_EQ(whole.exit_code, 0) << whole.errors;
  ASSERT_EQ(LinesOnce(whole.output).size(), 2u * kPasses + 3) << whole.output;
  std::mt19937 random(7);
  for (int kills = 0; kills < kKills;) {
    std::filesystem::remove_all(saved_);
    std::string printed;
    for (bool over = false; !over;) {
      const int threads = std::vector<int>{0, 1, 2, 7}[random() % 4];
      Child child(Saving(
          {"--checkpoint_every=50steps", "--resume", "--threads=" + std::to_string(threads)}));
      if (kills < kKills) {
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
        child.Signal(SIGKILL);
        ++kills;
      }
      const ChildResult result = child.Wait();
      printed += result.output;
      over = result.exit_code == 0;
      ASSERT_TRUE(over || result.exit_code == kKilled) << result.errors;
    }
    EXPECT_EQ(LinesOnce(printed), LinesOnce(whole.output));
  }
}

// No checkpoint is due, so that only the signal makes one. What is printed is in one piece.
TEST_F(CheckpointCommandTest, SavesOnSigtermAndGoesOnWithoutATrace) {
  WriteFile(folder_ + "/main.pbtxt", SavedLoopMain(10 * kPasses, false));
  const ChildResult whole = RunChild(Command({}));
  ASSERT_EQ(whole.exit_code, 0) << whole.errors;
  std::string printed;
  for (const size_t stop : {1, 2, 3}) {
    Child child(Saving({"--checkpoint_every=1000000000steps", "--resume", "--noquiet"}));
    child.WaitForError((stop == 1 ? "saving the run in " : "continuing the run in ") + saved_);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    child.Signal(SIGTERM);
    const ChildResult result = child.Wait();
    EXPECT_EQ(result.exit_code, kTerminated) << result.errors;
    EXPECT_EQ(Files(saved_).size(), stop);
    printed += result.output;
  }
  const ChildResult rest = RunChild(Saving({"--resume=required"}));
  EXPECT_EQ(rest.exit_code, 0) << rest.errors;
  EXPECT_EQ(printed + rest.output, whole.output);
}

TEST_F(CheckpointCommandTest, PeekShowsWhatIsSaved) {
  ASSERT_EQ(RunChild(Saving({"--checkpoint_every=100steps", "--seed=5"})).exit_code, 0);
  const std::string newest = Files(saved_).back();
  const ChildResult result = RunChild({"tools/peek", "--json", "--state=" + newest});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("numbers").at("program"), 1);
  EXPECT_GE(json.at("numbers").at("steps"), 100);  // later if the last one was being written
  EXPECT_EQ(json.at("tensors").at("0.0 w"), "float32 [1]");
  EXPECT_EQ(json.at("readers").at("data").at("readers").size(), 4u);
  EXPECT_EQ(json.at("settings").at("the seed"), "5");
  EXPECT_EQ(nlohmann::json::parse(RunChild({"tools/peek", "--json", "--state=" + saved_}).output),
            json);
  const std::string content = ReadFile(newest);
  WriteFile(newest, content.substr(0, content.size() / 2));
  const ChildResult cut = RunChild({"tools/peek", "--state=" + newest});
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_NE(cut.errors.find("this is no whole checkpoint"), std::string::npos) << cut.errors;
  const ChildResult empty = RunChild({"tools/peek", "--state=" + NewFolder("none")});
  EXPECT_EQ(empty.exit_code, 4);
  EXPECT_NE(empty.errors.find("this folder has no checkpoints"), std::string::npos) << empty.errors;
}

TEST_F(CheckpointCommandTest, KeepsTheNewestAndPassesOverADamagedOne) {
  const ChildResult whole = RunChild(Saving({"--checkpoint_every=100steps", "--keep=2"}));
  ASSERT_EQ(whole.exit_code, 0) << whole.errors;
  const std::vector<std::string> files = Files(saved_);
  ASSERT_EQ(files.size(), 2u);
  WriteFile(files[1], ReadFile(files[1]).substr(0, 100));
  const ChildResult again = RunChild(Saving({"--resume=required"}));
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_NE(again.errors.find("warning: " + files[1]), std::string::npos) << again.errors;
  // The end is the same, and what the startup program prints is left out.
  EXPECT_EQ(again.output, whole.output.substr(whole.output.size() - again.output.size()));
  EXPECT_LT(again.output.size(), whole.output.size());
}

// The numbers that a program has printed.
std::vector<int64_t> NumbersIn(const std::string& printed) {
  std::vector<int64_t> numbers;
  std::string digits;
  for (const char c : printed + " ") {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (!digits.empty()) {
      numbers.push_back(std::stoll(digits));
      digits.clear();
    }
  }
  return numbers;
}

TEST_F(CheckpointCommandTest, GoesOnWithBatchesOfAnotherSize) {
  WriteFile(folder_ + "/startup.pbtxt",
            BlockText(0, -1,
                      {CreatedReaderText(
                           "files", "open_files", {},
                           {{"file_names", StrCat("strings: \"", CountedFile(0, 1000), "\"")},
                            {"lanes", "i: 16"}},
                           {{"INT64", {1, 1}}}),
                       CreatedReaderText("shuffled", "create_shuffle_reader", {"files"},
                                         {{"buffer_size", "i: 64"}}),
                       CreatedReaderText("batches", "create_batch_reader", {"shuffled"},
                                         {{"batch_size", "i: ${batch}"}}),
                       CreatedReaderText("ahead", "create_double_buffer_reader", {"batches"})}));
  AttributeTexts only_values = {{"summarize", "i: -1"}};
  for (const char* what : {"name", "type", "shape", "lod"}) {
    only_values.emplace_back(StrCat("print_tensor_", what), "b: false");
  }
  WriteFile(folder_ + "/main.pbtxt",
            ReadingProgram("ahead", {OpText("print", {{"In", {"element"}}}, {}, only_values)}));
  const auto run = [&](int64_t batch, const std::string& saved, const Words& flags) {
    Words words = {"tools/executor",
                   "--startup=" + folder_ + "/startup.pbtxt",
                   "--main=" + folder_ + "/main.pbtxt",
                   "--quiet",
                   StrCat("--set=batch=", batch),
                   "--checkpoint_dir=" + saved};
    words.insert(words.end(), flags.begin(), flags.end());
    ChildResult result = RunChild(words);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  };
  const std::vector<int64_t> order = NumbersIn(run(16, saved_, {"--checkpoint_every=12steps"}));
  ASSERT_EQ(order.size(), 1000u);
  const auto json =
      nlohmann::json::parse(RunChild({"tools/peek", "--json", "--state=" + saved_}).output);
  const auto read = 16 * json.at("numbers").at("steps").get<size_t>();
  ASSERT_LT(read, order.size());
  for (const size_t batch : {7, 16, 40, 2000}) {
    const std::string copy = NewFolder(StrCat("saved-", batch));
    std::filesystem::copy(saved_, copy, std::filesystem::copy_options::recursive);
    const std::string rest = run(static_cast<int64_t>(batch), copy, {"--resume=required"});
    EXPECT_EQ(NumbersIn(rest),
              std::vector<int64_t>(order.begin() + static_cast<std::ptrdiff_t>(read), order.end()));
    const auto steps = static_cast<size_t>(std::count(rest.begin(), rest.end(), '\n'));
    EXPECT_EQ(steps, (order.size() - read + batch - 1) / batch) << rest;
  }
}

TEST_F(CheckpointCommandTest, RefusesWhatWouldLoseOrMixRuns) {
  for (const char* flag : {"--resume", "--checkpoint_every=60s", "--keep=2"}) {
    ExpectRefused(Command({flag}), " needs --checkpoint_dir");
  }
  ExpectRefused(Saving({"--resume=always"}), "--resume=always: --resume and --resume=required");
  ExpectRefused(Saving({"--resume=required"}), "no whole checkpoint is in " + saved_);
  for (const char* every : {"", "0s", "60", "1.5steps", "nans", "-1s", "steps", "1e99s"}) {
    ExpectRefused(Saving({StrCat("--checkpoint_every=", every)}), "such as 1000steps or 60s");
  }
  ExpectRefused(Saving({"--keep=0"}), "--keep=0");
  ASSERT_EQ(RunChild(Saving({"--checkpoint_every=100steps"})).exit_code, 0);
  ExpectRefused(Saving({}), "the folder has checkpoints of a run");
  ExpectRefused(Saving({"--resume", "--seed=1"}), "the seed: it was '0', now it is '1'");
  WriteFile(folder_ + "/main.pbtxt", SavedLoopMain(kPasses + 1, false));
  ExpectRefused(Saving({"--resume"}), "main program 1: in line ");
  EXPECT_EQ(RunChild(Saving({"--force", "--checkpoint_every=100steps"})).exit_code, 0);
}

}  // namespace
}  // namespace millhopper
