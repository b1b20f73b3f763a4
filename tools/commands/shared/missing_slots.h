// SPDX-License-Identifier: Apache-2.0
// What to type where files do not tell their slots.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_MISSING_SLOTS_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_MISSING_SLOTS_H_

#include <string>

#include "framework/base/error.h"

namespace millhopper {

// An error about slots that are missing (MissingSlots) in the words of the command line, which says
// nothing of programs; any other error as it is. `name` is what was typed for the files.
Error InWordsOfFlags(const Error& error, const std::string& name);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_MISSING_SLOTS_H_
