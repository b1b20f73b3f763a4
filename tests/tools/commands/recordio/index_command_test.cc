// SPDX-License-Identifier: Apache-2.0
// Commands that leave indexes (--index), and are killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "readers/index/chunk_index.h"
#include "tests/child.h"
#include "tests/fakes/http_server.h"
#include "tests/files/index_files.h"
#include "tests/files/indexable_kinds.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

class IndexCommand : public ::testing::Test {
 protected:
  // A file of lines, and what `recordio index` says of it.
  std::string WriteLines(const std::string& name, size_t lines) {
    const std::string path = folder_ + "/" + name;
    WriteFile(path, Between("", TextsOf(lines, 100), "\n"));
    return path;
  }
  static ChildResult Run(Strings command, const Strings& more = {}) {
    command.insert(command.end(), more.begin(), more.end());
    return RunChild(command);
  }
  bool HasRightIndex(const std::string& path) const {
    return fs::exists(IndexPathOf(path)) && ReadFile(IndexPathOf(path)) == IndexOf("text", path);
  }

  const std::string folder_ = NewFolder("index_command");
};

TEST_F(IndexCommand, PeekAndExecutorLeaveIndexes) {
  const std::string path = WriteLines("a.txt", 30'000);
  const Strings peek = {"tools/peek", "--digest", path};
  const ChildResult without = Run(peek);
  EXPECT_FALSE(fs::exists(IndexPathOf(path)));
  const ChildResult result = Run(peek, {"--index"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(result.output == without.output);
  EXPECT_TRUE(HasRightIndex(path));
  EXPECT_TRUE(Run(peek, {"--index"}).output == without.output) << "with the index";

  const std::string written = ReadFile(IndexPathOf(path));
  ASSERT_EQ(Run({"tools/recordio", "index", path}).exit_code, 0);
  EXPECT_TRUE(ReadFile(IndexPathOf(path)) == written);

  constexpr char kOpens[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "lines" persistable: true type { type: READER } }
  vars { name: "batches" persistable: true type { type: READER } }
  ops { type: "open_files" outputs { parameter: "Out" arguments: "lines" }
        attrs { name: "file_names" strings: "${file}" } }
  ops { type: "create_batch_reader" inputs { parameter: "UnderlyingReader" arguments: "lines" }
        outputs { parameter: "Out" arguments: "batches" } attrs { name: "batch_size" i: 100000 } }
}
)";
  constexpr char kReads[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "line" type { type: LOD_TENSOR } }
  ops { type: "read" inputs { parameter: "Reader" arguments: "batches" }
        outputs { parameter: "Out" arguments: "line" } }
}
)";
  const TempFile startup("startup.pbtxt", kOpens), main("main.pbtxt", kReads);
  fs::remove(IndexPathOf(path));
  const ChildResult run = Run({"tools/executor", "--startup=" + startup.path(),
                               "--main=" + main.path(), "--set=file=" + path, "--index"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_TRUE(HasRightIndex(path));
}

TEST_F(IndexCommand, OfFilesOnServersAreInTheCache) {
  HttpServer server;
  server.Put("/a.txt", Between("", TextsOf(1000, 100), "\n"));
  const Strings peek = {"tools/peek", "--all", server.Url("/a.txt?key=hidden"), "--index"};
  const ChildResult without = Run(peek);
  EXPECT_EQ(without.exit_code, 0) << without.errors;
  EXPECT_THAT(without.errors, HasSubstr("warning: no index of "));
  EXPECT_THAT(without.errors, HasSubstr("--cache_dir"));
  EXPECT_EQ(without.errors.find("hidden"), std::string::npos) << without.errors;
  const std::string cache = "--cache_dir=" + folder_ + "/cache";
  const ChildResult first = Run(peek, {cache});
  EXPECT_EQ(first.errors.find("warning"), std::string::npos) << first.errors;
  EXPECT_EQ(Run(peek, {cache}).output, first.output);
}

// A disk on which nothing can be written: the files are read, with one warning.
TEST_F(IndexCommand, ThatCannotBeWrittenAreAWarning) {
  const TempFile limited("limited.sh", "ulimit -f 0; exec \"$@\"\n");
  const std::string one = WriteLines("1.txt", 1000), two = WriteLines("2.txt", 1000);
  const ChildResult result =
      Run({"/bin/sh", limited.path(), "tools/peek", "--digest", one, two, "--index"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(result.output == Run({"tools/peek", "--digest", one, two}).output);
  const size_t warning = result.errors.find("warning: no index of ");
  EXPECT_NE(warning, std::string::npos) << result.errors;
  EXPECT_EQ(result.errors.find("warning", warning + 1), std::string::npos) << result.errors;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
  // A folder has the name of an index.
  fs::create_directory(IndexPathOf(two));
  const ChildResult taken = Run({"tools/peek", "--digest", one, two, "--index"});
  EXPECT_EQ(taken.exit_code, 0) << taken.errors;
  EXPECT_TRUE(taken.output == result.output);
  EXPECT_TRUE(HasRightIndex(one));
  EXPECT_THAT(taken.errors, HasSubstr("warning: no index of '" + two + "' is left"));
}

// The user has not named the file that a link of this name leads to.
TEST_F(IndexCommand, ThroughALinkToNothingAreAnError) {
  const std::string one = WriteLines("1.txt", 1000), elsewhere = folder_ + "/elsewhere";
  fs::create_directory(elsewhere);
  for (const std::string& target : {elsewhere + "/index", std::string("elsewhere/index")}) {
    fs::create_symlink(target, IndexPathOf(one));
    const ChildResult read = Run({"tools/peek", "--digest", one, "--index"});
    EXPECT_EQ(read.exit_code, 4) << read.output;
    EXPECT_THAT(read.errors, HasSubstr(IndexPathOf(one) + ": no index can be left: it is a link"));
    for (const char* force : {"--force", "--noforce"}) {
      const ChildResult made = Run({"tools/recordio", "index", force, one});
      EXPECT_EQ(made.exit_code, 4) << made.output;
      EXPECT_THAT(made.errors,
                  HasSubstr("cannot write: it is a link to a file that does not exist"));
    }
    EXPECT_TRUE(fs::is_empty(elsewhere));
    fs::remove(IndexPathOf(one));
  }
}

// Several at once, each killed at any moment: an index is right or not there, and what is left of
// one is not read as data.
TEST_F(IndexCommand, ThatAreKilledLeaveNothingThatIsWrong) {
  constexpr int kFiles = 60, kRounds = 25, kProcesses = 3;
  Strings files;
  for (int i = 0; i < kFiles; ++i) files.push_back(WriteLines(StrCat("train-", i), 300));
  const Strings peek = {"tools/peek", "--digest", "--threads=2", "text:" + folder_ + "/train-*"};
  const std::string right = Run(peek).output;
  std::mt19937 random(1);
  int indexes = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    std::vector<std::unique_ptr<Child>> children;
    Strings command = peek;
    command.emplace_back("--index");
    for (int i = 0; i < kProcesses; ++i) children.push_back(std::make_unique<Child>(command));
    for (auto& child : children) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
      child->Signal(SIGKILL);
      const ChildResult result = child->Wait();
      if (result.exit_code == 128 + SIGKILL) continue;
      EXPECT_EQ(result.exit_code, 0) << result.errors;
      EXPECT_TRUE(result.output == right);
    }
    for (const std::string& path : files) {
      if (!fs::exists(IndexPathOf(path))) continue;
      ASSERT_TRUE(HasRightIndex(path)) << path;
      ++indexes;
      fs::remove(IndexPathOf(path));
    }
  }
  EXPECT_GT(indexes, 0);
  // As if one had been killed while it wrote.
  WriteFile(IndexPathOf(files[0]) + ".partial", "half");
  WriteFile(IndexPathOf(files[0]) + ".2.partial", "half");
  const ChildResult last = Run(peek, {"--index"});
  EXPECT_EQ(last.exit_code, 0) << last.errors;
  EXPECT_TRUE(last.output == right);
  for (const std::string& path : files) EXPECT_TRUE(HasRightIndex(path)) << path;
}

}  // namespace
}  // namespace millhopper
