// SPDX-License-Identifier: Apache-2.0
#include "framework/base/sleepers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace millhopper {
namespace {

using std::chrono::steady_clock;

TEST(Sleepers, DoNotSleepIfItIsThere) {
  Sleepers sleepers;
  const auto begin = steady_clock::now();
  EXPECT_TRUE(sleepers.TryOrSleep([] { return true; }, std::chrono::hours(1)));
  EXPECT_LT(steady_clock::now() - begin, std::chrono::minutes(1));
}

TEST(Sleepers, LookAgainWithoutAWake) {
  Sleepers sleepers;
  const auto begin = steady_clock::now();
  EXPECT_FALSE(sleepers.TryOrSleep([] { return false; }));
  EXPECT_LT(steady_clock::now() - begin, std::chrono::minutes(1));
}

TEST(Sleepers, DoNotMissAWakeThatComesWhileTheyLook) {
  Sleepers sleepers;
  const auto begin = steady_clock::now();
  EXPECT_FALSE(sleepers.TryOrSleep(
      [&sleepers] {
        sleepers.Wake();
        return false;
      },
      std::chrono::hours(1)));
  EXPECT_LT(steady_clock::now() - begin, std::chrono::minutes(1));
}

// Each thread waits for the one before it, and nobody looks again by himself.
TEST(Sleepers, AreWokenByEveryChange) {
  constexpr int kThreads = 4, kRounds = 2000;
  Sleepers sleepers;
  std::atomic<int> turn{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        const auto is_mine = [&] { return turn % kThreads == t; };
        while (!is_mine()) sleepers.TryOrSleep(is_mine, std::chrono::hours(1));
        ++turn;
        sleepers.Wake();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turn, kThreads * kRounds);
}

}  // namespace
}  // namespace millhopper
