// SPDX-License-Identifier: Apache-2.0
// The program with which peek looks at files.
#ifndef MILLHOPPER_TOOLS_PEEK_PROGRAM_H_
#define MILLHOPPER_TOOLS_PEEK_PROGRAM_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "framework/program/program.h"
#include "framework/tensor/rows.h"

namespace millhopper {

// A program that reads the files. Where their format takes fields, or is recordio, and neither
// fields nor slots are given, it has those that fit the first records, and they are written to
// `hints`, ready to be pasted.
std::shared_ptr<const Program> ProgramForFiles(const std::vector<std::string>& names,
                                               const std::vector<std::string>& given_fields,
                                               const std::vector<SlotSpec>& given_slots,
                                               std::ostream* hints);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_PEEK_PROGRAM_H_
