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
// The readers by turns. `when_exhausted` is "stop", "continue" or "repeat".
ExpectedStream Mixed(const std::vector<int64_t>& weights, const PassOf& pass_of, uint64_t pass,
                     const RandomKey& key, const std::string& when_exhausted);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_COMBINE_MODEL_H_
