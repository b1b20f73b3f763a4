// SPDX-License-Identifier: Apache-2.0
// The program with which peek looks at files.
#ifndef MILLHOPPER_TOOLS_PEEK_PROGRAM_H_
#define MILLHOPPER_TOOLS_PEEK_PROGRAM_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "framework/io/one_pass.h"
#include "framework/program/program.h"

namespace millhopper {

// A program that reads the files. Where their format takes fields and none are given, or is
// recordio, it has those fields or slots that fit the first records, and they are written to
// `hints`, ready to be pasted. Files that can be read once only are opened in `once`.
std::shared_ptr<const Program> ProgramForFiles(const std::vector<std::string>& names,
                                               const std::vector<std::string>& given_fields,
                                               OnePassFiles* once, std::ostream* hints);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_PEEK_PROGRAM_H_
