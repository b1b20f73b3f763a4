// SPDX-License-Identifier: Apache-2.0
// F38, F39: every case of the tables in tests/programs/malformed gives exactly the problems that
// are written there, and neither opens a file nor starts a thread.
#include "tests/framework/program/malformed_programs.h"

#include <gtest/gtest.h>

#include <memory>
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

// All that loading and checking say, one problem a line.
std::string ProblemsOf(const MalformedProgram& program) {
  CheckContext context;
  context.role = program.role;
  std::shared_ptr<const Program> startup;
  if (program.after_startup) {
    startup = Program::FromFile(kStartupBefore);
    EXPECT_EQ(Join(startup->Check({ProgramRole::kStartup, {}, nullptr})), "");
    context.before.push_back(startup.get());
  }
  try {
    Program::FromString(program.text, program.name + ".pbtxt", program.settings)
        ->CheckOrThrow(context);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message() + "\n";
  }
  return "";
}

class MalformedProgramTest : public testing::TestWithParam<MalformedProgram> {};

TEST_P(MalformedProgramTest, GivesExactlyTheProblemsExpected) {
  const Holdings before = CurrentHoldings();
  EXPECT_EQ(ProblemsOf(GetParam()), GetParam().problems) << "of the program\n" << GetParam().text;
  EXPECT_EQ(ThreadPool::Get().started(), 0);
  EXPECT_EQ(CurrentHoldings().threads, before.threads);
  EXPECT_EQ(CurrentHoldings().descriptors, before.descriptors);
}

INSTANTIATE_TEST_SUITE_P(Tables, MalformedProgramTest, testing::ValuesIn(MalformedPrograms()),
                         [](const auto& info) { return info.param.name; });

TEST(MalformedPrograms, AreAtLeastAHundred) { EXPECT_GE(MalformedPrograms().size(), 100u); }

// F39: no file is opened, not even those of operators that nothing is wrong with.
TEST(MalformedPrograms, OpenNoFiles) {
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
