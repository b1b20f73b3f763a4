// SPDX-License-Identifier: Apache-2.0
// The operator create_token_batch_reader.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/documents.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

const std::vector<std::vector<int64_t>> kDocuments = {{1, 1}, {2}, {3, 3, 3}, {4}, {5, 5}};

TEST(CreateTokenBatchReaderOp, FillsBatchesUpToTheSum) {
  EXPECT_EQ(ShownOf("create_token_batch_reader", {{"max_tokens", "i: 4"}}, kDocuments),
            (Texts{"[3] 1 1 2 from 0 2 3", "[4] 3 3 3 4 from 0 3 4", "[2] 5 5 from 0 2"}));
}

TEST(CreateTokenBatchReaderOp, CountsThePadding) {
  EXPECT_EQ(ShownOf("create_token_batch_reader",
                    {{"max_tokens", "i: 4"},
                     {"count", "s: \"padded\""},
                     {"pad", "b: true"},
                     {"discard_leftover", "b: true"}},
                    kDocuments),
            (Texts{"[2, 2] 1 1 2 0", "[1, 3] 3 3 3"}));
}

TEST(CreateTokenBatchReaderOp, TreatsLongElementsAsTold) {
  ExpectError(ErrorCode::kDataLoss, "an element of 3 tokens is larger than max_tokens, 2", [&] {
    ShownOf("create_token_batch_reader", {{"max_tokens", "i: 2"}}, kDocuments);
  });
  EXPECT_EQ(ShownOf("create_token_batch_reader",
                    {{"max_tokens", "i: 2"}, {"overlong", "s: \"alone\""}}, kDocuments),
            (Texts{"[2] 1 1 from 0 2", "[1] 2 from 0 1", "[3] 3 3 3 from 0 3", "[1] 4 from 0 1",
                   "[2] 5 5 from 0 2"}));
}

}  // namespace
}  // namespace millhopper
