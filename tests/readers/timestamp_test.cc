// SPDX-License-Identifier: Apache-2.0
// Dates and times as text: what they mean, and what is refused.
#include "readers/timestamp.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <limits>
#include <string>

namespace millhopper {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;

int64_t Ticks(const std::string& text, int64_t ticks_per_second = 1) {
  int64_t ticks = -12345;
  const char* const problem = ParseTimestamp(text, ticks_per_second, &ticks);
  EXPECT_EQ(problem, nullptr) << text << ": " << problem;
  return ticks;
}

std::string Problem(const std::string& text, int64_t ticks_per_second = 1) {
  int64_t ticks = -12345;
  const char* const problem = ParseTimestamp(text, ticks_per_second, &ticks);
  EXPECT_EQ(ticks, -12345) << text;
  return problem == nullptr ? "" : problem;
}

TEST(Timestamp, CountsSecondsSince1970) {
  EXPECT_EQ(Ticks("1970-01-01"), 0);
  EXPECT_EQ(Ticks("1970-01-01 00:00:01"), 1);
  EXPECT_EQ(Ticks("1969-12-31T23:59:59"), -1);
  EXPECT_EQ(Ticks("2024-01-31 12:00:05"), 1706702405);
  EXPECT_EQ(Ticks("2024-01-31T12:00"), 1706702400);
  EXPECT_EQ(Ticks("2024-02-29"), 1709164800);
  EXPECT_EQ(Ticks("2000-02-29 23:59:59"), 951868799);
  EXPECT_EQ(Ticks("0001-01-01"), -62135596800);
  EXPECT_EQ(Ticks("9999-12-31 23:59:59"), 253402300799);
}

TEST(Timestamp, AgreesWithTheLibraryOnEveryDay) {
  char text[32];
  for (int64_t day = -200'000; day < 200'000; ++day) {
    const time_t seconds = day * 86400;
    std::tm fields{};
    ASSERT_NE(gmtime_r(&seconds, &fields), nullptr);
    ASSERT_NE(std::strftime(text, sizeof(text), "%Y-%m-%d", &fields), 0u);
    ASSERT_EQ(Ticks(text), seconds) << text;
  }
}

TEST(Timestamp, CountsPartsOfSeconds) {
  EXPECT_EQ(Ticks("1970-01-01 00:00:01.5", 1000), 1500);
  EXPECT_EQ(Ticks("1969-12-31 23:59:59.999", 1000), -1);
  EXPECT_EQ(Ticks("2024-01-31 12:00:05.000001", 1'000'000), 1706702405000001);
  EXPECT_EQ(Ticks("2024-01-31 12:00:05.123456789", kNanoseconds), 1706702405123456789);
  EXPECT_EQ(Ticks("2024-01-31 12:00:05.000000000"), 1706702405);
  EXPECT_EQ(Ticks("2262-04-11 23:47:16.854775807", kNanoseconds),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Ticks("1677-09-21 00:12:43.145224192", kNanoseconds),
            std::numeric_limits<int64_t>::min());
}

TEST(Timestamp, KnowsHowFarClocksAreAhead) {
  const int64_t noon = Ticks("2024-01-31 12:00:05");
  for (const char* const zone :
       {"Z", " UTC", "UTC", "+00", "+0000", "+00:00", " +0000", "-00:00"}) {
    EXPECT_EQ(Ticks(std::string("2024-01-31 12:00:05") + zone), noon) << zone;
  }
  EXPECT_EQ(Ticks("2024-01-31T12:00:05+01:30"), noon - 5400);
  EXPECT_EQ(Ticks("2024-01-31T12:00:05-0800"), noon + 28800);
  EXPECT_EQ(Ticks("2024-01-31T12:00:05.250-08", 1000), 1000 * (noon + 28800) + 250);
}

TEST(Timestamp, RefusesWhatIsNoPointInTime) {
  for (const char* const text : {"2023-02-29", "1900-02-29", "2024-04-31", "2024-00-10",
                                 "2024-13-10", "2024-01-00", "0000-00-00 00:00:00"}) {
    EXPECT_EQ(Problem(text), "there is no such day") << text;
  }
  for (const char* const text :
       {"2024-01-31 24:00:00", "2024-01-31 12:60", "2024-01-31 12:00:60"}) {
    EXPECT_EQ(Problem(text), "there is no such time of day") << text;
  }
  EXPECT_EQ(Problem("2024-01-31 12:00+24"), "there is no such time zone");
  for (const char* const text : {"",
                                 "2024",
                                 "1706702405",
                                 "2024-1-31",
                                 "2024/01/31",
                                 "31.01.2024",
                                 "20240131",
                                 "2024-01-31 ",
                                 "2024-01-31T",
                                 "2024-01-31 12",
                                 "2024-01-31 12:00:",
                                 "2024-01-31 12:00:05.",
                                 "2024-01-31 12:00:05 ",
                                 "2024-01-31 12:00:05 CET",
                                 "2024-01-31Z",
                                 "2024-01-31 12:00:05Zx",
                                 "2024-01-31 12:00+1",
                                 "2024-01-31 12:00+01:",
                                 "2024-01-31 12:00+01:3",
                                 "-2024-01-31",
                                 "2024-01-31t12:00:05"}) {
    EXPECT_EQ(Problem(text).rfind("it is none of the forms 2024-01-31", 0), 0u) << text;
  }
}

TEST(Timestamp, RoundsNothing) {
  EXPECT_EQ(Problem("2024-01-31 12:00:05.5").rfind("it is finer than its unit; unit=ms", 0), 0u);
  EXPECT_EQ(Problem("2024-01-31 12:00:05.0001", 1000).rfind("it is finer than its unit", 0), 0u);
  EXPECT_EQ(Problem("2024-01-31 12:00:05.0000000001"),
            "it has more than nine digits behind the point");
  for (const char* const text :
       {"2262-04-11 23:47:16.854775808", "1677-09-21 00:12:43.145224191"}) {
    EXPECT_EQ(Problem(text, kNanoseconds), "an int64 does not reach that far in this unit") << text;
  }
}

}  // namespace
}  // namespace millhopper
