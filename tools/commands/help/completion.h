// SPDX-License-Identifier: Apache-2.0
// Scripts by which shells complete the flags of a command.
#ifndef MILLHOPPER_TOOLS_COMMANDS_HELP_COMPLETION_H_
#define MILLHOPPER_TOOLS_COMMANDS_HELP_COMPLETION_H_

#include <string>

#include "tools/commands/help/help.h"

namespace millhopper {

// The script for a shell: bash, zsh or fish. Throws kInvalidArgument for another.
std::string Completion(const CommandHelp& help, const std::string& shell);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_HELP_COMPLETION_H_
