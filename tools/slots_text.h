// SPDX-License-Identifier: Apache-2.0
// What the flag --slots says.
#ifndef MILLHOPPER_TOOLS_SLOTS_TEXT_H_
#define MILLHOPPER_TOOLS_SLOTS_TEXT_H_

#include <string>
#include <vector>

#include "framework/tensor/rows.h"

namespace millhopper {

// The slots of "uint8[1,784] int64[-1]:1", where :1 is one level of detail; none of "". Throws
// kInvalidArgument with what is no slot.
std::vector<SlotSpec> ParseSlots(const std::string& text);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_SLOTS_TEXT_H_
