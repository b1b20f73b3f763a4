// SPDX-License-Identifier: Apache-2.0
// F39: for every malformed program, given as text or as bytes that are cut off, the executor names
// all problems with their places and exits with 2. F39 is an entry in the project's list of faults.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "framework/program/program.h"
#include "tests/child.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = "tests/programs/malformed";

// The flags that the comments at the top of a program ask for; see malformed_programs_test.cc.
std::vector<std::string> CommandFor(const std::string& text, const std::string& path) {
  std::vector<std::string> command = {"tools/executor", "--quiet"};
  std::string role = "--main=";
  std::istringstream lines(text);
  for (std::string hash, key, value; lines >> hash >> key >> value && hash == "#";) {
    if (key == "role:") {
      role = "--startup=";
    } else if (key == "before:") {
      command.push_back("--startup=" + (kFolder / "before" / value).string());
    } else if (key == "set:") {
      command.push_back("--set=" + value);
    } else {
      break;
    }
  }
  command.push_back(role + path);
  return command;
}

TEST(MalformedCommand, ExitsWith2AndNamesAllProblems) {
  int programs = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".pbtxt") continue;
    ++programs;
    const std::string name = entry.path().filename().string();
    ChildResult result = RunChild(CommandFor(ReadFile(entry.path()), entry.path()));
    const std::string folder = kFolder.string() + "/";
    for (size_t at = 0; (at = result.errors.find(folder, at)) != std::string::npos;) {
      result.errors.erase(at, folder.size());
    }
    EXPECT_EQ(result.exit_code, 2) << name << ": " << result.errors;
    EXPECT_EQ(result.output, "") << name;
    std::istringstream problems(ReadFile(fs::path(entry.path()).replace_extension(".expected")));
    for (std::string problem; std::getline(problems, problem);) {
      EXPECT_NE(result.errors.find(problem), std::string::npos) << name << ": " << result.errors;
    }
  }
  EXPECT_GE(programs, 100);
}

TEST(MalformedCommand, ExitsWith2ForBytes) {
  const std::string whole =
      Program::FromFile((kFolder / "before" / "readers.pbtxt").string())->ToBinary();
  for (const size_t size : {size_t{1}, whole.size() / 2, whole.size() - 1}) {
    const TempFile program("main.bin", whole.substr(0, size));
    const ChildResult result = RunChild({"tools/executor", "--quiet", "--main=" + program.path()});
    EXPECT_EQ(result.exit_code, 2) << size << ": " << result.errors;
    EXPECT_NE(result.errors.find("main.bin: "), std::string::npos) << result.errors;
  }
}

}  // namespace
}  // namespace millhopper
