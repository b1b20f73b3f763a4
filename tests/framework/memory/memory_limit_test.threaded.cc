// SPDX-License-Identifier: Apache-2.0
#include "framework/memory/memory_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/thread_pool.h"
#include "framework/memory/attempt.h"
#include "framework/memory/buffer.h"
#include "framework/memory/memory.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

// A limit of 8 MiB: 6 for what is needed now, 2 for what is ahead.
class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() {
    BufferPool::FreeIdle(SIZE_MAX);
    MemoryLimit::Set(8 * kMegabyte);
  }
  ~MemoryLimitTest() override { MemoryLimit::Set(SIZE_MAX); }

  static Ref<Buffer> Take(size_t bytes) { return BufferPool::At(Place()).Take(bytes); }
  static Ref<MemoryAccount> Account(const std::string& name) {
    Ref<MemoryAccount> account(new MemoryAccount);
    account->set_name(name);
    return account;
  }
};

TEST_F(MemoryLimitTest, IsAtLeastAMegabyte) {
  ExpectError(ErrorCode::kInvalidArgument, "the least is 1048576", [] { MemoryLimit::Set(1000); });
}

TEST_F(MemoryLimitTest, GivesWhatIsNeededNowUpToTheLimit) {
  std::vector<Ref<Buffer>> taken;
  taken.reserve(5);
  for (int i = 0; i < 5; ++i) taken.push_back(Take(kMegabyte));
  ExpectError(ErrorCode::kResourceLimit, "the memory limit of 8.4 MB is reached",
              [] { Take(2 * kMegabyte); });
  taken.pop_back();
  Take(2 * kMegabyte);
}

// Whether memory is refused so that a worker tries again later.
bool IsRefused(size_t bytes) {
  const Attempt taking([&] {
    try {
      BufferPool::At(Place()).Take(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kResourceLimit);
      EXPECT_TRUE(error.interrupts());
      throw;
    }
  });
  return taking.outcome() == Attempt::Outcome::kRefused;
}

TEST_F(MemoryLimitTest, GivesAQuarterToWhatIsAheadOfNeed) {
  const Ref<MemoryAccount> scope_account = Account("files");
  const MemoryScope scope(scope_account, MemoryScope::Need::kAhead);
  const Ref<Buffer> first = Take(kMegabyte);
  EXPECT_FALSE(IsRefused(kMegabyte));
  EXPECT_TRUE(IsRefused(kMegabyte + 64));
  EXPECT_TRUE(MemoryLimit::HasRoomAhead(kMegabyte));
  EXPECT_FALSE(MemoryLimit::HasRoomAhead(kMegabyte + 64));
}

TEST_F(MemoryLimitTest, WhatIsAheadTakesNothingFromWhatIsNeeded) {
  const LittleRoomAhead none(0);
  EXPECT_EQ(Take(6 * kMegabyte)->capacity(), 6 * kMegabyte);
}

TEST_F(MemoryLimitTest, WhatIsNeededTakesNothingFromWhatIsAhead) {
  const Ref<Buffer> needed = Take(6 * kMegabyte);
  const Ref<MemoryAccount> scope_account = Account("files");
  const MemoryScope scope(scope_account, MemoryScope::Need::kAhead);
  EXPECT_EQ(Take(2 * kMegabyte)->capacity(), 2 * kMegabyte);
}

TEST_F(MemoryLimitTest, WhatWasAheadMayBecomeNeeded) {
  Ref<Buffer> buffer;
  {
    const Ref<MemoryAccount> scope_account = Account("files");
    const MemoryScope scope(scope_account, MemoryScope::Need::kAhead);
    buffer = Take(2 * kMegabyte);
  }
  const Ref<MemoryAccount> account = Account("batches");
  const MemoryScope scope(account);
  const size_t before = MemoryLimit::needed();
  buffer->set_needed();
  EXPECT_EQ(MemoryLimit::needed(), before + 2 * kMegabyte);
  EXPECT_EQ(account->bytes(), 2 * kMegabyte);
  EXPECT_TRUE(MemoryLimit::HasRoomAhead(2 * kMegabyte));
  buffer = Ref<Buffer>();
  EXPECT_EQ(MemoryLimit::needed(), before);
  EXPECT_EQ(account->bytes(), 0u);
}

TEST_F(MemoryLimitTest, WithinWhatIsAheadAllIs) {
  const Ref<MemoryAccount> outer_account = Account("outer");
  const MemoryScope outer(outer_account, MemoryScope::Need::kAhead);
  const Ref<MemoryAccount> inner_account = Account("inner");
  const MemoryScope inner(inner_account);
  EXPECT_TRUE(MemoryScope::IsAhead());
  EXPECT_TRUE(IsRefused(5 * kMegabyte));
}

