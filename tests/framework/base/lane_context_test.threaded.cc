// SPDX-License-Identifier: Apache-2.0
#include "framework/base/lane_context.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/io/counted_reads.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/record_place.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(LaneContext, IsOfOneThreadAndNests) {
  std::atomic<uint64_t> outer{0}, inner{0};
  {
    const CountedReads counted(&outer);
    {
      const CountedReads more(&inner);
      CountedReads::Add(3);
    }
    CountedReads::Add(5);
  }
  CountedReads::Add(7);
  EXPECT_EQ(inner, 3u);
  EXPECT_EQ(outer, 5u);
}

TEST(LaneContext, IsSharedByThreadsThatTakePart) {
  const PoolSize pool(3);
  const auto is_over = [] { return true; };
  const HelpScope scope(is_over);
  const MemoryScope memory(nullptr, MemoryScope::Need::kAhead);
  std::atomic<uint64_t> bytes{0};
  const CountedReads counted(&bytes);
  const RecordPlace place;
  std::atomic<int> wrong{0};
  std::atomic<bool> helped{false};
  const std::thread::id self = std::this_thread::get_id();
  ParallelFor(64, [&](size_t) {
    if (std::this_thread::get_id() != self) helped = true;
    while (!helped) std::this_thread::yield();  // until another thread takes part
    CountedReads::Add(1);
    if (!CancelScope::IsWaitOver() || MemoryScope::Current() != &memory) ++wrong;
  });
  EXPECT_EQ(bytes, 64u);
  EXPECT_EQ(wrong, 0);
}

TEST(OtherLane, HasNothingOfTheThreadButItsStops) {
  const auto is_over = [] { return true; };
  const HelpScope scope(is_over);
  const MemoryScope memory(nullptr, MemoryScope::Need::kAhead);
  std::atomic<uint64_t> bytes{0};
  const CountedReads counted(&bytes);
  const RecordPlace place;
  {
    const OtherLane other;
    EXPECT_TRUE(CancelScope::IsWaitOver());
    EXPECT_FALSE(MemoryScope::MayGiveUp());
    EXPECT_EQ(ThisLane().place, nullptr);
    CountedReads::Add(1);
  }
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(ThisLane().place, &place);
  EXPECT_EQ(MemoryScope::Current(), &memory);
}

}  // namespace
}  // namespace millhopper
