// SPDX-License-Identifier: Apache-2.0
#include "framework/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

class FunctionJob final : public Job {
 public:
  explicit FunctionJob(std::function<void()> function) : function_(std::move(function)) {}

 private:
  void Work() override { function_(); }
  const std::function<void()> function_;
};

Ref<FunctionJob> MakeJob(std::function<void()> function) {
  return Ref<FunctionJob>(new FunctionJob(std::move(function)));
}

TEST(ThreadPool, RefusesSizesOutOfRange) {
  const PoolSize pool(2);
  for (const int workers : {-1, 1025}) {
    ExpectError(ErrorCode::kInvalidArgument, "0 to 1024",
                [&] { ThreadPool::Get().SetSize(workers); });
  }
  EXPECT_EQ(ThreadPool::Get().size(), 2);
}

TEST(ThreadPool, StartsItsThreadsAtTheFirstSubmit) {
  const PoolSize pool(3);
  EXPECT_EQ(ThreadPool::Get().started(), 0);
  Gate done;
  MakeJob([&] { done.Open(); })->Submit();
  done.Wait();
  EXPECT_EQ(ThreadPool::Get().started(), 3);
}

TEST(ThreadPool, WithoutWorkersNothingIsCalled) {
  const PoolSize pool(0);
  std::atomic<int> calls{0};
  const auto job = MakeJob([&] { ++calls; });
  job->Submit();
  job->Cancel();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(ThreadPool::Get().started(), 0);
}

TEST(ThreadPool, RunsAtMostAsManyAsItHasWorkers) {
  const PoolSize pool(3);
  std::atomic<int> running{0}, most{0}, calls{0};
  const auto job = MakeJob([&] {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    --running;
    ++calls;
  });
  for (int i = 0; i < 500; ++i) job->Submit();
  WaitUntil([&] { return calls == 500; });
  EXPECT_LE(most, 3);
}

TEST(ThreadPool, CallsInTheOrderOfSubmits) {
  const PoolSize pool(1);
  std::vector<int> order;
  Gate done;
  std::vector<Ref<FunctionJob>> jobs;
  jobs.reserve(51);
  for (int i = 0; i < 50; ++i) jobs.push_back(MakeJob([&order, i] { order.push_back(i); }));
  jobs.push_back(MakeJob([&] { done.Open(); }));
  for (const auto& job : jobs) job->Submit();
  done.Wait();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order.at(i), i);
}

TEST(ThreadPool, ManyThreadsMaySubmit) {
  const PoolSize pool(2);
  std::atomic<int> calls{0};
  const auto job = MakeJob([&] { ++calls; });
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) job->Submit();
    });
  }
  for (std::thread& thread : threads) thread.join();
  WaitUntil([&] { return calls == 800; });
}

TEST(ThreadPool, SetSizeWaitsForWhatIsQueuedAndTakesNoMore) {
  const PoolSize pool(1);
  Gate begun;
  std::atomic<bool> resume_at{false};
  std::atomic<int> calls{0}, taken{0};
  Ref<FunctionJob> job;
  job = MakeJob([&] {
    ++calls;
    begun.Open();
    WaitUntil([&] { return resume_at.load(); });
    if (job->Submit()) ++taken;  // before SetSize, or refused while it waits for this thread
  });
  EXPECT_TRUE(job->Submit());
  EXPECT_TRUE(job->Submit());
  begun.Wait();
  std::thread resize([] { ThreadPool::Get().SetSize(0); });
  resume_at = true;
  resize.join();
  EXPECT_EQ(calls, 2 + taken);
  EXPECT_FALSE(job->Submit());
  job->Cancel();
}

TEST(Job, CancelWaitsForWhatRuns) {
  const PoolSize pool(1);
  Gate begun;
  std::atomic<bool> cancelling{false}, finished{false};
  const auto job = MakeJob([&] {
    begun.Open();
    WaitUntil([&] { return cancelling.load(); });
    finished = true;
  });
  job->Submit();
  begun.Wait();
  cancelling = true;
  job->Cancel();
  EXPECT_TRUE(finished);
}

TEST(Job, CancelEndsLoopsAndWaitsOfWhatRuns) {
  const PoolSize pool(3);
  Gate never;
  std::atomic<int> begun{0}, left{0};
  const auto leave = [&](const auto& step) {
    try {
      ++begun;
      for (;;) step();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
      ++left;
    }
  };
  // A part that another worker has taken belongs to the same work.
  const auto loops = MakeJob([&] {
    ParallelFor(2, [&](size_t) {
      leave([&] {
        if (begun >= 2) CheckStop();
      });
    });
  });
  loops->Submit();
  WaitUntil([&] { return begun == 2; });
  loops->Cancel();
  EXPECT_EQ(left, 2);
  const auto waits = MakeJob([&] { leave([&] { never.WaitOrLeave(); }); });
  waits->Submit();
  WaitUntil([&] { return begun == 3; });
  waits->Cancel();
  EXPECT_EQ(left, 3);
}

