// SPDX-License-Identifier: Apache-2.0
// The part of the model that is about readers which look at elements in order.
#ifndef MILLHOPPER_TESTS_CHAINS_GATHER_MODEL_H_
#define MILLHOPPER_TESTS_CHAINS_GATHER_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/chains/expected_stream.h"

namespace millhopper {

// Elements joined to a batch; there is at least one.
ExpectedElement Joined(const std::vector<ExpectedElement>& parts, bool stack);

// What is left of a stream for a reader that looks into elements: it ends at the first one that
// cannot be loaded.
ExpectedStream LookedAt(const ExpectedStream& in);

// Batches of `size` elements in each bucket.
ExpectedStream Bucketed(const ExpectedStream& in, const std::vector<int64_t>& boundaries,
                        size_t size, bool discard_leftover);
// Batches in which slots with a level of detail are padded with 0 to this length, followed by the
// lengths.
ExpectedStream PaddedBatches(const ExpectedStream& in, size_t size, int64_t length);
// Batches of at most max_tokens tokens, or of one longer element; `padded` counts the padding.
ExpectedStream TokenBatches(const ExpectedStream& in, int64_t max_tokens, bool padded);
ExpectedStream Windows(const ExpectedStream& in, size_t size, size_t shift, size_t stride,
                       bool discard_leftover);
// Rows packed by "first_fit", "best_fit" or "concat_then_split"; with `truncate` long documents are
// cut off, otherwise split.
ExpectedStream PackedRows(const ExpectedStream& in, const std::string& method, int64_t length,
                          size_t bins, bool truncate);
// The elements that are not among the last `entries` different ones.
ExpectedStream Deduped(const ExpectedStream& in, size_t entries);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_GATHER_MODEL_H_
