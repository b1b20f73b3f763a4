// SPDX-License-Identifier: Apache-2.0
// Slots as Python declares and sees them.
#ifndef MILLHOPPER_PYTHON_CORE_SLOTS_H_
#define MILLHOPPER_PYTHON_CORE_SLOTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "framework/tensor/rows.h"

namespace millhopper {

// dtype by its name in numpy, dims, levels of detail.
using Slot = std::tuple<std::string, std::vector<int64_t>, int>;

// Throws kInvalidArgument for a dtype that is none of ours.
std::vector<SlotSpec> SpecsOf(const std::vector<Slot>& slots);

// None for a slot that only the file knows.
std::vector<std::optional<Slot>> SlotsOf(const std::vector<SlotSpec>& specs);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_SLOTS_H_
