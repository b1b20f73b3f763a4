// SPDX-License-Identifier: Apache-2.0
// What peek --state shows: a saved position of a chain of readers, or a checkpoint of a run.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATE_H_
#define MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATE_H_

#include <string>

namespace millhopper {

// Prints what the file holds, or the newest checkpoint of the folder, to standard output. Of a
// folder in which several ranks save (rank_checkpoints.h) that is the newest state that all of them
// have; what else each rank has saved is said, too.
//
// As text: the step, digests of programs, settings, types and dims of tensors, and of each reader
// how many elements were read, which ranks share its lanes and how far each of these is. As JSON: a
// position as Position::ToJson does, with all that is in flight; of a checkpoint its settings (of
// long ones, such as programs, the size) and the positions of its readers as well, and of several
// ranks a list of these. Throws as reading them does.
void PrintState(const std::string& path, bool as_json);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATE_H_
