// SPDX-License-Identifier: Apache-2.0
// How long a pass is, for commands that say how far they are in it.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_PASS_LENGTH_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_PASS_LENGTH_H_

#include <cstdint>
#include <optional>

#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"

namespace millhopper {

// How many elements a whole pass has, if the files tell it; it may open them. Nothing if that
// fails: reading the pass reports the error in its place. Any thread.
std::optional<uint64_t> LengthIfTold(const ReaderHolder& reader);
std::optional<uint64_t> LengthIfTold(const ReaderBase& reader);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_PASS_LENGTH_H_
