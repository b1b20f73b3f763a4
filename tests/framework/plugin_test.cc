// SPDX-License-Identifier: Apache-2.0
// What a plugin adds, and which libraries are refused.
#include "framework/plugin.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "framework/base/error.h"
#include "framework/base/registration.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

std::string Library(const std::string& name) {
  return fs::absolute("tests/lib" + name + ".so").string();
}

// What LoadPlugin throws, with its code checked and the path left out.
std::string Refusal(const std::string& path) {
  try {
    LoadPlugin(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPlugin);
    EXPECT_EQ(error.file(), path);
    EXPECT_EQ(error.message().rfind(path + ": ", 0), 0u) << error.message();
    return error.message().substr(path.size() + 2);
  }
  return "it was loaded";
}

TEST(Plugin, AddsItsOperators) {
  EXPECT_EQ(FindOperator("add_constant"), nullptr);
  LoadPlugin(Library("add_constant"));
  ASSERT_NE(FindOperator("add_constant"), nullptr);
  const auto program = Program::FromString(R"(blocks {
    idx: 0 parent_idx: -1
    vars { name: "x" type { type: LOD_TENSOR } persistable: true }
    ops { type: "add_constant" inputs { parameter: "X" arguments: "x" }
          outputs { parameter: "Out" arguments: "x" } attrs { name: "value" f: 2.5 } }
  })",
                                           "main.pbtxt");
  Scope scope;
  *scope.Var("x")->GetMutable<LoDTensor>() = MakeTensor<float>({2}, {1, 2});
  Executor().Run(program, ProgramRole::kMain, &scope);
  EXPECT_EQ(ValuesOf<float>(scope.Find("x")->Get<LoDTensor>()), (std::vector<float>{3.5f, 4.5f}));
}

TEST(Plugin, LoadedAgainChangesNothing) {
  LoadPlugin(Library("add_constant"));
  const OperatorDef* def = FindOperator("add_constant");
  LoadPlugin(Library("add_constant"));
  EXPECT_EQ(FindOperator("add_constant"), def);
}

// F21
TEST(Plugin, NeedsAnAbsolutePath) {
  EXPECT_EQ(Refusal("tests/libadd_constant.so"), "a plugin must be named by its absolute path");
  EXPECT_EQ(Refusal(""), "a plugin must be named by its absolute path");
}

// F21
TEST(Plugin, NeedsAFileThatNotEverybodyMayWrite) {
  EXPECT_EQ(Refusal("/nowhere/libnothing.so"), "cannot open: No such file or directory");
  EXPECT_EQ(Refusal(testing::TempDir()), "no regular file");
  const std::string pipe = TempName("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Refusal(pipe), "no regular file");
  const TempFile empty("libempty.so", "");
  EXPECT_EQ(Refusal(empty.path()), "an empty file");
  const TempFile large("liblarge.so", ReadFile(Library("add_constant")));
  ASSERT_EQ(truncate(large.path().c_str(), off_t{1} << 31), 0);  // takes no room on the disk
  EXPECT_EQ(Refusal(large.path()), "a file of 2147483648 bytes; the limit is 1073741824");
  const TempFile writable("libwritable.so", ReadFile(Library("add_constant")));
  ASSERT_EQ(chmod(writable.path().c_str(), 0666), 0);
  EXPECT_EQ(Refusal(writable.path()), "everybody may write this file");
}

// F21
TEST(Plugin, IsRefusedWithoutAStampOrWithAnotherOne) {
  EXPECT_EQ(Refusal(Library("no_stamp")),
            "no plugin of Millhopper: it has no line MILLHOPPER_PLUGIN");
  const std::string refusal = Refusal(Library("other_version"));
  EXPECT_EQ(refusal.rfind("built for Millhopper 9.2.0 (compiler ", 0), 0u) << refusal;
  EXPECT_NE(refusal.find(std::string(", but this is Millhopper ") + kVersion), std::string::npos);
}

// F21
TEST(Plugin, ErrorsOfTheLoaderAreTold) {
  const std::string unresolved = Refusal(Library("unresolved"));
  EXPECT_EQ(unresolved.rfind("cannot load: ", 0), 0u) << unresolved;
  EXPECT_NE(unresolved.find("NobodyDefinesThis"), std::string::npos) << unresolved;
  const PluginStamp stamp = CurrentPluginStamp();
  const TempFile text("libtext.so",
                      std::string(reinterpret_cast<const char*>(&stamp), sizeof(stamp)));
  EXPECT_EQ(Refusal(text.path()).rfind("cannot load: ", 0), 0u);
}

TEST(Plugin, RegistersAllOfItsNamesOrNone) {
  const OperatorDef* mean = FindOperator("mean");
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_EQ(Refusal(Library("taken_names")),
              "registers what is registered already: operator 'mean', operator 'read'");
    EXPECT_EQ(FindOperator("taken_names_test"), nullptr);
    EXPECT_EQ(FindOperator("mean"), mean);
  }
}

TEST(Registration, IsTakenBackUnlessKept) {
  {
    RegistrationWatch watch;
    EXPECT_TRUE(RegisterOperator("plugin_test_passing", OpSchema("Does nothing."), nullptr));
    EXPECT_FALSE(RegisterOperator("plugin_test_passing", OpSchema("Does nothing."), nullptr));
    EXPECT_EQ(watch.refused(), std::vector<std::string>{"operator 'plugin_test_passing'"});
  }
  EXPECT_EQ(FindOperator("plugin_test_passing"), nullptr);
  {
    RegistrationWatch watch;
    RegisterOperator("plugin_test_staying", OpSchema("Does nothing."), nullptr);
    watch.Keep();
  }
  EXPECT_NE(FindOperator("plugin_test_staying"), nullptr);
}

TEST(RegistrationDeathTest, OfATakenNameBeforeMainEndsTheProcess) {
  EXPECT_DEATH(RegisterOperator("mean", OpSchema("Does nothing."), nullptr),
               "operator 'mean' is registered twice");
}

}  // namespace
}  // namespace millhopper
