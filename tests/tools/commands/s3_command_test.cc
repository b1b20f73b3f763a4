// SPDX-License-Identifier: Apache-2.0
// The commands on files and programs of an object store.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "framework/io/file_system.h"
#include "tests/child.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/s3_judge.h"
#include "tests/files/record_files.h"
#include "tests/framework/checkpoint/saved_loop.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const std::string kStartup = BlockText(
    0, -1,
    {CreatedReaderText("numbers", "open_files", {},
                       {{"file_names", "strings: '${files}'"}, {"content", "s: 'tensors'"}},
                       {{"FP32", {1, 2}}, {"INT64", {1, 1}}})});

class S3Command : public ::testing::Test {
 protected:
  void SetUp() override {
    SetS3User();
    WriteNumbers(folder_, 2, 50);
    for (int i = 0; i < 2; ++i) {
      judge_->Put(StrCat("train/numbers-", i, ".recordio"),
                  ReadFile(StrCat(folder_, "/numbers-", i, ".recordio")));
    }
    judge_->Put("startup.pbtxt", kStartup);
  }

  HttpServer server_;
  const std::shared_ptr<S3Judge> judge_ = S3Judge::For(&server_);
  const AwsTestEnvironment environment_{server_.Url("")};
  const std::string folder_ = NewFolder("numbers");
};

TEST_F(S3Command, ReadsProgramsAndFilesThatMatchAPattern) {
  const TempFile startup("startup.pbtxt", kStartup);
  const auto digest = [](const std::string& program, const std::string& files) {
    return RunChild({"tools/peek", "--digest", "--startup=" + program, "--set=files=" + files});
  };
  const ChildResult local = digest(startup.path(), folder_ + "/numbers-*");
  EXPECT_EQ(local.exit_code, 0) << local.errors;
  const ChildResult remote = digest("s3://bucket/startup.pbtxt", "s3://bucket/train/numbers-*");
  EXPECT_EQ(remote.exit_code, 0) << remote.errors;
  EXPECT_EQ(remote.output, local.output);
  const ChildResult executed =
      RunChild({"tools/executor", "--stats", "--startup=s3://bucket/startup.pbtxt",
                "--set=files=s3://bucket/train/numbers-{0..1}.recordio"});
  EXPECT_EQ(executed.exit_code, 0) << executed.errors;
  EXPECT_NE(executed.errors.find(StrCat("\n127.0.0.1:", server_.port(), " ")), std::string::npos)
      << executed.errors;
  const ChildResult verified = RunChild({"tools/recordio", "verify", "s3://bucket/*/*.recordio"});
  EXPECT_EQ(verified.exit_code, 0) << verified.errors;
  EXPECT_NE((verified.output + verified.errors).find("100 records"), std::string::npos)
      << verified.output << verified.errors;
}

TEST_F(S3Command, SaysWhatTheStoreSaysAndShowsNoSecret) {
  ::setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
  ::setenv("AWS_ACCESS_KEY_ID", "hidden-key", 1);
  ::setenv("AWS_SESSION_TOKEN", "hidden-token", 1);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"tools/peek", "s3://bucket/train/numbers-0.recordio"},
        {"tools/peek", "s3://bucket/train/*"},
        {"tools/peek", "--startup=s3://bucket/startup.pbtxt"},
        {"tools/executor", "--startup=s3://bucket/startup.pbtxt"},
        {"tools/recordio", "verify", "s3://bucket/train/*"}}) {
    const ChildResult result = RunChild(command);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.errors.find("(InvalidAccessKeyId: who is ... with ...?)"), std::string::npos)
        << result.errors;
    EXPECT_EQ((result.output + result.errors).find("hidden"), std::string::npos) << result.errors;
  }
}

