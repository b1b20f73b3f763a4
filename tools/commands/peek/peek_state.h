// SPDX-License-Identifier: Apache-2.0
// What peek --state shows: a saved position of a chain of readers, or a checkpoint of a run.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATE_H_
#define MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATE_H_

#include <string>

namespace millhopper {

// Prints the file, or the newest checkpoint of the folder, as JSON to standard output: a position
// as Position::ToJson does; of a checkpoint its settings (of long ones, such as programs, the
// size), numbers, types and dims of its tensors, and the positions of its readers. Throws as
// reading them does.
void PrintState(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATE_H_
