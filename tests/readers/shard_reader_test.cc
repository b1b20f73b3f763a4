// SPDX-License-Identifier: Apache-2.0
// What is not said by the contract that all readers keep: which elements are whose.
#include "readers/shard_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "framework/reader/reader_holder.h"
#include "readers/shuffle_reader.h"
#include "tests/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers(int64_t records) {
  SourceSpec spec;
  spec.records = records;
  return MakePlannedSource(spec);
}

TEST(ShardReader, RefusesPartsThatThereAreNot) {
  for (const int64_t shards : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    ExpectError(ErrorCode::kInvalidArgument, "num_shards is ",
                [&] { ShardReader(Numbers(3), shards, 0); });
  }
  for (const int64_t index : {int64_t{-1}, int64_t{2}, INT64_MAX}) {
    ExpectError(ErrorCode::kInvalidArgument, "it must be 0 to 1 for 2 shards",
                [&] { ShardReader(Numbers(3), 2, index); });
  }
}

TEST(ShardReader, PartsAreDisjointAndTogetherEverything) {
  for (const int64_t records : {0, 1, 6, 7, 8, 20, 1000}) {
    const std::unique_ptr<ReaderBase> source = Numbers(records);
    const std::vector<ElementValue> all = ReadAll(source.get());
    for (const int64_t shards : {1, 2, 3, 7, 300}) {
      std::vector<ElementValue> merged(all.size());
      for (int64_t index = 0; index < shards; ++index) {
        ShardReader reader(Numbers(records), shards, index);
        size_t at = static_cast<size_t>(index);
        for (const ElementValue& element : ReadAll(&reader)) {
          ASSERT_LT(at, merged.size());
          merged[at] = element;
          at += static_cast<size_t>(shards);
        }
        EXPECT_GE(at, all.size()) << "part " << index << " of " << shards;
      }
      EXPECT_EQ(merged, all) << records << " records, " << shards << " shards";
    }
  }
}

TEST(ShardReader, PartsOfAShuffledPassAreDisjointInEveryPass) {
  const auto shuffled = [] {
    return std::make_unique<ShuffleReader>(Numbers(50), 20, RandomKey(1, 2, "shuffled"));
  };
  const std::unique_ptr<ReaderBase> whole = shuffled();
  ShardReader first(shuffled(), 2, 0), second(shuffled(), 2, 1);
  for (int pass = 0; pass < 3; ++pass) {
    const std::vector<ElementValue> all = ReadAll(whole.get());
    const std::vector<ElementValue> even = ReadAll(&first), odd = ReadAll(&second);
    ASSERT_EQ(even.size() + odd.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(i % 2 == 0 ? even[i / 2] : odd[i / 2], all[i]);
    whole->ReInit();
    first.ReInit();
    second.ReInit();
  }
}

TEST(ShardReader, TakesNoMoreThanItNeedsOfAReaderThatOthersShare) {
  ReaderHolder shared;
  shared.Reset(Numbers(10));
  ShardReader reader(shared.NewHandle(), 3, 1);
  std::vector<LoDTensor> element;
  reader.ReadNext(&element);
  EXPECT_EQ(*element[0].data<int64_t>(), 1);
  shared.ReadNext(&element);
  EXPECT_EQ(*element[0].data<int64_t>(), 2);
}

}  // namespace
}  // namespace millhopper
