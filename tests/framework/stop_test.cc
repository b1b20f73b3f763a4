// SPDX-License-Identifier: Apache-2.0
#include "framework/base/stop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

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
