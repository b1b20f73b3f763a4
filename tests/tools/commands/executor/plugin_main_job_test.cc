// SPDX-License-Identifier: Apache-2.0
// Runs the main job in an executor without operators, readers and its own formats: all come from
// one plugin. So the framework depends on none of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(PluginMainJob, TrainsAsTheExecutorDoesThatHasAllBuiltIn) {
  const std::string data = TempName("data");
  ASSERT_EQ(RunChild({"tools/quickstart", "--passes=2", "--data_dir=" + data}).exit_code, 0);
  const std::vector<std::string> flags = {
      "--flagfile=" + data + "/digits/settings.flags",
      "--startup=tools/programs/loop_startup.pbtxt",
      "--main=tools/programs/loop_main.pbtxt",
      "--main=tools/programs/test.pbtxt",
      "--fetch=weight2",
  };
  std::vector<std::string> whole = {"tools/executor"};
  whole.insert(whole.end(), flags.begin(), flags.end());
  std::vector<std::string> bare = {"tools/bare_executor",
                                   "--plugin=" + Runfile("tools/libmillhopper_plugin.so")};
  bare.insert(bare.end(), flags.begin(), flags.end());
  const ChildResult expected = RunChild(whole);
  const ChildResult found = RunChild(bare);
  EXPECT_EQ(expected.exit_code, 0) << expected.errors;
  EXPECT_EQ(found.exit_code, 0) << found.errors;
  EXPECT_NE(expected.output.find("test accuracy = {0."), std::string::npos) << expected.output;
  EXPECT_EQ(found.output, expected.output);
}

TEST(PluginMainJob, HasNothingWithoutThePlugin) {
  const ChildResult operators = RunChild({"tools/bare_executor", "--list_ops"});
  EXPECT_EQ(operators.exit_code, 0) << operators.errors;
  EXPECT_EQ(operators.output, "");
  EXPECT_EQ(RunChild({"tools/bare_executor", "--list_formats"}).output, "");
}

}  // namespace
}  // namespace millhopper