TEST(Job, LeavesItsWaitsForAFork) {
  const PoolSize pool(1);
  Gate begun, never;
  std::atomic<bool> left{false};
  const auto job = MakeJob([&] {
    begun.Open();
    try {
      never.WaitOrLeave();
    } catch (const Error&) {
      left = true;
    }
  });
  job->Submit();
  begun.Wait();
  ThreadPool::Get().Pause();
  EXPECT_TRUE(left);
  ThreadPool::Get().Resume();
  job->Cancel();
}

TEST(Job, CancelVoidsWhatIsQueued) {
  const PoolSize pool(1);
  Gate cancelled, done;
  MakeJob([&] { cancelled.Wait(); })->Submit();  // the one worker is busy
  std::atomic<int> calls{0};
  const auto job = MakeJob([&] { ++calls; });
  job->Submit();
  job->Cancel();
  job->Submit();
  cancelled.Open();
  MakeJob([&] { done.Open(); })->Submit();  // after the others in the queue
  done.Wait();
  EXPECT_EQ(calls, 1);
}

TEST(Job, CancelEndsWorkThatSubmitsItself) {
  for (const int workers : {1, 2, 7}) {
    const PoolSize pool(workers);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> calls{0};
      Ref<FunctionJob> job;
      job = MakeJob([&] {
        ++calls;
        job->Submit();
      });
      for (int i = 0; i < workers; ++i) job->Submit();
      WaitUntil([&] { return calls > 10; });
      job->Cancel();
      const int after = calls;
      Gate done;
      MakeJob([&] { done.Open(); })->Submit();
      done.Wait();
      EXPECT_EQ(calls, after);
      EXPECT_TRUE(workers > 1 || job->HasOneReference());
      // Work still refers to `job`; it may be asked for again.
      job->Submit();
      WaitUntil([&] { return calls > after; });
      job->Cancel();
    }
  }
}

TEST(Job, IsKeptByThePoolWhileQueued) {
  const PoolSize pool(1);
  Gate begun, resume_at;
  const auto blocker = MakeJob([&] {
    begun.Open();
    resume_at.Wait();
  });
  blocker->Submit();
  begun.Wait();
  Gate done;
  MakeJob([&] { done.Open(); })->Submit();  // no other reference exists
  resume_at.Open();
  done.Wait();
}

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const int workers : {0, 1, 2, 7}) {
    const PoolSize pool(workers);
    for (const size_t n : {0, 1, 2, 3, 100, 1000}) {
      std::vector<std::atomic<int>> calls(n);
      ParallelFor(n, [&](size_t i) { ++calls[i]; });
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(calls[i], 1) << i << " of " << n;
    }
  }
}

TEST(ParallelFor, ThrowsTheErrorOfTheLowestIndexAndBeginsNoMore) {
  for (const int workers : {1, 2, 7}) {
    const PoolSize pool(workers);
    int calls_of_all = 0;
    for (size_t round = 0; round < 100; ++round) {
      std::atomic<int> calls{0}, at_work{0};
      std::string text;
      try {
        ParallelFor(40, [&](size_t i) {
          ++at_work;
          if (i % 3 == round % 3) std::this_thread::yield();
          ++calls;
          --at_work;
          if (i >= 11 && i % 2 == 1) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        text = error.what();
      }
      ASSERT_EQ(text, "11");
      ASSERT_GE(calls, 12);
      ASSERT_EQ(at_work, 0);
      calls_of_all += calls;
    }
    EXPECT_LT(calls_of_all, 100 * 40);
  }
}

TEST(ParallelFor, WithoutWorkersThrowsTheSameError) {
  const PoolSize pool(0);
  try {
    ParallelFor(40, [](size_t i) {
      if (i >= 11) throw std::runtime_error(std::to_string(i));
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "11");
  }
}

TEST(ParallelFor, MayBeNested) {
  for (const int workers : {1, 2, 7}) {
    const PoolSize pool(workers);
    std::atomic<int> calls{0};
    ParallelFor(8, [&](size_t) {
      ParallelFor(8, [&](size_t) { ParallelFor(8, [&](size_t) { ++calls; }); });
    });
    EXPECT_EQ(calls, 512);
  }
}

TEST(ParallelFor, NeedsNoIdleWorker) {
  const PoolSize pool(1);
  Gate begun, resume_at;
  const auto blocker = MakeJob([&] {
    begun.Open();
    resume_at.Wait();
  });
  blocker->Submit();
  begun.Wait();
  int calls = 0;
  ParallelFor(10, [&](size_t) { ++calls; });  // all on this thread
  EXPECT_EQ(calls, 10);
  resume_at.Open();
}

TEST(ParallelFor, LeavesNothingInUse) {
  const PoolSize pool(2);
  for (int i = 0; i < 1000; ++i) {
    ParallelFor(3, [](size_t) {});
  }
  WaitUntil([] { return Pool<internal::ParallelJob>::in_use() == 0; });
}

}  // namespace
}  // namespace millhopper
