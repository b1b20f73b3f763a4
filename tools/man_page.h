// SPDX-License-Identifier: Apache-2.0
// The help of a command as a man page.
#ifndef MILLHOPPER_TOOLS_MAN_PAGE_H_
#define MILLHOPPER_TOOLS_MAN_PAGE_H_

#include <string>

#include "tools/help.h"

namespace millhopper {

// The page in the language of man(7), section 1.
std::string ManPage(const CommandHelp& help);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_MAN_PAGE_H_
