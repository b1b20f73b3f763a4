// SPDX-License-Identifier: Apache-2.0
// The names of the slots that a reader of a program yields.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_SLOT_NAMES_H_
#define MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_SLOT_NAMES_H_

#include <string>
#include <vector>

#include "framework/program/program.h"
#include "framework/reader/reader.h"

namespace millhopper {

// The names that a startup program or its files tell of the slots of `reader`: those of the
// attribute fields, or of fields that are inferred, those that are stored beside RecordIO files or
// that a format has, and the variables that a block yields for each element. Readers on top have
// the names of those below. Empty if no names are told, or if they are not as many as `slots`. The
// program must be checked. Throws what finding the files, reading their manifests and inferring
// fields throws.
std::vector<std::string> SlotNamesOf(const Program& program, const std::string& reader,
                                     const std::vector<SlotSpec>& slots);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_SLOT_NAMES_H_
