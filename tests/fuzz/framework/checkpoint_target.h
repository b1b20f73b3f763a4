// SPDX-License-Identifier: Apache-2.0
// The run whose checkpoints are fuzzed.
#ifndef MILLHOPPER_TESTS_FUZZ_FRAMEWORK_CHECKPOINT_TARGET_H_
#define MILLHOPPER_TESTS_FUZZ_FRAMEWORK_CHECKPOINT_TARGET_H_

#include "tests/framework/checkpoint/saved_run.h"

namespace millhopper {

// A short run over files in memory, whose checkpoints are in a new folder. It saves nothing by
// itself.
SavedRun MakeFuzzedRun();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FUZZ_FRAMEWORK_CHECKPOINT_TARGET_H_
