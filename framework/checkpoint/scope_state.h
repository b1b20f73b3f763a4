// SPDX-License-Identifier: Apache-2.0
// What a scope holds, as a part of a checkpoint: its tensors and where its readers stand.
#ifndef MILLHOPPER_FRAMEWORK_CHECKPOINT_SCOPE_STATE_H_
#define MILLHOPPER_FRAMEWORK_CHECKPOINT_SCOPE_STATE_H_

#include <cstddef>
#include <map>
#include <string>

#include "framework/checkpoint/checkpoint.h"
#include "framework/reader/reader_holder.h"

namespace millhopper {

class Scope;

// Checkpoints name tensors by program, by scope within it and by name: "1.2 loss" is in the second
// scope of the first main program. This is what comes before the name.
std::string ScopePrefix(size_t program, size_t scope);
// The prefix of what all programs share: "0.0 ".
const std::string& SharedPrefix();
// The setting that has the text of a main program, numbered from 1.
std::string ProgramSetting(size_t program);

// The readers of a scope itself, by the names of their variables.
ReaderHolder::ReadersByName ReadersOf(const Scope& scope);

// Adds the tensors of a scope itself, on the host. What is neither tensor nor reader is left out,
// and told of (unsaved.h). No other thread uses the scope.
void AddTensors(const Scope& scope, const std::string& prefix, Checkpoint* checkpoint);
// Gives the variables of a scope the tensors of a checkpoint, and takes them out of it. Variables
// without one there have no value afterwards; those that hold something else keep it, and a tensor
// of that name stays in the checkpoint. No other thread uses the scope.
void TakeTensors(Scope* scope, const std::string& prefix, Checkpoint* checkpoint);

// Throws kInvalidArgument, saying what differs, unless the checkpoint has a setting with this
// value. Long texts are compared line by line, and programs without the sizes of their batches.
void CheckSameSetting(const std::string& name, const std::string& now, const Checkpoint& saved);

// A checkpoint of a scope alone, between runs of programs: its variables and readers. `settings`
// are what they depend on. Throws as ReaderHolder::SaveAll.
Checkpoint SaveScope(const Scope& scope, std::map<std::string, std::string> settings);
// Sets them in a scope whose readers are those of the same startup program and have not been read.
// Creates variables that are missing. Throws kInvalidArgument, saying what differs and before
// anything is changed, unless it was saved with these settings; and as ReaderHolder::RestoreAll.
void RestoreScope(Checkpoint checkpoint, const std::map<std::string, std::string>& settings,
                  Scope* scope);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_CHECKPOINT_SCOPE_STATE_H_
