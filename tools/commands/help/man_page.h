// SPDX-License-Identifier: Apache-2.0
// The help of a command as a man page.
#ifndef MILLHOPPER_TOOLS_COMMANDS_HELP_MAN_PAGE_H_
#define MILLHOPPER_TOOLS_COMMANDS_HELP_MAN_PAGE_H_

#include <string>

#include "tools/commands/help/help.h"

namespace millhopper {

// The page in the language of man(7), section 1.
std::string ManPage(const CommandHelp& help);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_HELP_MAN_PAGE_H_
