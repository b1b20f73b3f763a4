// SPDX-License-Identifier: Apache-2.0
// Making readers starts no thread. The test has its own process, in which no other test has started
// one.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "framework/base/random.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "tests/fakes/fake_device.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(Readers, StartNoThreadBeforeTheFirstPlan) {
  const Holdings before = CurrentHoldings();
  ASSERT_GT(ThreadPool::Get().size(), 0);
  SourceSpec source;
  source.records = 100;
  ReaderHolder holder;
  holder.Reset(MakePlannedSource(source));
  std::unique_ptr<ReaderBase> reader =
      std::make_unique<ShuffleReader>(holder.NewHandle(), 10, RandomKey(0, 0, ""));
  reader = std::make_unique<BatchReader>(std::move(reader), 4, false, BatchMode::kConcat);
  reader = std::make_unique<MultiPassReader>(std::move(reader), 2);
  reader = std::make_unique<DoubleBufferReader>(std::move(reader), Place(FakeDevice::Get()), 2);
  reader->ReInit();
  EXPECT_EQ(ThreadPool::Get().started(), 0);
  EXPECT_EQ(CurrentHoldings().threads, before.threads);
  EXPECT_TRUE(HoldingsReturnTo(before));
  EXPECT_TRUE(reader->HasNext());
  EXPECT_EQ(ThreadPool::Get().started(), ThreadPool::Get().size());
}

}  // namespace
}  // namespace millhopper
