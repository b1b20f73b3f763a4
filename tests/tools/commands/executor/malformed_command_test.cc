// SPDX-License-Identifier: Apache-2.0
// F39: for every malformed program, given as text or as bytes that are cut off, the executor names
// all problems with their places and exits with 2. F39 is an entry in the project's list of faults.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/program.h"
#include "tests/child.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/malformed_programs.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::vector<std::string> CommandFor(const MalformedProgram& program, const std::string& path) {
  std::vector<std::string> command = {"tools/executor", "--quiet"};
  if (program.after_startup) command.push_back(StrCat("--startup=", kStartupBefore));
  for (const auto& [name, value] : program.settings) {
    command.push_back(StrCat("--set=", name, "=", value));
  }
  command.push_back((program.role == ProgramRole::kStartup ? "--startup=" : "--main=") + path);
  return command;
}

TEST(MalformedCommand, ExitsWith2AndNamesAllProblems) {
  const std::vector<MalformedProgram> programs = MalformedPrograms();
  EXPECT_GE(programs.size(), 100u);
  const std::string folder = NewFolder("malformed") + "/";
  for (const MalformedProgram& program : programs) {
    const std::string path = folder + program.name + ".pbtxt";
    WriteFile(path, program.text);
    ChildResult result = RunChild(CommandFor(program, path));
    for (size_t at = 0; (at = result.errors.find(folder, at)) != std::string::npos;) {
      result.errors.erase(at, folder.size());
    }
    EXPECT_EQ(result.exit_code, 2) << program.name << ": " << result.errors;
    EXPECT_EQ(result.output, "") << program.name;
    std::istringstream problems(program.problems);
    for (std::string problem; std::getline(problems, problem);) {
      EXPECT_NE(result.errors.find(problem), std::string::npos)
          << program.name << ": " << result.errors;
    }
  }
}

TEST(MalformedCommand, ExitsWith2ForBytes) {
  const std::string whole = Program::FromFile(kStartupBefore)->ToBinary();
  for (const size_t size : {size_t{1}, whole.size() / 2, whole.size() - 1}) {
    const TempFile program("main.bin", whole.substr(0, size));
    const ChildResult result = RunChild({"tools/executor", "--quiet", "--main=" + program.path()});
    EXPECT_EQ(result.exit_code, 2) << size << ": " << result.errors;
    EXPECT_NE(result.errors.find("main.bin: "), std::string::npos) << result.errors;
  }
}

}  // namespace
}  // namespace millhopper
