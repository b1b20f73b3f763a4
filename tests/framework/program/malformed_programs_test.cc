// SPDX-License-Identifier: Apache-2.0
// F38, F39: every program of tests/programs/malformed gives exactly the problems that its .expected
// file lists, and neither opens a file nor starts a thread. Comments at its top say how it is used:
//   # role: startup        (else it is a main program)
//   # before: NAME         a startup program of the subfolder before/ that is run first
//   # set: NAME=VALUE      what --set gives
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "framework/program/program.h"
#include "tests/file_watch.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = "tests/programs/malformed";

std::vector<std::string> ProgramNames() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".pbtxt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Usage {
  ProgramRole role = ProgramRole::kMain;
  std::vector<std::shared_ptr<const Program>> before;
  Settings settings;
};

Usage UsageOf(const std::string& text) {
  Usage usage;
  std::istringstream lines(text);
  for (std::string hash, key, value; lines >> hash >> key >> value && hash == "#";) {
    if (key == "role:") {
      EXPECT_EQ(value, "startup");
      usage.role = ProgramRole::kStartup;
    } else if (key == "before:") {
      usage.before.push_back(Program::FromFile(kFolder / "before" / value));
    } else if (key == "set:") {
      const size_t equals = value.find('=');
      usage.settings[value.substr(0, equals)] = value.substr(equals + 1);
    } else {
      break;
    }
  }
  return usage;
}

// All that loading and checking say, one problem a line.
std::string ProblemsOf(const std::string& text, const std::string& name) {
  const Usage usage = UsageOf(text);
  CheckContext context;
  context.role = usage.role;
  for (const auto& program : usage.before) {
    EXPECT_EQ(Join(program->Check({ProgramRole::kStartup, {}, nullptr})), "");
    context.before.push_back(program.get());
  }
  try {
    Program::FromString(text, name, usage.settings)->CheckOrThrow(context);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message() + "\n";
  }
  return "";
}

class MalformedPrograms : public testing::TestWithParam<std::string> {};

TEST_P(MalformedPrograms, GiveExactlyTheProblemsExpected) {
  const std::string name = GetParam();
  const std::string expected = ReadFile(kFolder / (name + ".expected"));
  EXPECT_FALSE(expected.empty());
  const std::string text = ReadFile(kFolder / (name + ".pbtxt"));
  const Holdings before = CurrentHoldings();
  EXPECT_EQ(ProblemsOf(text, name + ".pbtxt"), expected);
  EXPECT_EQ(ThreadPool::Get().started(), 0);
  EXPECT_EQ(CurrentHoldings().threads, before.threads);
  EXPECT_EQ(CurrentHoldings().descriptors, before.descriptors);
}

INSTANTIATE_TEST_SUITE_P(Files, MalformedPrograms, testing::ValuesIn(ProgramNames()),
                         [](const auto& info) { return info.param; });

TEST(MalformedProgramsFolder, HasAtLeastAHundred) { EXPECT_GE(ProgramNames().size(), 100u); }

// F39: no file is opened, not even those of operators that nothing is wrong with.
TEST(MalformedProgramsFiles, AreNotOpened) {
  const std::string folder = NewFolder("unopened");
  WriteNumbers(folder, 2, 3);
  const std::string files[] = {folder + "/numbers-0.recordio", folder + "/numbers-1.recordio"};
  const SlotsText slots = {{"FP32", {1, 2}}, {"INT64", {1, 1}}};
  const std::string good = BlockText(0, -1,
                                     {ReaderText("one", slots), ReaderText("many", slots),
                                      OpText("create_recordio_file_reader", {}, {{"Out", {"one"}}},
                                             {{"filename", "s: '" + files[0] + "'"}}),
                                      OpText("open_files", {}, {{"Out", {"many"}}},
                                             {{"file_names", "strings: '" + files[1] + "'"}})});
  const std::string bad = BlockText(0, -1, {OpText("mean", {}, {})});
  const FileWatch watch({files[0], files[1]});
  ProgramRunner runner;
  runner.Startup(good);
  EXPECT_EQ(watch.Opened(), std::vector<std::string>{});
  const Holdings before = CurrentHoldings();
  for (const std::string& text :
       {good.substr(0, good.rfind('}')) + OpText("mean", {}, {}) + "}", good + bad}) {
    ExpectError(ErrorCode::kInvalidArgument,
                "startup.pbtxt:", [&] { ProgramRunner().Startup(text); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "main.pbtxt:", [&] { runner.Main(bad); });
  EXPECT_EQ(watch.Opened(), std::vector<std::string>{});
  EXPECT_EQ(ThreadPool::Get().started(), 0);
  EXPECT_EQ(CurrentHoldings().threads, before.threads);
  EXPECT_EQ(CurrentHoldings().descriptors, before.descriptors);
}

}  // namespace
}  // namespace millhopper
