// SPDX-License-Identifier: Apache-2.0
// The commands on what can be read once only: standard input, FIFOs, the output of commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

ChildResult Bash(const std::string& line) {
  return RunChild({"/bin/bash", "-c", "set -o pipefail; " + line});
}

// The output of a line of bash, which must succeed.
std::string OutputOf(const std::string& line) {
  const ChildResult result = Bash(line);
  EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.errors;
  return result.output;
}

void ExpectFailure(const std::string& line, int exit_code, const std::string& words) {
  const ChildResult result = Bash(line);
  EXPECT_EQ(result.exit_code, exit_code) << line << "\n" << result.errors;
  EXPECT_THAT(result.errors, HasSubstr(words)) << line;
}

constexpr char kReads[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "lines" persistable: true type { type: READER } }
  ops { type: "open_files" outputs { parameter: "Out" arguments: "lines" }
        attrs { name: "file_names" strings: "${file}" } }
}
)";

constexpr char kPrints[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "line" type { type: LOD_TENSOR } }
  ops { type: "read" inputs { parameter: "Reader" arguments: "lines" }
        outputs { parameter: "Out" arguments: "line" } }
  ops { type: "print" inputs { parameter: "In" arguments: "line" } }
}
)";

// What a command prints without the line that names a file and its format.
std::string WithoutFormat(const std::string& output) {
  const size_t name = output.find(": csv");
  if (name == std::string::npos) return "no format: " + output;
  const size_t begin = output.rfind('\n', name) + 1;
  return output.substr(0, begin) + output.substr(output.find('\n', name) + 1);
}

TEST(PipeCommand, PeekLooksWithoutLosingAByte) {
  const TempFile rows("rows.csv", "id,name\n1,a\n2,b\n3,c\n");
  const auto peek = [](const std::string& line) { return WithoutFormat(OutputOf(line)); };
  const std::string expected = peek("tools/peek --all csv:" + rows.path());
  EXPECT_THAT(expected, HasSubstr("\"id int64[]\""));
  EXPECT_EQ(peek("cat " + rows.path() + " | tools/peek --all csv:-"), expected);
  EXPECT_EQ(peek("gzip -c " + rows.path() + " | tools/peek --all csv:-"), expected);
  EXPECT_EQ(peek("tools/peek --all csv:<(cat " + rows.path() + ")"), expected);
  EXPECT_EQ(peek("tools/peek --all --allow_exec 'csv:pipe:cat " + rows.path() + "'"), expected);
}

// Neither a name nor a prefix tells it.
TEST(PipeCommand, PeekFindsTheFormat) {
  const std::string folder = NewFolder("found");
  WriteNumbers(folder, 1, 5);
  const std::string file = folder + "/numbers-0.recordio";
  const std::string expected = OutputOf("tools/peek --digest " + file);
  EXPECT_EQ(OutputOf("cat " + file + " | tools/peek --digest -"), expected);
  EXPECT_EQ(OutputOf("tools/peek --digest --allow_exec 'pipe:cat " + file + "'"), expected);
  EXPECT_EQ(OutputOf("cat " + file + " | tools/recordio write --output=- - | sha256sum"),
            OutputOf("tools/recordio write --output=- " + file + " | sha256sum"));
  for (const std::string action : {"verify", "inspect", "head"}) {
    const std::string named = OutputOf("tools/recordio " + action + " " + file);
    std::string piped = OutputOf("cat " + file + " | tools/recordio " + action + " -");
    if (const size_t name = piped.find('-'); action != "head" && name == 0) {
      piped.replace(0, 1, file);
    }
    if (action != "head") {
      EXPECT_EQ(piped, named);
    }
    EXPECT_FALSE(piped.empty());
  }
}

TEST(PipeCommand, ExecutorReadsData) {
  const TempFile startup("startup.pbtxt", kReads), main("main.pbtxt", kPrints);
  const std::string run = "tools/executor --quiet --startup=" + startup.path() +
                          " --main=" + main.path() + " --set=file=text:";
  const std::string expected = "line: uint8 [2] lod [[0, 2]] = {97, 98}\n";
  EXPECT_EQ(OutputOf("echo ab | " + run + "-"), expected);
  EXPECT_EQ(OutputOf(run + "'pipe:echo ab' --allow_exec"), expected);
  EXPECT_EQ(OutputOf(run + "<(echo ab)"), expected);
  ExpectFailure(run + "'pipe:ls /no/such/file' --allow_exec", 4,
                "'ls' ended with the status 2; the last line of its standard error: ls: cannot");
  // The program comes from there already.
  ExpectFailure("cat " + startup.path() + " | tools/executor --quiet --startup=- --main=" +
                    main.path() + " --set=file=text:-",
                2, "-: standard input can be read only once");
}

TEST(PipeCommand, NothingIsRunWithoutTheFlag) {
  const std::string file = TempName("made");
  const TempFile startup("startup.pbtxt", kReads);
  const std::string name = " 'text:pipe:touch " + file + "'";
  for (const std::string& line :
       {"tools/peek" + name, "tools/recordio write --output=-" + name,
        "tools/executor --startup=" + startup.path() + " --set=file=" + name.substr(1)}) {
    ExpectFailure(line, 4, "commands are run only if that is allowed: by --allow_exec");
  }
  ExpectFailure("tools/peek 'pipe:touch " + file + "'", 2, "--allow_exec only");
  ExpectFailure("tools/recordio verify 'pipe:touch " + file + "'", 2, "--allow_exec only");
  EXPECT_EQ(OutputOf("ls " + file + " 2>/dev/null || echo none"), "none\n");
}

TEST(PipeCommand, SaysWhatCannotBeReadTwice) {
  const TempFile startup("startup.pbtxt", kReads);
  ExpectFailure("cat /dev/null | tools/peek npz:- --field=x", 2,
                "-: can be read once only, because it is standard input; here any place");
  ExpectFailure("echo ab | tools/recordio write --output=- text:- text:- | cat", 2,
                "-: can be read once only, because it is standard input; another reader");
  ExpectFailure("tools/peek --allow_exec --png=- --count=1 --passes=2 'text:pipe:echo ab' | cat", 2,
                "pipe:echo ab: can be read once only, because it is a pipe; for a second pass");
}

// A file of this name is ./-.
TEST(PipeCommand, AFileMayBeNamedLikeThat) {
  const std::string folder = NewFolder("named");
  WriteFile(folder + "/-", "ab\n");
  WriteFile(folder + "/pipe:x", "ab\n");
  const std::string peek = "peek=$PWD/tools/peek; cd " + folder + "; $peek --digest text:./";
  EXPECT_EQ(OutputOf(peek + "-"), OutputOf("echo ab | tools/peek --digest text:-"));
  EXPECT_EQ(OutputOf(peek + "pipe:x"), OutputOf("echo ab | tools/peek --digest text:-"));
}

}  // namespace
}  // namespace millhopper
