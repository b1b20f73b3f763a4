// SPDX-License-Identifier: Apache-2.0
// The commands on files and programs of an HTTP server.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/fakes/http_server.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr char kLines[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars {
    name: "lines"
    persistable: true
    type { type: READER reader { lod_tensor { tensor { data_type: UINT8 dims: -1 } lod_level: 1 } } }
  }
  ops {
    type: "open_files"
    outputs { parameter: "Out" arguments: "lines" }
    attrs { name: "file_names" strings: "${file}" }
  }
}
)";

class HttpCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.Put("/lines.pbtxt", kLines);
    server_.Put("/0.txt", "ab\ncd\n");
    server_.Put("/1.txt", "ef\n");
  }

  HttpServer server_;
};

TEST_F(HttpCommand, PeeksAtFilesAndProgramsOfAServer) {
  const TempFile lines("lines.txt", "ab\nef\ncd\n");
  const ChildResult local = RunChild({"tools/peek", "--digest", lines.path()});
  EXPECT_EQ(local.exit_code, 0) << local.errors;
  const ChildResult result =
      RunChild({"tools/peek", "--digest", "--startup=" + server_.Url("/lines.pbtxt"),
                "--set=file=" + server_.Url("/{0..1}.txt?key=1")});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, local.output);
  const ChildResult named = RunChild({"tools/peek", "--digest", server_.Url("/{0..1}.txt?key=1")});
  EXPECT_EQ(named.exit_code, 0) << named.errors;
  EXPECT_EQ(named.output, local.output);
}

TEST_F(HttpCommand, ShowsNoSecretOfAUrlThatFails) {
  server_.Break(HttpTrouble::kStatus);
  server_.set_status(403);
  const std::string url = server_.Url("/lines.pbtxt?sig=hidden");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"tools/peek", server_.Url("/0.txt?sig=hidden")},
        {"tools/peek", server_.Url("/{0..9999999}.txt?sig=hidden")},
        {"tools/peek", server_.Url("/*.txt?sig=hidden")},
        {"tools/peek", server_.Url("/0?sig=hidden")},
        {"tools/peek", "--startup=" + url},
        {"tools/executor", "--main=" + url},
        {"tools/recordio", "verify", url}}) {
    const ChildResult result = RunChild(command);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.errors.find("?..."), std::string::npos) << result.errors;
    EXPECT_EQ((result.output + result.errors).find("hidden"), std::string::npos) << result.errors;
  }
}

TEST_F(HttpCommand, NamesAMissingFileOnce) {
  for (const std::string& file : {server_.Url("/none.txt"), server_.Url("/none.txt?sig=hidden")}) {
    const ChildResult result = RunChild({"tools/peek", "text:" + file});
    EXPECT_EQ(result.exit_code, 4) << result.errors;
    const size_t named = result.errors.find("/none.txt");
    ASSERT_NE(named, std::string::npos) << result.errors;
    EXPECT_EQ(result.errors.find("/none.txt", named + 1), std::string::npos) << result.errors;
  }
}

TEST_F(HttpCommand, ShowsNoSecretOfAProgramThatIsRight) {
  const std::string program = "--startup=" + server_.Url("/lines.pbtxt?sig=hidden");
  const std::string file = "--set=file=" + server_.Url("/0.txt?sig=hidden");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"tools/executor", "--check", program, file},
        {"tools/executor", program, file},
        {"tools/executor", "--json", "--stats", program, file}}) {
    const ChildResult result = RunChild(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE((result.output + result.errors).find("/lines.pbtxt?..."), std::string::npos)
        << result.output << result.errors;
    EXPECT_EQ((result.output + result.errors).find("hidden"), std::string::npos)
        << result.output << result.errors;
  }
}

