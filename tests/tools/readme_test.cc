// SPDX-License-Identifier: Apache-2.0
// Checks what README.md and the pages of operators, readers and resuming show: the programs print
// what the page says, and the operator and the format, which the build compiles from the text, do
// what the page says.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/checkpoint/run_checkpoints.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "tests/child.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// A training whose lines are those that the page of resuming shows as resume.cc.
void Train(const RunCheckpointOptions& options, const std::string& startup_path,
           const std::string& main_path) {
  const auto startup = Program::FromFile(startup_path);
  const auto program = Program::FromFile(main_path);
  Scope scope;
  RunState run;
  std::vector<std::string> damaged;
#include "tests/readme/resume.cc"  // NOLINT(bugprone-suspicious-include): lines, no file of its own
}

// The fenced block with this title, of README.md or of the page of resuming.
std::string BlockOfReadme(const std::string& title) {
  const std::string text = ReadFile("README.md") + ReadFile("tools/docs/pages/resume.md");
  const size_t head = text.find(" title=" + title + "\n");
  EXPECT_NE(head, std::string::npos) << title;
  const size_t begin = text.find('\n', head) + 1;
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST(Readme, ShowsWhatItsProgramsPrint) {
  const TempFile startup("startup.pbtxt", BlockOfReadme("startup.pbtxt"));
  const TempFile main("main.pbtxt", BlockOfReadme("main.pbtxt"));
  const ChildResult result =
      RunChild({"tools/executor", "--startup=" + startup.path(), "--main=" + main.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, BlockOfReadme("output"));
}

// Nothing is saved in so short a time, so that the second run begins anew.
TEST(Readme, ShowsACommandThatMayBeStopped) {
  const std::string folder = NewFolder("readme_resume");
  WriteFile(folder + "/startup.pbtxt", BlockOfReadme("startup.pbtxt"));
  WriteFile(folder + "/main.pbtxt", BlockOfReadme("main.pbtxt"));
  const std::string tools = std::filesystem::path(Runfile("tools/executor")).parent_path();
  for (int run = 0; run < 2; ++run) {
    const ChildResult result = RunChild({"/usr/bin/env", "-C", folder, "PATH=" + tools + ":/bin",
                                         "sh", "-c", BlockOfReadme("resume.sh")});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE(result.errors.find("saving the run in saved"), std::string::npos) << result.errors;
    EXPECT_EQ(result.output, BlockOfReadme("output"));
  }
}

TEST(Readme, ShowsHowAProgramGoesOn) {
  const TempFile startup("startup.pbtxt", BlockOfReadme("startup.pbtxt"));
  const TempFile main("main.pbtxt", BlockOfReadme("main.pbtxt"));
  RunCheckpointOptions options;
  options.folder = NewFolder("readme_checkpoints");
  int steps = 2;
  options.stop_wanted = [&steps] { return steps-- == 0; };
  testing::internal::CaptureStdout();
  ExpectError(ErrorCode::kCancelled, "", [&] { Train(options, startup.path(), main.path()); });
  Train(options, startup.path(), main.path());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), BlockOfReadme("output"));
}

TEST(Readme, ShowsAnOperatorThatWorks) {
  const TempFile program("main.pbtxt", R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "x" type { type: LOD_TENSOR } }
  ops {
    type: "fill_constant"
    outputs { parameter: "Out" arguments: "x" }
    attrs { name: "shape" ints: 2 }
    attrs { name: "value" f: -7 }
  }
  ops {
    type: "leaky_relu"
    inputs { parameter: "X" arguments: "x" }
    outputs { parameter: "Out" arguments: "x" }
    attrs { name: "alpha" f: 0.5 }
  }
  ops { type: "print" inputs { parameter: "In" arguments: "x" } }
}
)");
  const ChildResult result = RunChild(
      {"tools/executor", "--plugin=" + Runfile("tests/libreadme.so"), "--main=" + program.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, "x: float32 [2] = {-3.5, -3.5}\n");
}

TEST(Readme, ShowsAReaderThatWorks) {
  const TempFile lines("lines.txt", "one\ntwo\nthree\n");
  const TempFile startup("startup.pbtxt", R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "lines" persistable: true type { type: READER } }
  vars { name: "first" persistable: true type { type: READER } }
  vars { name: "twice" persistable: true type { type: READER } }
  ops {
    type: "create_text_file_reader"
    outputs { parameter: "Out" arguments: "lines" }
    attrs { name: "filename" s: "${lines}" }
  }
  ops {
    type: "create_head_reader"
    inputs { parameter: "UnderlyingReader" arguments: "lines" }
    outputs { parameter: "Out" arguments: "first" }
    attrs { name: "count" l: 2 }
  }
  ops {
    type: "create_multi_pass_reader"
    inputs { parameter: "UnderlyingReader" arguments: "first" }
    outputs { parameter: "Out" arguments: "twice" }
    attrs { name: "pass_num" i: 2 }
  }
}
)");
  const ChildResult result = RunChild({"tools/peek", "--plugin=" + Runfile("tests/libreadme.so"),
                                       "--startup=" + startup.path(), "--reader=twice",
                                       "--set=lines=" + lines.path(), "--json", "--count=9"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const std::string line =
      "{\"slots\":[{\"dtype\":\"uint8\",\"dims\":[3],\"lod\":[[0,3]],\"data\":[";
  const std::string both =
      line + "111,110,101],\"text\":\"one\"}]}\n" + line + "116,119,111],\"text\":\"two\"}]}\n";
  EXPECT_EQ(result.output, both + both);
}

TEST(Readme, ShowsAFormatThatWorks) {
  const TempFile first("first.p5", std::string("P5\n3 2\n255\n\1\2\3\4\5\6", 17));
  const TempFile second("second.p5", "P5 2 1 255 \7\10");
  const TempFile damaged("third.p5", "P5 2 2 255 \7\10");
  const TempFile startup("startup.pbtxt", R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "images" persistable: true type { type: READER } }
  ops {
    type: "open_files"
    outputs { parameter: "Out" arguments: "images" }
    attrs { name: "file_names" strings: "${first}" strings: "pgm:${second}" strings: "${third}" }
  }
}
)");
  const ChildResult result =
      RunChild({"tools/peek", "--plugin=" + Runfile("tests/libreadme.so"),
                "--startup=" + startup.path(), "--set=first=" + first.path(),
                "--set=second=" + second.path(), "--set=third=" + damaged.path(), "--json"});
  EXPECT_EQ(result.output,
            "{\"slots\":[{\"dtype\":\"uint8\",\"dims\":[1,2,3],\"lod\":[],"
            "\"data\":[1,2,3,4,5,6]}]}\n"
            "{\"slots\":[{\"dtype\":\"uint8\",\"dims\":[1,1,2],\"lod\":[],\"data\":[7,8]}]}\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.errors.rfind("error: " + damaged.path() + ": ", 0), 0u) << result.errors;
  EXPECT_NE(result.errors.find("the header says 2 x 2, but 2 bytes follow"), std::string::npos)
      << result.errors;
}

}  // namespace
}  // namespace millhopper
