// SPDX-License-Identifier: Apache-2.0
// Millhopper within a C++ program: runs a startup program and a main program, and reads a variable.
//   embed startup.pbtxt main.pbtxt [/absolute/path/of/libplugin.so]
#include <cstdio>
#include <string>
#include <vector>

#include "framework/plugin.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"

namespace {

void Run(const std::vector<std::string>& arguments) {
  if (arguments.size() > 2) millhopper::LoadPlugin(arguments[2]);
  millhopper::Scope scope;  // holds the readers and all persistable variables
  const millhopper::Executor executor;
  executor.Run(millhopper::Program::FromFile(arguments[0]), millhopper::ProgramRole::kStartup,
               &scope);
  executor.Run(millhopper::Program::FromFile(arguments[1]), millhopper::ProgramRole::kMain, &scope);
  const auto& total = scope.Find("total")->Get<millhopper::LoDTensor>();
  std::printf("total %g\n", static_cast<double>(total.data<float>()[0]));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 2 && arguments.size() != 3) {
    std::fprintf(stderr, "usage: embed STARTUP MAIN [PLUGIN]\n");
    return 2;
  }
  try {
    Run(arguments);
  } catch (const millhopper::Error& error) {  // says file, byte, record, operator, program line
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
