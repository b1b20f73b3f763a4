// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/plugin_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(PluginPath, LeavesAbsolutePathsAlone) {
  EXPECT_EQ(PluginPath("/nowhere/libx.so", "/some/main.pbtxt"), "/nowhere/libx.so");
  EXPECT_EQ(PluginPath("", "main.pbtxt"), "");
}

TEST(PluginPath, LooksInTheCurrentFolderThenBesideTheProgram) {
  const std::string folder = std::filesystem::path(TempName("programs")).lexically_normal();
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  const std::string program = folder + "/main.pbtxt";
  WriteFile(folder + "/liblooked_for.so", "beside");
  EXPECT_EQ(PluginPath("liblooked_for.so", program), folder + "/liblooked_for.so");
  const std::string here = (std::filesystem::current_path() / "liblooked_for.so").string();
  WriteFile(here, "here");
  EXPECT_EQ(PluginPath("liblooked_for.so", program), here);
  EXPECT_EQ(PluginPath("./liblooked_for.so", program), here);
  std::filesystem::remove(here);
}

TEST(PluginPath, SaysWhereItHasLooked) {
  ExpectError(ErrorCode::kPlugin, "/of/programs/libnot_there.so",
              [] { PluginPath("libnot_there.so", "/of/programs/main.pbtxt"); });
  ExpectError(ErrorCode::kPlugin, std::filesystem::current_path().string() + "/libnot_there.so",
              [] { PluginPath("libnot_there.so", ""); });
}

}  // namespace
}  // namespace millhopper
