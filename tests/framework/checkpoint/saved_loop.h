// SPDX-License-Identifier: Apache-2.0
// A program that reads numbers in passes and computes with them, so that another order, or an
// element too many, changes what it prints. For tests that stop it and go on.
#ifndef MILLHOPPER_TESTS_FRAMEWORK_CHECKPOINT_SAVED_LOOP_H_
#define MILLHOPPER_TESTS_FRAMEWORK_CHECKPOINT_SAVED_LOOP_H_

#include <string>
#include <vector>

namespace millhopper {

// Creates the reader 'data': numbers of a folder (WriteNumbers), shuffled, in batches of 3, loaded
// ahead. Creates and prints w.
std::string SavedLoopStartup(const std::string& folder, int window = 5);

// The parts of a program with a loop over `passes` passes, which prints w after each of them: what
// comes before the loop, the operator of the loop whose body is in this block, and the body, which
// has this block and the two after it. With `prints_all` it prints each batch.
std::vector<std::string> SavedLoopBefore(int passes);
std::string SavedLoopWhile(int block);
std::string SavedLoopBody(int block, int parent, bool prints_all);
// All of it, with the loop in the first block.
std::string SavedLoopMain(int passes, bool prints_all);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FRAMEWORK_CHECKPOINT_SAVED_LOOP_H_
