// SPDX-License-Identifier: Apache-2.0
// The operator create_bucket_reader.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/documents.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

const std::vector<std::vector<int64_t>> kDocuments = {{1},    {2, 2}, {3, 3, 3, 3}, {4},
                                                      {5, 5}, {6, 6}, {7, 7, 7}};

TEST(CreateBucketReaderOp, BatchesElementsOfSimilarLength) {
  // Lengths below 2, 2 and 3, and 4 or more.
  EXPECT_EQ(ShownOf("create_bucket_reader",
                    {{"boundaries", "ints: 2 ints: 4"}, {"batch_sizes", "ints: 2"}}, kDocuments),
            (Texts{"[2] 1 4 from 0 1 2", "[4] 2 2 5 5 from 0 2 4", "[5] 6 6 7 7 7 from 0 2 5",
                   "[4] 3 3 3 3 from 0 4"}));
}

TEST(CreateBucketReaderOp, TakesABatchSizeForEachBucketAndPads) {
  EXPECT_EQ(ShownOf("create_bucket_reader",
                    {{"boundaries", "ints: 3"},
                     {"batch_sizes", "ints: 5 ints: 1"},
                     {"pad", "b: true"},
                     {"pad_values", "float64s: -1"},
                     {"lengths", "b: true"}},
                    kDocuments),
            (Texts{"[1, 4] 3 3 3 3; [1, 1] 4", "[5, 2] 1 -1 2 2 4 -1 5 5 6 6; [5, 1] 1 2 1 2 2",
                   "[1, 3] 7 7 7; [1, 1] 3"}));
}

TEST(CreateBucketReaderOp, MayDropWhatIsLeft) {
  EXPECT_EQ(
      ShownOf(
          "create_bucket_reader",
          {{"boundaries", "ints: 3"}, {"batch_sizes", "ints: 2"}, {"discard_leftover", "b: true"}},
          kDocuments),
      (Texts{"[3] 1 2 2 from 0 1 3", "[3] 4 5 5 from 0 1 3", "[7] 3 3 3 3 7 7 7 from 0 4 7"}));
}

TEST(CreateBucketReaderOp, RefusesWrongBuckets) {
  const auto refused = [](const AttributeTexts& attributes, const std::string& words) {
    ProgramRunner runner;
    runner.Reader("source").Reset(MakeDocuments(kDocuments));
    ExpectError(ErrorCode::kInvalidArgument, words,
                [&] { runner.Startup(DecoratorProgram("create_bucket_reader", attributes)); });
  };
  refused({{"boundaries", "ints: 4 ints: 4"}, {"batch_sizes", "ints: 2"}},
          "boundary 4 follows 4; boundaries must ascend");
  refused({{"boundaries", "ints: 4"}, {"batch_sizes", "ints: 2 ints: 2 ints: 2"}},
          "3 batch sizes for 2 buckets");
  refused({{"boundaries", "ints: 4"}, {"batch_sizes", "ints: 2"}, {"slot", "i: 1"}},
          "slot 1 of a reader with 1 slots");
}

}  // namespace
}  // namespace millhopper
