// SPDX-License-Identifier: Apache-2.0
#include "framework/memory_limit.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/memory.h"
#include "framework/thread_pool.h"
#include "tests/testing.h"

namespace millrace {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

// 8 MiB of room for tests, whatever else is in use.
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
  taken.reserve(7);
  for (int i = 0; i < 7; ++i) taken.push_back(Take(kMegabyte));
  ExpectError(ErrorCode::kResourceLimit, "the memory limit of 8.4 MB is reached",
              [] { Take(2 * kMegabyte); });
  taken.pop_back();
  Take(2 * kMegabyte);
}

TEST_F(MemoryLimitTest, GivesHalfOfItToWhatIsAheadOfNeed) {
  const Ref<MemoryAccount> account = Account("files");
  const MemoryScope scope(account, MemoryScope::Need::kAhead);
  std::vector<Ref<Buffer>> taken;
  taken.reserve(4);
  for (int i = 0; i < 4; ++i) taken.push_back(Take(kMegabyte - 1));
  EXPECT_FALSE(scope.refused());
  EXPECT_FALSE(MemoryLimit::HasRoomAhead());
  ExpectError(ErrorCode::kResourceLimit, "not needed yet", [] { Take(64); });
  EXPECT_TRUE(scope.refused());
}

TEST_F(MemoryLimitTest, TellsEveryScopeThatIsAheadOfARefusal) {
  const MemoryScope outer(Account("outer"), MemoryScope::Need::kAhead);
  const MemoryScope inner(Account("inner"));
  EXPECT_TRUE(MemoryScope::IsAhead());
  ExpectError(ErrorCode::kResourceLimit, "not needed yet", [] { Take(5 * kMegabyte); });
  EXPECT_TRUE(inner.refused());
  EXPECT_TRUE(outer.refused());
}

TEST_F(MemoryLimitTest, IsTheSameForThreadsThatShareTheWork) {
  const PoolSize pool(2);
  const Ref<MemoryAccount> account = Account("batches");
  const MemoryScope scope(account, MemoryScope::Need::kAhead);
  ParallelFor(8, [outer = MemoryScope::Current()](size_t) {
    const MemoryScope shared(outer);
    ExpectError(ErrorCode::kResourceLimit, "not needed yet", [] { Take(5 * kMegabyte); });
  });
  EXPECT_TRUE(scope.refused());
  EXPECT_EQ(MemoryScope::Current(), &scope);
}

TEST_F(MemoryLimitTest, FreesWhatLiesIdleInsteadOfRefusing) {
  for (size_t i = 1; i <= 6; ++i) Take(i * kMegabyte);
  EXPECT_GT(BufferPool::At(Place()).idle_bytes(), kMegabyte);
  EXPECT_EQ(Take(7 * kMegabyte)->capacity(), 7 * kMegabyte);
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
    taken.push_back(Take(4 * kMegabyte));
  }
  taken.push_back(Take(2 * kMegabyte));
  EXPECT_EQ(files->bytes(), kMegabyte);
  const MemoryScope scope(files);
  ExpectError(ErrorCode::kResourceLimit,
              "reader 'files' needs 5.2 MB and 7.3 MB are in use: reader 'window' 4.2 MB, "
              "variables of the program 2.1 MB, reader 'files' 1.0 MB; raise the limit",
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
  EXPECT_EQ(Take(7 * kMegabyte)->capacity(), 7 * kMegabyte);
}

}  // namespace
}  // namespace millrace
