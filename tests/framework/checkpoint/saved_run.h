// SPDX-License-Identifier: Apache-2.0
// Runs programs with checkpoints, as a C++ program does it.
#ifndef MILLHOPPER_TESTS_FRAMEWORK_CHECKPOINT_SAVED_RUN_H_
#define MILLHOPPER_TESTS_FRAMEWORK_CHECKPOINT_SAVED_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/checkpoint/rank_checkpoints.h"

namespace millhopper {

class Scope;

struct SavedRun {
  std::string folder;  // of checkpoints
  std::string startup;
  std::vector<std::string> mains;
  int64_t every_steps = 1;
  size_t keep = 3;
  int64_t max_steps = -1;
  Rank rank = {};
  // Called with the scope before the startup program.
  std::function<void(Scope*)> prepare = nullptr;
};

// What a run prints, until its end or until it is stopped.
struct SavedRunOutput {
  std::string text;
  bool stopped = false;
};

// Runs the programs, from the newest checkpoint if there is one, and stops after `steps` more
// steps; -1: never. What the startup program prints is left out in a resumed run. Throws what
// RunCheckpoints and the programs throw.
SavedRunOutput RunSteps(const SavedRun& saved, int64_t steps);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FRAMEWORK_CHECKPOINT_SAVED_RUN_H_
