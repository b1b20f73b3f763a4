// SPDX-License-Identifier: Apache-2.0
// When a parser plugin ends the process, the last lines on standard error name the plugin, the file
// and the chunk.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr char kStartup[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "lines" persistable: true type { type: READER } }
  vars { name: "batches" persistable: true type { type: READER } }
  ops {
    type: "create_plugin_reader"
    outputs { parameter: "Out" arguments: "lines" }
    attrs { name: "parser" s: "${parser}" }
    attrs { name: "file_names" strings: "${good}" strings: "${bad}" }
    attrs { name: "buffer_type" s: "${buffer_type}" }
  }
  ops {
    type: "create_batch_reader"
    inputs { parameter: "UnderlyingReader" arguments: "lines" }
    outputs { parameter: "Out" arguments: "batches" }
    attrs { name: "batch_size" i: 6 }
  }
}
)";

constexpr char kSegfault[] = "error: crashed by signal 11 (Segmentation fault)";
constexpr char kAbort[] = "error: crashed by signal 6 (Aborted)";
constexpr char kExit[] = "error: ended by a call of exit in the middle of the work";

class ParserCrash : public ::testing::Test {
 protected:
  std::vector<std::string> Command(const std::string& way, const std::string& threads,
                                   const std::string& buffer_type = "memory") {
    WriteFile(bad_.path(), "good\n" + way + "\ngood\n");
    return {"/usr/bin/env",
            "MISBEHAVE=" + way,
            "tools/peek",
            "--plugin=" + plugin_,
            "--startup=" + startup_.path(),
            "--set=parser=" + plugin_,
            "--reader=batches",
            "--set=good=" + good_.path(),
            "--set=bad=" + bad_.path(),
            "--set=buffer_type=" + buffer_type,
            "--threads=" + threads};
  }
  void ExpectLines(const ChildResult& result, int exit_code, const std::string& lines) const {
    EXPECT_EQ(result.exit_code, exit_code) << result.errors;
    EXPECT_NE(result.errors.find(lines), std::string::npos) << result.errors << "lacks " << lines;
  }

  const std::string plugin_ = Runfile("tests/libmisbehaving_parser.so");
  const TempFile startup_{"startup.pbtxt", kStartup};
  const TempFile good_{"good.txt", "good\ngood\ngood\n"}, bad_{"bad.txt", ""};
  const std::string in_plugin_ = StrCat("\n  in code of ", plugin_, "\n");
  const std::string in_chunk_ =
      StrCat(in_plugin_, "  while reading ", bad_.path(), ", the chunk at byte 0\n");
};

// The records of two files come in turn, and only one of them crashes the parser.
TEST_F(ParserCrash, NamesPluginFileAndChunk) {
  struct Way {
    std::string name;
    int exit_code;
    std::string first_line;
  };
  for (const Way& way :
       {Way{"segfault", 128 + SIGSEGV, kSegfault}, Way{"wild_data", 128 + SIGSEGV, kSegfault},
        Way{"wild_levels", 128 + SIGSEGV, kSegfault}, Way{"overflow", 128 + SIGSEGV, kSegfault},
        Way{"abort", 128 + SIGABRT, kAbort}, Way{"leave_thread", 128 + SIGABRT, kAbort},
        Way{"exit", 6, kExit}}) {
    for (const std::string threads : {"0", "2"}) {
      SCOPED_TRACE(way.name + ", --threads=" + threads);
      ExpectLines(RunChild(Command(way.name, threads)), way.exit_code, way.first_line + in_chunk_);
    }
  }
  ExpectLines(RunChild(Command("segfault", "1", "mmap")), 128 + SIGSEGV, kSegfault + in_chunk_);
}

TEST_F(ParserCrash, AtTheBeginningAndTheEndNamesThePlugin) {
  ExpectLines(RunChild(Command("create_crash", "0")), 128 + SIGSEGV, kSegfault + in_plugin_);
  ExpectLines(RunChild(Command("destroy_crash", "0")), 128 + SIGSEGV,
              kSegfault + in_plugin_ + "  while the state of a parser was destroyed\n");
}

// --timeout ends a parser that does not come back, and says where it was.
TEST_F(ParserCrash, ASlowParserIsEndedByATimeLimit) {
  std::vector<std::string> command = Command("slow", "0");
  command.push_back("--timeout=2");
  const ChildResult result = RunChild(command);
  ExpectLines(result, 5, "stopped after --timeout=2 seconds");
}

// Errors of the command name the line of the program, too.
TEST_F(ParserCrash, AMisbehaviourIsAnErrorOfTheCommand) {
  const ChildResult result = RunChild(Command("few", "1"));
  ExpectLines(result, 6, "the parser misbehaves: it has made 1 tensors, but it declares 2 slots");
  ExpectLines(result, 6, "while parsing it with " + plugin_);
  ExpectLines(result, 6, "reader 'lines' (create_plugin_reader, " + startup_.path());
}

}  // namespace
}  // namespace millhopper