TEST_F(S3Command, WritesRecordsToAStore) {
  const TempFile lines("lines.txt", "ab\nc\n");
  for (const char* const name : {"new", "another", "new"}) {
    const ChildResult written =
        RunChild({"tools/recordio", "write", StrCat("--output=s3://bucket/out/", name, ".recordio"),
                  "--force", lines.path()});
    EXPECT_EQ(written.exit_code, 0) << written.errors;
  }
  const ChildResult head =
      RunChild({"tools/recordio", "head", "s3://bucket/out/new.recordio", "--count=1"});
  EXPECT_EQ(head.exit_code, 0) << head.errors;
  EXPECT_NE(head.output.find("ab"), std::string::npos) << head.output;
  const ChildResult verified = RunChild({"tools/recordio", "verify", "s3://bucket/out/*.recordio"});
  EXPECT_EQ(verified.exit_code, 0) << verified.errors;
  for (const char* const shards : {"3", "2"}) {
    const ChildResult sharded =
        RunChild({"tools/recordio", "write", "--output=s3://bucket/shards/x.recordio", "--force",
                  StrCat("--shards=", shards), lines.path()});
    EXPECT_EQ(sharded.exit_code, *shards == '3' ? 0 : 2) << sharded.errors;
  }
  const ChildResult refused =
      RunChild({"tools/recordio", "write", "--output=s3://bucket/out/new.recordio", lines.path()});
  EXPECT_EQ(refused.exit_code, 4) << refused.errors;
  EXPECT_NE(refused.errors.find("the file exists"), std::string::npos) << refused.errors;
}

// A run that is stopped three times prints what one prints that is not.
TEST_F(S3Command, SavesRunsInAStore) {
  const std::string saved = "s3://bucket/runs/a b";
  WriteFile(folder_ + "/startup.pbtxt", SavedLoopStartup(folder_));
  WriteFile(folder_ + "/main.pbtxt", SavedLoopMain(1500, false));
  const auto command = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"tools/executor",
                                      StrCat("--startup=", folder_, "/startup.pbtxt"),
                                      StrCat("--main=", folder_, "/main.pbtxt")};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  };
  const ChildResult whole = RunChild(command({"--quiet"}));
  ASSERT_EQ(whole.exit_code, 0) << whole.errors;
  std::string printed;
  for (int stop = 1; stop <= 3; ++stop) {
    Child child(command({"--checkpoint_dir=" + saved, "--checkpoint_every=400steps", "--resume"}));
    child.WaitForError((stop == 1 ? "saving the run in " : "continuing the run in ") + saved);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    child.Signal(SIGTERM);
    const ChildResult result = child.Wait();
    printed += result.output;
    ASSERT_EQ(result.exit_code, 128 + SIGTERM) << result.errors;
  }
  const ChildResult rest =
      RunChild(command({"--checkpoint_dir=" + saved, "--resume=required", "--quiet"}));
  EXPECT_EQ(rest.exit_code, 0) << rest.errors;
  EXPECT_EQ(printed + rest.output, whole.output);
  EXPECT_LE(FileSystemOf(saved).ListFolder(saved).size(), 3u);
  const ChildResult peek = RunChild({"tools/peek", "--json", "--state=" + saved});
  EXPECT_EQ(peek.exit_code, 0) << peek.errors;
  EXPECT_NE(peek.output.find("\"readers\""), std::string::npos) << peek.output;
  const ChildResult again = RunChild(command({"--checkpoint_dir=" + saved}));
  EXPECT_EQ(again.exit_code, 2) << again.errors;
  EXPECT_NE(again.errors.find("--resume continues it"), std::string::npos) << again.errors;
  judge_->SetUser("OTHER", "SECRET");
  const ChildResult denied = RunChild(command({"--checkpoint_dir=" + saved, "--resume"}));
  EXPECT_EQ(denied.exit_code, 4) << denied.errors;
  EXPECT_NE(denied.errors.find("ExpiredToken"), std::string::npos) << denied.errors;
}

}  // namespace
}  // namespace millhopper
