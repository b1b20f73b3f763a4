// SPDX-License-Identifier: Apache-2.0
// Finds the numbers of elements again that a Permutation has ordered.
#ifndef MILLHOPPER_READERS_SOURCES_NUMBERS_AGAIN_H_
#define MILLHOPPER_READERS_SOURCES_NUMBERS_AGAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/position.h"

namespace millhopper {

// For each of the named records, what stands at place `sample` in Permutation(count, key, pass), or
// `sample` itself without a key. Holds one order at a time, however many passes are named. Throws
// kInvalidArgument, with `origin` for the reader, unless they are records of samples below `count`.
std::vector<uint64_t> NumbersAgain(const ElementNames& names, uint64_t count,
                                   const std::optional<RandomKey>& key, const std::string& origin);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_NUMBERS_AGAIN_H_
