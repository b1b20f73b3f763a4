// SPDX-License-Identifier: Apache-2.0
// Commands that share a cache of remote files, and are killed.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/child.h"
#include "tests/fakes/http_server.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMiB = size_t{1} << 20;

// Lines that differ.
std::string Lines(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string lines;
  while (lines.size() < bytes) {
    for (int i = 0; i < 100; ++i) lines += StrCat(random(), ' ');
    lines += '\n';
  }
  return lines;
}

class CacheCommand : public ::testing::Test {
 protected:
  // What peek tells of two files.
  std::vector<std::string> Peek(const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> command = {"tools/peek", "--digest", "--threads=2",
                                        server_.Url("/{0..1}.txt?key=hidden")};
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }
  // Every record once and in order.
  void ExpectRight(const ChildResult& result) const {
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_TRUE(result.output == right_) << "other records";
  }
  // No byte was asked for since the server began to count.
  void ExpectOnlyVersionsAskedFor() const {
    EXPECT_GT(server_.requests(), 0);
    for (const std::string& head : server_.heads()) {
      const std::string path = head.substr(0, head.find('?'));
      if (path == "GET /0.txt" || path == "GET /1.txt") {
        EXPECT_EQ(HeaderOf(head, "Range"), "bytes=0-0") << head;
      }
    }
  }
  // Changes, cuts off or empties a file of the cache, if it is still there: other processes remove
  // and rename files meanwhile.
  void Damage(std::mt19937* random) const {
    std::vector<fs::path> files;
    std::error_code gone;
    for (fs::recursive_directory_iterator file(folder_, gone), end; file != end && !gone;
         file.increment(gone)) {
      std::error_code ignored;
      if (file->is_regular_file(ignored)) files.push_back(file->path());
    }
    if (files.empty()) return;
    const fs::path& file = files[(*random)() % files.size()];
    std::ifstream in(file, std::ios::binary);
    std::string content(std::istreambuf_iterator<char>(in), {});
    if (content.empty()) return;
    const size_t at = (*random)() % content.size();
    if ((*random)() % 3 == 0) {
      content.resize(at);
    } else {
      content[at] = static_cast<char>(content[at] ^ 1 << (*random)() % 8);
    }
    std::ofstream(file, std::ios::binary) << content;
  }
  void SetUp() override {
    fs::permissions(folder_, fs::perms::owner_all);
    server_.Put("/0.txt", Lines(6 * kMiB, 1));
    server_.Put("/1.txt", Lines(3 * kMiB + 1234, 2));
    const ChildResult result = RunChild(Peek());
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    right_ = result.output;
  }

  HttpServer server_;
  const std::string folder_ = NewFolder("cache");
  std::string right_;
};

TEST_F(CacheCommand, ASecondRunTakesNoBytesFromTheServer) {
  const std::vector<std::string> command = Peek({"--cache_dir=" + folder_ + "/new", "--stats"});
  const ChildResult first = RunChild(command);
  ExpectRight(first);
  EXPECT_NE(first.errors.find("\ncache "), std::string::npos) << first.errors;
  server_.Break(HttpTrouble::kNone);  // counts anew
  const ChildResult second = RunChild(command);
  ExpectRight(second);
  ExpectOnlyVersionsAskedFor();
  for (const ChildResult& result : {first, second}) {
    EXPECT_EQ(result.errors.find("hidden"), std::string::npos) << result.errors;
  }
}

TEST_F(CacheCommand, ExecutorCountsWhatTheCacheHas) {
  constexpr char kOpens[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "lines" persistable: true type { type: READER } }
  ops { type: "open_files" outputs { parameter: "Out" arguments: "lines" }
        attrs { name: "file_names" strings: "${file}" } }
}
)";
  constexpr char kReads[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "line" type { type: LOD_TENSOR } }
  ops { type: "read" inputs { parameter: "Reader" arguments: "lines" }
        outputs { parameter: "Out" arguments: "line" } }
}
)";
  server_.Put("/few.txt", Lines(10'000, 3));
  const TempFile startup("startup.pbtxt", kOpens), main("main.pbtxt", kReads);
  for (const bool again : {false, true}) {
    const ChildResult result = RunChild(
        {"tools/executor", "--startup=" + startup.path(), "--main=" + main.path(), "--json",
         "--set=file=" + server_.Url("/few.txt"), "--cache_dir=" + folder_, "--cache_bytes=1GB"});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const nlohmann::json json = nlohmann::json::parse(result.output);
    EXPECT_EQ(json["cache"]["written"] > 0, !again) << json;
    EXPECT_EQ(json["cache"]["reads"] > 0, again) << json;
    EXPECT_EQ(json["servers"][0]["bytes"] == 0, again) << json;
  }
}

TEST_F(CacheCommand, FlagsAreChecked) {
  const auto errors = [&](const std::vector<std::string>& flags, int code) {
    const ChildResult result = RunChild(Peek(flags));
    EXPECT_EQ(result.exit_code, code) << result.errors;
    return result.errors;
  };
  const TempFile file("file", "");
  EXPECT_NE(errors({"--cache_dir=" + file.path()}, 4).find("error: --cache_dir: "),
            std::string::npos);
  EXPECT_NE(errors({"--cache_dir=" + folder_, "--cache_bytes=1MB"}, 2).find("at least 16777216"),
            std::string::npos);
  EXPECT_NE(errors({"--cache_bytes=much"}, 2).find("--cache_bytes=much"), std::string::npos);
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(errors({"--cache_dir=" + folder_}, 2).find("other users can write"), std::string::npos);
}

// The cache is too small for all, so that what is there goes all the time.
TEST_F(CacheCommand, ProcessesThatAreKilledLeaveNothingThatIsWrong) {
  constexpr int kRounds = 40, kProcesses = 5;
  const TempFile limited("limited.sh", "ulimit -f \"$1\"; shift; exec \"$@\"\n");
  server_.Put("/1.txt", Lines(14 * kMiB, 2));
  right_ = RunChild(Peek()).output;
  std::mt19937 random(1);
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    const std::vector<std::string> command =
        Peek({"--cache_dir=" + folder_, round % 4 == 0 ? "--cache_bytes=16MiB" : ""});
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < kProcesses; ++i) {
      std::vector<std::string> words = command;
      if (words.back().empty()) words.pop_back();
      // One of them may write no files of the size of an entry.
      if (i == 0) {
        const std::vector<std::string> shell = {"/bin/sh", limited.path(), "500"};
        words.insert(words.begin(), shell.begin(), shell.end());
      }
      children.push_back(std::make_unique<Child>(words));
    }
    const bool all_live = round == kRounds - 1;
    for (auto& child : children) {
      const bool lives = all_live || random() % 8 == 0;
      if (!lives) {
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
        child->Signal(SIGKILL);
      }
      const ChildResult result = child->Wait();
      if (lives || result.exit_code != 128 + SIGKILL) ExpectRight(result);
      Damage(&random);
    }
    if (HasFailure()) return;
  }
  ExpectRight(RunChild(Peek({"--cache_dir=" + folder_})));
  server_.Break(HttpTrouble::kNone);
  ExpectRight(RunChild(Peek({"--cache_dir=" + folder_})));
  ExpectOnlyVersionsAskedFor();
}

}  // namespace
}  // namespace millhopper
