// SPDX-License-Identifier: Apache-2.0
// F19: when a plugin crashes the process, the last lines on standard error say what it was doing.
// The labels are those of tests/faults.md.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "framework/base/error.h"
#include "tests/child.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr char kOperator[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  ops {
    type: "crash"
    attrs { name: "way" s: "${way}" }
  }
}
)";

constexpr char kStartup[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "file" persistable: true type { type: READER } }
  ops {
    type: "create_crashing_file_reader"
    outputs { parameter: "Out" arguments: "file" }
    attrs { name: "filename" s: "${file}" }
    attrs { name: "place" s: "${place}" }
    attrs { name: "way" s: "${way}" }
  }
}
)";

constexpr char kManyFiles[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "files" persistable: true type { type: READER } }
  vars { name: "file" persistable: true type { type: READER } }
  ops {
    type: "open_files"
    outputs { parameter: "Out" arguments: "files" }
    attrs {
      name: "file_names"
      strings: ["crashing:${a}", "crashing:${b}", "crashing:${x}", "crashing:${c}"]
    }
    attrs { name: "place" s: "load x" }
    attrs { name: "way" s: "${way}" }
  }
  ops {
    type: "create_batch_reader"
    inputs { parameter: "UnderlyingReader" arguments: "files" }
    outputs { parameter: "Out" arguments: "file" }
    attrs { name: "batch_size" i: 4 }
  }
}
)";

constexpr char kRead[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "value" type { type: LOD_TENSOR } }
  ops {
    type: "read"
    inputs { parameter: "Reader" arguments: "file" }
    outputs { parameter: "Out" arguments: "value" }
  }
}
)";

struct Way {
  std::string name;
  int exit_code;
  std::string first_line;
};

class Crash : public ::testing::TestWithParam<Way> {
 protected:
  const std::string plugin_ = Runfile("tests/libcrash.so");

  // Expects that these are the last lines, whatever the crashed thread is called.
  void ExpectLast(const ChildResult& result, const std::string& lines) const {
    EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.errors;
    const std::string wanted = GetParam().first_line + "\n" + lines;
    ASSERT_GE(result.errors.size(), wanted.size()) << result.errors;
    EXPECT_EQ(result.errors.substr(result.errors.size() - wanted.size()), wanted);
  }
};

TEST_P(Crash, F19OfAnOperatorNamesItAndItsPlugin) {
  const TempFile main("main.pbtxt", kOperator);
  const ChildResult result =
      RunChild({"tools/executor", "--plugin=" + plugin_, "--main=" + main.path(),
                "--set=way=" + GetParam().name, "--quiet"});
  ExpectLast(result, StrCat("  in code of ", plugin_, "\n  while running operator 'crash' (",
                            main.path(), ":5, block 0)\n"));
}

TEST_P(Crash, F19OfAFormatNamesItsPluginAndTheFile) {
  const TempFile startup("startup.pbtxt", kStartup), main("main.pbtxt", kRead),
      file("x.crash", "x");
  for (const std::string place : {"open", "claim", "fetch", "load"}) {
    SCOPED_TRACE(place);
    const ChildResult result =
        RunChild({"tools/executor", "--plugin=" + plugin_, "--startup=" + startup.path(),
                  "--main=" + main.path(), "--set=way=" + GetParam().name, "--set=place=" + place,
                  "--set=file=" + file.path(), "--threads=0", "--quiet"});
    const int offset = place == "fetch" || place == "load" ? 7 : 0;
    ExpectLast(result, StrCat("  in code of ", plugin_, "\n  while reading ", file.path(),
                              ", the chunk at byte ", offset, "\n  while running operator 'read' (",
                              main.path(), ":6, block 0)\n"));
  }
}

