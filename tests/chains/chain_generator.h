// SPDX-License-Identifier: Apache-2.0
// Draws startup programs that create a chain of readers, or several on one source.
#ifndef MILLRACE_TESTS_CHAINS_CHAIN_GENERATOR_H_
#define MILLRACE_TESTS_CHAINS_CHAIN_GENERATOR_H_

#include <cstdint>
#include <string>

namespace millrace {

struct ChainWishes {
  bool jitter = false;     // the source dawdles, and fails more often than not
  bool from_disk = false;  // the source reads files
  bool no_errors = false;  // nothing fails
};

// The text of the program; the same for the same seed. Names of files begin with ${folder} and are
// those of named_files.h. Counts lie around what can go wrong: nothing, one, the size of a batch, a
// window or a chunk.
std::string DrawChain(uint64_t seed, const ChainWishes& wishes = {});

}  // namespace millrace

#endif  // MILLRACE_TESTS_CHAINS_CHAIN_GENERATOR_H_
