// SPDX-License-Identifier: Apache-2.0
// The program with which peek looks at files.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_PROGRAM_H_
#define MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_PROGRAM_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "framework/io/one_pass.h"
#include "framework/program/program.h"
#include "readers/fields/named_slots.h"

namespace millhopper {

struct PeekProgram {
  std::shared_ptr<const Program> program;
  std::vector<std::string> slot_names;  // empty if nothing tells them
};

// A program that reads the files. Where neither fields nor slots are given and their format takes
// fields, it has those that fit the first records; of recordio it has the slots that are stored
// beside the files, or else those of the first records. They are written to `hints`, ready to be
// pasted. `attributes` are those of --attribute. Files that can be read once only are opened in
// `once`.
PeekProgram ProgramForFiles(const std::vector<std::string>& names,
                            const std::vector<std::string>& given_fields,
                            const NamedSlots& given_slots,
                            const std::vector<std::string>& attributes, OnePassFiles* once,
                            std::ostream* hints);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_PROGRAM_H_
