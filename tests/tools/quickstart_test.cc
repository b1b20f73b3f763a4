// SPDX-License-Identifier: Apache-2.0
// The quickstart command trains the shipped digits well enough. The results are the same for both
// programs and for any number of threads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// The output lines that report a pass or the test.
std::string TrainingLines(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {"tools/quickstart", "--data_dir=" + TempName("data")};
  command.insert(command.end(), flags.begin(), flags.end());
  const ChildResult result = RunChild(command);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const size_t begin = result.output.find("pass ");
  const size_t end = result.output.find("\n\nWhat to look at next");
  EXPECT_NE(begin, std::string::npos) << result.output;
  EXPECT_NE(end, std::string::npos) << result.output;
  return result.output.substr(begin, end - begin);
}

TEST(Quickstart, RecognisesNineteenOfTwentyDigits) {
  const std::string lines = TrainingLines({});
  const std::string words = "test accuracy ";
  const size_t at = lines.find("\n" + words);
  ASSERT_NE(at, std::string::npos) << lines;
  EXPECT_GE(atof(lines.c_str() + at + 1 + words.size()), 95.0) << lines;
  EXPECT_NE(lines.find("\npass 20: "), std::string::npos) << lines;
}

TEST(Quickstart, TrainsAlikeForAnyProgramAndNumberOfThreads) {
  const std::string lines = TrainingLines({"--passes=3", "--threads=1"});
  for (const char* program : {"loop", "multi_pass"}) {
    for (const char* threads : {"0", "2", "7"}) {
      EXPECT_EQ(TrainingLines({"--passes=3", std::string("--program=") + program,
                               std::string("--threads=") + threads}),
                lines)
          << program << " with " << threads << " threads";
    }
  }
}

TEST(Quickstart, SeedsDecideTheTraining) {
  EXPECT_NE(TrainingLines({"--passes=1", "--seed=1"}), TrainingLines({"--passes=1", "--seed=2"}));
}

TEST(Quickstart, NamesTheMissingFilesOfMnist) {
  const ChildResult result =
      RunChild({"tools/quickstart", "--data_dir=" + TempName("data"), "--mnist=no_such_folder"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.errors.find("train-images-idx3-ubyte"), std::string::npos) << result.errors;
}

TEST(Quickstart, ReplacesFilesOfADataDirOnlyIfToldTo) {
  const std::string folder = TempName("data");
  const std::vector<std::string> command = {"tools/quickstart", "--data_dir=" + folder,
                                            "--passes=1"};
  EXPECT_EQ(RunChild(command).exit_code, 0);
  const ChildResult again = RunChild(command);
  EXPECT_EQ(again.exit_code, 4);
  EXPECT_NE(again.errors.find("train-00000.recordio: the file exists; --force replaces it"),
            std::string::npos)
      << again.errors;
  std::vector<std::string> forced = command;
  forced.emplace_back("--force");
  EXPECT_EQ(RunChild(forced).exit_code, 0);
}

TEST(Quickstart, NamesABadFolderForTemporaries) {
  const ChildResult result =
      RunChild({"/usr/bin/env", "TMPDIR=/no/such/folder", "tools/quickstart", "--passes=1"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.errors,
            "error: no folder for temporaries: TMPDIR=/no/such/folder: No such file or directory; "
            "--data_dir names another folder\n");
}

}  // namespace
}  // namespace millhopper
