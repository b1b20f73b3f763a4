// SPDX-License-Identifier: Apache-2.0
// The tensors of an element as text for people.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_TENSOR_TEXT_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_TENSOR_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/tensor/tensor.h"

namespace millhopper {

// "slot 1", or "slot 1 (label)" where slots have names.
std::string SlotTitle(size_t slot, const std::vector<std::string>& names);

// Whether the values are text: bytes in sequences, of which the first ones are printable UTF-8 or
// ends of lines. The tensor is on the host, as below.
bool IsText(const LoDTensor& tensor);

// The first values, with a space before each: ` 1 2 3`. Of text the first sequences, each in quotes
// and cut off where it is long: ` "to be" "or not"`.
std::string ValuesText(const LoDTensor& tensor, int64_t most);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_TENSOR_TEXT_H_
