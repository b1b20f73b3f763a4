// SPDX-License-Identifier: Apache-2.0
#include "framework/base/stop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/yielding_mutex.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(Stop, ThrowsFromARequestUntilItIsForgotten) {
  CheckStop();
  RequestStop();
  EXPECT_TRUE(StopRequested());
  for (int i = 0; i < 2; ++i) ExpectError(ErrorCode::kCancelled, "stopped", [] { CheckStop(); });
  ClearStop();
  EXPECT_FALSE(StopRequested());
  CheckStop();
}

TEST(CancelScope, OfWaitsEndsWaitsOnly) {
  bool over = false;
  const auto is_over = [&over] { return over; };
  const HelpScope scope(is_over);
  CheckWait();
  over = true;
  CheckStop();
  EXPECT_FALSE(CancelScope::IsWorkOver());
  ExpectError(ErrorCode::kCancelled, "stopped", [] { CheckWait(); });
  try {
    CheckWait();
  } catch (...) {
    EXPECT_TRUE(CancelScope::WasLeft());
  }
  try {
    Throw(ErrorCode::kDataLoss, "damaged");
  } catch (...) {
    EXPECT_FALSE(CancelScope::WasLeft());
  }
}

TEST(CancelScope, AnyOfThoseAroundEndsIt) {
  bool outer = false, inner = false;
  const auto outer_is_over = [&outer] { return outer; };
  const auto inner_is_over = [&inner] { return inner; };
  const HelpScope outer_scope(outer_is_over);
  {
    const HelpScope inner_scope(inner_is_over);
    inner = true;
    EXPECT_TRUE(CancelScope::IsWaitOver());
  }
  CheckWait();
  inner = false;
  const HelpScope inner_scope(inner_is_over);
  outer = true;
  EXPECT_TRUE(CancelScope::IsWaitOver());
  const RunsToItsEnd whole;
  CheckWait();
}

// A thread that was told to leave must be able to tell, later, that it left.
TEST(CancelScope, StaysOver) {
  bool over = true;
  const auto is_over = [&over] { return over; };
  const HelpScope scope(is_over);
  try {
    CheckWait();
    FAIL() << "the scope was not over";
  } catch (...) {
    over = false;
    EXPECT_TRUE(CancelScope::WasLeft());
  }
  EXPECT_TRUE(CancelScope::IsWaitOver());
}

TEST(CancelScope, ThreadsThatTakePartShareIt) {
  bool over = false;
  const auto is_over = [&over] { return over; };
  const HelpScope scope(is_over);
  over = true;
  std::thread other([lane = ThisLane()] {
    CheckWait();
    const ShareLane share(lane);
    EXPECT_TRUE(CancelScope::IsWaitOver());
  });
  other.join();
}

TEST(YieldingMutex, WhoHasTheRightOfWayIsNotHeldUp) {
  YieldingMutex mutex;
  Gate holds, never;
  std::atomic<int> left{0};
  std::atomic<bool> done{false};
  std::thread worker([&] {
    while (!done) {
      const LockToWork lock(&mutex);
      const Yields yields(mutex);
      holds.Open();
      try {
        if (!done) never.WaitOrLeave();
      } catch (const Error&) {
        ++left;
      }
    }
  });
  holds.Wait();
  for (int i = 0; i < 3; ++i) {
    const LockAtOnce lock(&mutex);
    EXPECT_FALSE(mutex.TryLockToWork());
  }
  mutex.LockAtOnce();
  done = true;
  mutex.Unlock();
  never.Open();
  worker.join();
  EXPECT_GE(left, 1);
}

TEST(LockOrStop, EndsWithARequestToStop) {
  Mutex mutex;
  const MutexLock held(&mutex);
  std::thread other([&mutex] {
    ExpectError(ErrorCode::kCancelled, "stopped", [&mutex] { const LockOrStop lock(&mutex); });
  });
  RequestStop();
  other.join();
  ClearStop();
}

TEST(Backoff, NoticesWhatAnotherThreadDoes) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (Backoff backoff; std::chrono::steady_clock::now().time_since_epoch().count() % 7 != 0;) {
      backoff.Pause();
    }
    done = true;
  });
  for (Backoff backoff; !done;) backoff.Pause();
  other.join();
}

// Far more pauses than those that spin or yield. No pause is longer than about a millisecond, so
// the test ends.
TEST(Backoff, KeepsLookingHoweverLongItWaits) {
  Backoff backoff;
  for (int i = 0; i < 400; ++i) backoff.Pause();
}

}  // namespace
}  // namespace millhopper
