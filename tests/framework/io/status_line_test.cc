// SPDX-License-Identifier: Apache-2.0
#include "framework/io/status_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace millhopper {
namespace {

TEST(ProgressText, SaysHowMuchIsDoneAndWhatIsLeft) {
  EXPECT_EQ(ProgressText(42, 100, 42), "42%, 0:58 left");
  EXPECT_EQ(ProgressText(1, 4, 30), "25%, 1:30 left");
  EXPECT_EQ(ProgressText(1, 1000, 10), "0%, 2:46:30 left");
  EXPECT_EQ(ProgressText(999, 1000, 10), "99%, 0:01 left");
  EXPECT_EQ(ProgressText(4, 4, 10), "100%, 0:00 left");
}

TEST(ProgressText, SaysNothingThatItCannotKnow) {
  EXPECT_EQ(ProgressText(0, 100, 10), "");
  EXPECT_EQ(ProgressText(10, 0, 10), "");
}

TEST(ProgressText, StaysAtTheEndIfThereIsMoreThanForeseen) {
  EXPECT_EQ(ProgressText(120, 100, 10), "100%, 0:00 left");
}

TEST(Progress, IsPutBeforeWhatIsDone) {
  EXPECT_EQ(Progress(0).Line(3, "3 chunks"), "3 chunks");
  EXPECT_EQ(Progress(4).Line(0, "0 chunks"), "0 chunks");
  EXPECT_EQ(Progress(4).Line(4, "4 chunks"), "100%, 0:00 left, 4 chunks");
}

// What a status line writes to a file until its text was asked for three times or, if it is never
// asked for, within a time in which it would have been.
std::string Logged(std::chrono::milliseconds every) {
  std::atomic<int> asked{0};
  testing::internal::CaptureStderr();
  {
    const StatusLine status([&] { return "line " + std::to_string(++asked); }, every);
    const auto begin = std::chrono::steady_clock::now();
    const bool never = every.count() == 0;
    while (never ? std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(300)
                 : asked.load() < 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return testing::internal::GetCapturedStderr();
}

TEST(StatusLine, IsLinesOfALogWhereThereIsNoTerminal) {
  EXPECT_THAT(Logged(std::chrono::milliseconds(5)),
              testing::StartsWith("line 1\nline 2\nline 3\n"));
}

TEST(StatusLine, WritesNothingToALogUnlessItIsTold) {
  EXPECT_EQ(Logged(std::chrono::milliseconds(0)), "");
}

TEST(StatusLine, LogsNothingOfShortWork) {
  testing::internal::CaptureStderr();
  {
    const StatusLine status([] { return "line"; }, StatusLine::kLogged);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace millhopper
