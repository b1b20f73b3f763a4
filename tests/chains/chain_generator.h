// SPDX-License-Identifier: Apache-2.0
// Draws startup programs that create a chain of readers, or several on one source.
#ifndef MILLHOPPER_TESTS_CHAINS_CHAIN_GENERATOR_H_
#define MILLHOPPER_TESTS_CHAINS_CHAIN_GENERATOR_H_

#include <cstdint>
#include <string>

namespace millhopper {

struct ChainWishes {
  // The source is a number source that pauses at random, and fails more often than not.
  bool jitter = false;
  // The source is a number source, nothing fails, and no record is left out.
  bool counted = false;
  // There is one reader at the top, and the order of its elements is defined.
  bool ordered = false;
  // Several readers share one, unless `ordered`.
  bool shared = false;
};

// The text of the program, the same for the same seed. Names of files begin with ${folder} and are
// those of named_files.h. Counts lie around the values at which errors are likely: zero, one, and
// the size of a batch, of a window or of a chunk.
std::string DrawChain(uint64_t seed, const ChainWishes& wishes = {});

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_CHAIN_GENERATOR_H_
