// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of programs have in common.
#ifndef MILLHOPPER_TESTS_FUZZ_FRAMEWORK_PROGRAM_TARGET_H_
#define MILLHOPPER_TESTS_FUZZ_FRAMEWORK_PROGRAM_TARGET_H_

#include <string>

namespace millhopper {

// Loads a program. If that succeeds, the text and the binary form that it gives must load as the
// same program, and it is checked in both roles.
void LoadProgram(const std::string& content);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FUZZ_FRAMEWORK_PROGRAM_TARGET_H_