TEST_F(HttpCommand, ShowsNoSecretWhateverStandsAroundIt) {
  for (const std::string& name :
       {std::string("text:https://127.0.0.1:1/my file.csv?X-Amz-Signature=hidden&id=hidden"),
        std::string("text:https://127.0.0.1:1/a\tb?id=hidden 1"),
        std::string("text:https://127.0.0.1:1/a\nb?id=hidden\n2"),
        std::string("text:http:///me:hidden@127.0.0.1:1/a.csv"),
        std::string("text:http:/me:hidden@127.0.0.1:1/a.csv"),
        std::string("text:http://m e:hid hidden@127.0.0.1:1/a.csv"),
        std::string("text:s3://me:hidden@bucket/a.csv"), std::string("ftp://me:hidden@host/a")}) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"tools/peek", name},
          {"tools/peek", "--state=" + name},
          {"tools/peek", "--startup=" + name},
          {"tools/executor", "--startup=" + server_.Url("/lines.pbtxt"), "--set=file=" + name},
          {"tools/executor", name},
          {"tools/executor", "--set", name},
          {"tools/executor", "--json", "--main=" + server_.Url("/lines.pbtxt"),
           "--set=fil=" + name},
          {"tools/recordio", "inspect", "--json", name},
          {"tools/recordio", "write", "--output=" + name, "--shards=2", "/dev/null"}}) {
      const ChildResult result = RunChild(command);
      EXPECT_NE(result.exit_code, 0);
      EXPECT_EQ((result.output + result.errors).find("hidden"), std::string::npos)
          << result.output << result.errors;
    }
  }
}

// libcurl's own texts have the proxy in them.
TEST_F(HttpCommand, ShowsNoPasswordOfAProxy) {
  for (const char* const proxy :
       {"socks5://me:hidden@127.0.0.1:99999", "me:hidden@127.0.0.1:99999", "http://me:hidden",
        "none://me:hidden@host:1", "http://me:hid/hidden@127.0.0.1:1"}) {
    ::setenv("http_proxy", proxy, 1);
    const ChildResult result = RunChild({"tools/peek", "--connect_timeout=1", "--request_timeout=2",
                                         "text:http://127.0.0.2:1/a.csv"});
    EXPECT_EQ(result.exit_code, 4) << result.errors;
    EXPECT_EQ((result.output + result.errors).find("hidden"), std::string::npos) << result.errors;
  }
  ::unsetenv("http_proxy");
}

// A loop that prints each line of a file, and saves itself.
const std::string kPrint = ReadingProgram("lines", {OpText("print", {{"In", {"element"}}}, {})});

TEST_F(HttpCommand, GoesOnWithANewSignatureAndNotWithAnotherVersion) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += StrCat("line ", i, "\n");
  server_.Put("/lines.txt", lines);
  const std::string folder = NewFolder("signed");
  WriteFile(folder + "/startup.pbtxt", kLines);
  WriteFile(folder + "/main.pbtxt", kPrint);
  const auto run = [&](const std::string& query, const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"tools/executor",
                                      StrCat("--startup=", folder, "/startup.pbtxt"),
                                      StrCat("--main=", folder, "/main.pbtxt"),
                                      StrCat("--set=file=text:", server_.Url("/lines.txt?"), query),
                                      StrCat("--checkpoint_dir=", folder, "/saved"),
                                      "--checkpoint_every=1steps"};
    words.insert(words.end(), flags.begin(), flags.end());
    return RunChild(words);
  };
  const std::string version = "versionId=1&X-Amz-Signature=hidden";
  const ChildResult stopped = run(version + "&id=hidden", {"--max_steps=50"});
  EXPECT_EQ(stopped.exit_code, 5) << stopped.errors;
  for (const auto& file : std::filesystem::directory_iterator(folder + "/saved")) {
    EXPECT_EQ(ReadFile(file.path().string()).find("hidden"), std::string::npos) << file.path();
    EXPECT_EQ(file.status().permissions(), std::filesystem::perms(0600)) << file.path();
  }
  const ChildResult peek = RunChild({"tools/peek", "--json", StrCat("--state=", folder, "/saved")});
  EXPECT_NE(peek.output.find("?versionId=1&...="), std::string::npos) << peek.output;
  const ChildResult other = run("versionId=2&X-Amz-Signature=hidden&id=hidden", {"--resume"});
  EXPECT_EQ(other.exit_code, 2) << other.errors;
  EXPECT_NE(other.errors.find("?versionId=1&...="), std::string::npos) << other.errors;
  EXPECT_NE(other.errors.find("?versionId=2&...="), std::string::npos) << other.errors;
  EXPECT_EQ(other.errors.find("hidden"), std::string::npos) << other.errors;
  EXPECT_EQ(run(version + "&id=7", {"--resume"}).exit_code, 2);
  const ChildResult rest = run("id=hidden&X-Amz-Signature=other&versionId=1", {"--resume"});
  EXPECT_EQ(rest.exit_code, 0) << rest.errors;
  const std::string whole =
      RunChild({"tools/executor", StrCat("--startup=", folder, "/startup.pbtxt"),
                StrCat("--main=", folder, "/main.pbtxt"), "--quiet",
                "--set=file=text:" + server_.Url("/lines.txt")})
          .output;
  ASSERT_GT(rest.output.size(), 0u);
  ASSERT_LT(rest.output.size(), whole.size());
  EXPECT_EQ(rest.output, whole.substr(whole.size() - rest.output.size()));
  EXPECT_EQ(stopped.output, whole.substr(0, stopped.output.size()));
}

