// SPDX-License-Identifier: Apache-2.0
// The commands on files and programs of an HTTP server.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/gate.h"
#include "tests/http_server.h"
#include "tests/record_files.h"
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
