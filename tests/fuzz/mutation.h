// SPDX-License-Identifier: Apache-2.0
// The functions by which libFuzzer and our mutators change inputs. Without our mutators, checksums
// and compression would make nearly all changes useless.
#ifndef MILLHOPPER_TESTS_FUZZ_MUTATION_H_
#define MILLHOPPER_TESTS_FUZZ_MUTATION_H_

#include <cstddef>
#include <cstdint>
#include <string>

// libFuzzer's own changes, in place; returns the new size.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

// Changes an input for libFuzzer, in place, to `most` bytes at most; returns the new size.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most,
                                          unsigned int seed);

namespace millhopper {

// `bytes` with libFuzzer's own changes, at most `most` bytes.
std::string Mutated(std::string bytes, size_t most);

// Replaces an input by `bytes` if they fit; returns the size of the input afterwards.
size_t Replace(const std::string& bytes, uint8_t* data, size_t size, size_t most);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FUZZ_MUTATION_H_
