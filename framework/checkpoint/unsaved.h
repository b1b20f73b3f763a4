// SPDX-License-Identifier: Apache-2.0
// Variables that checkpoints leave out, because they hold neither a tensor nor a reader.
#ifndef MILLHOPPER_FRAMEWORK_CHECKPOINT_UNSAVED_H_
#define MILLHOPPER_FRAMEWORK_CHECKPOINT_UNSAVED_H_

#include "framework/program/scope.h"

namespace millhopper {

// Warns on standard error which variables of the scope itself have a value that a checkpoint leaves
// out, and of which type: each name once in a process. Any thread; none other uses the scope.
void TellOfUnsaved(const Scope& scope);

// Says that variables for which `holds` is true need no such warning: each process has its own
// value there, such as a queue that it fills, and where they stand is saved otherwise. Any thread.
void LeaveToProcess(bool (*holds)(const Variable&));

// The same for all values of a type, while static variables are initialized.
template <typename T>
struct LeftToProcess {
  LeftToProcess() {
    LeaveToProcess([](const Variable& variable) { return variable.Holds<T>(); });
  }
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_CHECKPOINT_UNSAVED_H_
