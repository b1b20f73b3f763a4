// SPDX-License-Identifier: Apache-2.0
// The part of the model that is about readers on top of several others.
#ifndef MILLHOPPER_TESTS_CHAINS_COMBINE_MODEL_H_
#define MILLHOPPER_TESTS_CHAINS_COMBINE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "tests/chains/expected_stream.h"

namespace millhopper {

// What reader k below yields in pass number `pass`.
using PassOf = std::function<ExpectedStream(size_t k, uint64_t pass)>;

// One reader after another.
ExpectedStream Concatenated(size_t readers, const PassOf& pass_of, uint64_t pass);
// The readers side by side.
ExpectedStream Zipped(size_t readers, const PassOf& pass_of, uint64_t pass, bool check_alignment);
// How readers take turns.
struct MixRules {
  // From element steps[i] on each reader k has weight weights[i][k].
  std::vector<int64_t> steps;
  std::vector<std::vector<int64_t>> weights;
  std::string when_exhausted;  // "stop", "continue" or "repeat"
  std::string by;              // "records", "bytes" or "slot"
  size_t slot;
  RandomKey key;
  uint64_t pass;
  size_t lane = 0, lanes = 1;
  size_t ranks = 1, run = 1;            // `run` elements in turn go to each of the ranks, or,
  static constexpr size_t kAnyRun = 0;  // in an order that is not known, drawn ones
};
// The readers by turns.
ExpectedStream Mixed(const MixRules& rules, const PassOf& pass_of);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_COMBINE_MODEL_H_