TEST_F(MemoryLimitTest, IsTheSameForThreadsThatShareTheWork) {
  const PoolSize pool(2);
  const Ref<MemoryAccount> scope_account = Account("batches");
  const MemoryScope scope(scope_account, MemoryScope::Need::kAhead);
  std::atomic<int> begun{0};
  ParallelFor(2, [&](size_t) {
    ++begun;
    WaitUntil([&] { return begun == 2; });  // so that a thread of the pool has the other part
    EXPECT_TRUE(IsRefused(5 * kMegabyte));
  });
  EXPECT_EQ(MemoryScope::Current(), &scope);
}

TEST_F(MemoryLimitTest, FreesWhatLiesIdleInsteadOfRefusing) {
  for (size_t i = 1; i <= 5; ++i) Take(i * kMegabyte);
  EXPECT_GT(BufferPool::At(Place()).idle_bytes(), kMegabyte);
  EXPECT_EQ(Take(6 * kMegabyte)->capacity(), 6 * kMegabyte);
}

TEST_F(MemoryLimitTest, CountsTables) {
  const size_t before = MemoryLimit::needed();
  PooledVector<uint64_t> table(1000);
  EXPECT_GE(MemoryLimit::needed(), before + 8000);
  EXPECT_LE(MemoryLimit::needed(), before + 10240);
  ExpectError(ErrorCode::kResourceLimit, "the memory limit", [&] { table.resize(1 << 20); });
  EXPECT_EQ(table.size(), 1000u);
  Empty(&table);  // which keeps nothing under a limit
  EXPECT_EQ(MemoryLimit::needed(), before);
}

TEST_F(MemoryLimitTest, SaysWhatWouldDo) {
  ExpectError(ErrorCode::kResourceLimit, "; raise the limit to 22MB, or lower buffer_size",
              [] { Take(7 * kMegabyte); });
  try {
    Take(7 * kMegabyte);
    FAIL();
  } catch (const Error& error) {
    const Error advised = MemoryLimit::Advised(error.WithContext("while testing"), 30000000, 10);
    EXPECT_NE(advised.message().find("; raise the limit to 44MB, or"), std::string::npos);
    EXPECT_EQ(advised.context(), std::vector<std::string>{"while testing"});
    ASSERT_NE(advised.out_of_memory(), nullptr);
    EXPECT_EQ(advised.out_of_memory()->element, 10u);
    const Error more = MemoryLimit::Advised(advised, 30000000000, 10);
    EXPECT_NE(more.message().find("; raise the limit to 44GB, or"), std::string::npos);
  }
}

TEST_F(MemoryLimitTest, NamesWhoUsesMost) {
  const Ref<MemoryAccount> files = Account("reader 'files'");
  const Ref<MemoryAccount> window = Account("reader 'window'");
  std::vector<Ref<Buffer>> taken;
  {
    const MemoryScope scope(files);
    taken.push_back(Take(kMegabyte));
  }
  {
    const MemoryScope scope(window);
    taken.push_back(Take(3 * kMegabyte));
  }
  taken.push_back(Take(2 * kMegabyte));
  EXPECT_EQ(files->bytes(), kMegabyte);
  const MemoryScope scope(files);
  ExpectError(ErrorCode::kResourceLimit,
              "reader 'files' needs 5.2 MB and 6.3 MB are in use: reader 'window' 3.1 MB, "
              "variables of the program 2.1 MB, reader 'files' 1.0 MB; raise the limit to",
              [] { Take(5 * kMegabyte); });
  taken.clear();
  EXPECT_EQ(files->bytes(), 0u);
  EXPECT_EQ(window->bytes(), 0u);
}

TEST_F(MemoryLimitTest, HoldsForManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (size_t k = 0; k < 4; ++k) {
    threads.emplace_back([k] {
      for (size_t i = 0; i < 300; ++i) {
        try {
          const Ref<Buffer> buffer = Take((1 + (i * 7 + k) % 5) * (kMegabyte / 2));
          ASSERT_LE(BufferPool::At(Place()).in_use_bytes(), 8 * kMegabyte);
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::kResourceLimit) << error.what();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Take(6 * kMegabyte)->capacity(), 6 * kMegabyte);
}

// A buffer that is handed over is always in one of the two counts, so a request that fits succeeds.
TEST_F(MemoryLimitTest, GivesWhatFitsWhateverOtherThreadsAreAt) {
  std::atomic<bool> done{false};
  std::thread ahead([&done] {
    const MemoryScope scope(nullptr, MemoryScope::Need::kAhead);
    for (size_t i = 0; !done.load(); ++i) {
      try {
        Take((1 + i % 7) * (kMegabyte / 4));
      } catch (const Error&) {  // refused
      }
    }
  });
  for (size_t i = 0; i < 5000; ++i) {
    ASSERT_NO_THROW(Take((1 + i % 6) * kMegabyte)) << i;
  }
  done.store(true);
  ahead.join();
}

}  // namespace
}  // namespace millhopper