// The records of many files come in turn and are loaded in batches, on workers too.
TEST_P(Crash, F19OfAFormatNamesTheFileOfTheRecord) {
  const TempFile startup("startup.pbtxt", kManyFiles), main("main.pbtxt", kRead);
  const TempFile a("a.crash", "a"), b("b.crash", "b"), x("x.crash", "x"), c("c.crash", "c");
  for (const std::string threads : {"0", "1"}) {
    const ChildResult result =
        RunChild({"tools/executor", "--plugin=" + plugin_, "--startup=" + startup.path(),
                  "--main=" + main.path(), "--set=way=" + GetParam().name, "--set=a=" + a.path(),
                  "--set=b=" + b.path(), "--set=x=" + x.path(), "--set=c=" + c.path(),
                  "--threads=" + threads, "--quiet"});
    EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.errors;
    EXPECT_NE(result.errors.find(StrCat("\n  in code of ", plugin_, "\n  while reading ", x.path(),
                                        ", the chunk at byte 7\n")),
              std::string::npos)
        << result.errors;
  }
}

// A worker thread that reads the file does not know which operator it works for.
TEST_P(Crash, F19OnAWorkerNamesTheFile) {
  const TempFile startup("startup.pbtxt", kStartup), main("main.pbtxt", kRead),
      file("x.crash", "x");
  const ChildResult result =
      RunChild({"tools/executor", "--plugin=" + plugin_, "--startup=" + startup.path(),
                "--main=" + main.path(), "--set=way=" + GetParam().name, "--set=place=fetch",
                "--set=file=" + file.path(), "--threads=1", "--quiet"});
  EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.errors;
  EXPECT_NE(
      result.errors.find(StrCat(GetParam().first_line, "\n  in code of ", plugin_,
                                "\n  while reading ", file.path(), ", the chunk at byte 7\n")),
      std::string::npos)
      << result.errors;
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Crash,
    ::testing::Values(
        Way{"abort", 128 + SIGABRT, "error: crashed by signal 6 (Aborted)"},
        Way{"segfault", 128 + SIGSEGV, "error: crashed by signal 11 (Segmentation fault)"},
        Way{"overflow", 128 + SIGSEGV, "error: crashed by signal 11 (Segmentation fault)"},
        Way{"exit", 6, "error: ended by a call of exit in the middle of the work"}),
    [](const auto& way) { return way.param.name; });

// F19: however an initialiser ends the process, the error names the plugin.
struct Initialiser {
  std::string way;
  int exit_code;
  std::string line;
};

class CrashWhileLoading : public ::testing::TestWithParam<Initialiser> {};

TEST_P(CrashWhileLoading, F19NamesThePlugin) {
  const std::string plugin = Runfile("tests/libinitialiser.so");
  const ChildResult result = RunChild({"/usr/bin/env", "INITIALISER=" + GetParam().way,
                                       "tools/executor", "--plugin=" + plugin, "--list_formats"});
  EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.errors;
  EXPECT_EQ(result.output, "");
  const std::string wanted =
      StrCat(GetParam().line, "\n  in code of ", plugin, "\n  while loading it\n");
  EXPECT_NE(result.errors.find(wanted), std::string::npos) << result.errors;
}

constexpr char kExited[] = "error: ended by a call of exit in the middle of the work";

INSTANTIATE_TEST_SUITE_P(
    Ways, CrashWhileLoading,
    ::testing::Values(
        Initialiser{"exit", 6, kExited}, Initialiser{"quick_exit", 6, kExited},
        Initialiser{"segfault", 128 + SIGSEGV, "error: crashed by signal 11 (Segmentation fault)"},
        Initialiser{"abort", 128 + SIGABRT, "error: crashed by signal 6 (Aborted)"},
        Initialiser{"terminate", 128 + SIGABRT, "error: crashed by signal 6 (Aborted)"},
        Initialiser{"throw", 128 + SIGABRT, "error: crashed by signal 6 (Aborted)"}),
    [](const auto& initialiser) { return initialiser.param.way; });

// Millhopper does not know a thread that a plugin has started. So the error says nothing about the
// plugin, but the exit code says that the command failed.
TEST(Exit, OfAThreadOfAPluginIsNoSuccess) {
  const ChildResult result =
      RunChild({"/usr/bin/env", "INITIALISER=exit_of_a_thread", "tools/executor",
                "--plugin=" + Runfile("tests/libinitialiser.so"), "--list_formats"});
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_EQ(result.errors, StrCat(kExited, "\n"));
}

}  // namespace
}  // namespace millhopper
