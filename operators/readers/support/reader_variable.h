// SPDX-License-Identifier: Apache-2.0
// Readers as the arguments of operators.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_READER_VARIABLE_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_READER_VARIABLE_H_

#include <cstddef>
#include <string_view>

#include "framework/program/operator.h"
#include "framework/reader/reader_holder.h"

namespace millhopper {

// The reader of an input; throws kInvalidArgument if it has not been created.
ReaderHolder& ReaderOf(const OpContext& context, std::string_view input, size_t i = 0);

// All readers of an input, by the names of their variables; throws as ReaderOf.
ReaderHolder::ReadersByName ReadersOf(const OpContext& context, std::string_view input);

// The rule of `read`: each variable of Out is one slot of Reader, or stays as it was if HasData, a
// bool, is connected. Throws if Out does not have as many variables as Reader has slots.
void InferRead(InferContext& context);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_READER_VARIABLE_H_
