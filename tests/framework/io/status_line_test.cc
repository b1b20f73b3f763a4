// SPDX-License-Identifier: Apache-2.0
#include "framework/io/status_line.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millhopper
