// SPDX-License-Identifier: Apache-2.0
// Runs startup programs of readers and compares what they yield with the model.
#ifndef MILLHOPPER_TESTS_CHAINS_CHAIN_RUNNER_H_
#define MILLHOPPER_TESTS_CHAINS_CHAIN_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/program/program.h"

namespace millhopper {

// Parses a program with ${folder} set, and makes the files that it reads.
std::shared_ptr<const Program> LoadChain(const std::string& text);
// The settings that LoadChain uses. `folder` is where files are made: MILLHOPPER_CHAIN_FOLDER if
// that is set.
Settings ChainSettings();

// Builds the readers that the program creates, makes a few passes of calls that `calls` seeds
// (ReadNext, HasNext, ReInit, stopping early, destroying), and fails the test if they yield
// something else than the model. The failure prints the program and `calls`.
void RunChain(const std::string& text, uint64_t calls);

// All that a chain yields in the first `passes` passes: digests of elements, and the texts of
// errors.
std::vector<std::string> OutcomeOf(const std::string& text, uint64_t passes);

// The same of readers that are saved at places that `seed` draws, destroyed, and made anew to go on
// from there, with another number of workers each time.
std::vector<std::string> ResumedOutcomeOf(const std::string& text, uint64_t passes, uint64_t seed);

// Reads the readers of a program that share one by turns, and saves all of them at places that
// `seed` draws, to go on with new ones. Fails the test unless a pass yields what the model says, in
// whichever order.
void ResumeShared(const std::string& text, uint64_t seed);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_CHAIN_RUNNER_H_
