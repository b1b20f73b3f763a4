// SPDX-License-Identifier: Apache-2.0
// Programs that are wrong, and what is said of them: the cases of the tables in
// tests/programs/malformed. tests/README.md describes their notation.
#ifndef MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_MALFORMED_PROGRAMS_H_
#define MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_MALFORMED_PROGRAMS_H_

#include <ostream>
#include <string>
#include <vector>

#include "framework/program/program.h"

namespace millhopper {

struct MalformedProgram {
  std::string name;  // of the case; the program is called <name>.pbtxt
  ProgramRole role = ProgramRole::kMain;
  bool after_startup = false;  // whether the startup program kStartupBefore is run first
  Settings settings;
  std::string text;
  std::string problems;  // one a line, as checks say them: "<name>.pbtxt:4:23: no such operator"
};

inline void PrintTo(const MalformedProgram& program, std::ostream* out) { *out << program.name; }

constexpr char kStartupBefore[] = "tests/programs/malformed/startup_before.pbtxt";

// The cases of all tables. Throws kInvalidArgument for a case that is not in the notation.
std::vector<MalformedProgram> MalformedPrograms();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_MALFORMED_PROGRAMS_H_
