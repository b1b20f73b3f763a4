// SPDX-License-Identifier: Apache-2.0
// What the flag --slots says.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_SLOTS_TEXT_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_SLOTS_TEXT_H_

#include <string>

#include "readers/fields/named_slots.h"

namespace millhopper {

// The slots that the text of --slots names (named_slots.h); none of "". Throws kInvalidArgument
// with what is no slot, and the flag's name.
NamedSlots SlotsOfFlag(const std::string& text);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_SLOTS_TEXT_H_