TEST_F(HttpCommand, ChecksAndListsRecordIOFiles) {
  const std::string folder = NewFolder("numbers");
  WriteNumbers(folder, 1, 50);
  server_.Put("/numbers.recordio", ReadFile(folder + "/numbers-0.recordio"));
  const ChildResult result =
      RunChild({"tools/recordio", "verify", server_.Url("/numbers.recordio?key=1")});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE((result.output + result.errors).find("50 records"), std::string::npos)
      << result.output << result.errors;
}

TEST_F(HttpCommand, FlagsLimitRequests) {
  server_.Break(HttpTrouble::kSilent);
  const auto errors = [&](const std::string& flag) {
    const ChildResult result = RunChild({"tools/peek", flag, server_.Url("/0.txt")});
    EXPECT_NE(result.exit_code, 0);
    return result.errors;
  };
  EXPECT_NE(errors("--silence_timeout=0.1").find("nothing came from the server for 100 ms"),
            std::string::npos);
  EXPECT_NE(errors("--request_timeout=0.1").find("the request takes more than 100 ms"),
            std::string::npos);
  for (const char* const flag : {"--requests=0", "--requests=1025", "--connect_timeout=0",
                                 "--silence_timeout=-1", "--request_timeout=nan"}) {
    EXPECT_NE(errors(flag).find("are possible"), std::string::npos) << flag;
  }
}

TEST_F(HttpCommand, StopsWhileAServerIsSilent) {
  server_.Break(HttpTrouble::kSilent);
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child({"tools/peek", server_.Url("/0.txt")});
    WaitUntil([&] { return server_.at_once() > 0; });
    child.Signal(signal);
    EXPECT_EQ(child.Wait().exit_code, 128 + signal);
    server_.Mend();
    server_.Break(HttpTrouble::kSilent);
    WaitUntil([&] { return server_.at_once() == 0; });
  }
}

TEST_F(HttpCommand, WritesRecordsToAServer) {
  const TempFile lines("lines.txt", "ab\n");
  const std::string path = server_.Url("/new.recordio");
  const ChildResult written =
      RunChild({"tools/recordio", "write", "--output=" + path, lines.path()});
  EXPECT_EQ(written.exit_code, 0) << written.errors;
  const ChildResult head = RunChild({"tools/recordio", "head", path});
  EXPECT_NE(head.output.find("ab"), std::string::npos) << head.errors;
  server_.set_status(405);
  server_.Break(HttpTrouble::kStatus);
  const ChildResult refused =
      RunChild({"tools/recordio", "write", "--output=" + server_.Url("/other"), lines.path()});
  EXPECT_EQ(refused.exit_code, 4) << refused.errors;
  EXPECT_NE(refused.errors.find("405"), std::string::npos) << refused.errors;
}

}  // namespace
}  // namespace millhopper
