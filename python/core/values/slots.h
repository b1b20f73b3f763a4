// SPDX-License-Identifier: Apache-2.0
// Slots in the form that Python declares and sees.
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_SLOTS_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_SLOTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "framework/tensor/rows.h"

namespace millhopper {

// (name of the dtype in numpy, dims, levels of detail)
using Slot = std::tuple<std::string, std::vector<int64_t>, int>;

// Throws kInvalidArgument for a dtype that Millhopper does not have.
std::vector<SlotSpec> SpecsOf(const std::vector<Slot>& slots);

// A slot that only the file knows becomes None.
std::vector<std::optional<Slot>> SlotsOf(const std::vector<SlotSpec>& specs);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_SLOTS_H_
