// SPDX-License-Identifier: Apache-2.0
// The quickstart command trains the shipped digits well enough. The results are the same for both
// programs, and for any number of threads, on records and on images.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/files/record_files.h"
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

// The percentage that the last line tells.
double TestAccuracy(const std::string& lines) {
  const std::string words = "\ntest accuracy ";
  const size_t at = lines.find(words);
  EXPECT_NE(at, std::string::npos) << lines;
  return at == std::string::npos ? 0 : atof(lines.c_str() + at + words.size());
}

TEST(Quickstart, RecognisesNineteenOfTwentyDigits) {
  const std::string lines = TrainingLines({});
  EXPECT_GE(TestAccuracy(lines), 95.0) << lines;
  EXPECT_NE(lines.find("\npass 20: "), std::string::npos) << lines;
}

TEST(Quickstart, RecognisesDigitsInImages) {
  const std::string lines = TrainingLines({"--images"});
  EXPECT_GE(TestAccuracy(lines), 97.0) << lines;
}

TEST(Quickstart, TrainsAlikeOnImagesForAnyNumberOfThreads) {
  const std::string lines = TrainingLines({"--images", "--passes=1", "--threads=1"});
  for (const char* threads : {"0", "2", "7"}) {
    EXPECT_EQ(TrainingLines({"--images", "--passes=1", std::string("--threads=") + threads}), lines)
        << threads << " threads";
  }
}

TEST(Quickstart, TrainsOnImagesInClassFolders) {
  const std::string data = TempName("data");
  const ChildResult digits =
      RunChild({"tools/quickstart", "--images", "--data_dir=" + data, "--passes=1"});
  EXPECT_EQ(digits.exit_code, 0) << digits.errors;
  const ChildResult result =
      RunChild({"tools/quickstart", "--images=" + data + "/digit_images/train",
                "--data_dir=" + TempName("lists"), "--passes=1"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output.rfind("1,151 images of 10 classes for training, 287 for the test, in", 0),
            0u)
      << result.output;
  EXPECT_NE(result.output.find(" of 287)\n"), std::string::npos) << result.output;
}

TEST(Quickstart, NamesFoldersWithoutImages) {
  const ChildResult missing =
      RunChild({"tools/quickstart", "--data_dir=" + TempName("data"), "--images=no_such_folder"});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_NE(missing.errors.find("no_such_folder: No such file"), std::string::npos)
      << missing.errors;
  const ChildResult empty = RunChild(
      {"tools/quickstart", "--data_dir=" + TempName("data"), "--images=" + NewFolder("no_images")});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_NE(empty.errors.find("0 images (.jpg, .jpeg, .png, .webp) in 0 folders"),
            std::string::npos)
      << empty.errors;
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
