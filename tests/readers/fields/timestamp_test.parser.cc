// SPDX-License-Identifier: Apache-2.0
// Dates and times as text: what they mean, and what is refused.
#include "readers/fields/timestamp.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;

int64_t TicksBy(const std::string& format, const std::string& text, int64_t ticks_per_second = 1) {
  int64_t ticks = -12345;
  const char* const problem =
      ParseTimestamp(text, format, kSecondsPerDay * ticks_per_second, &ticks);
  EXPECT_EQ(problem, nullptr) << text << ": " << problem;
  return ticks;
}

int64_t Ticks(const std::string& text, int64_t ticks_per_second = 1) {
  return TicksBy("", text, ticks_per_second);
}

std::string ProblemBy(const std::string& format, const std::string& text,
                      int64_t ticks_per_second = 1) {
  int64_t ticks = -12345;
  const char* const problem =
      ParseTimestamp(text, format, kSecondsPerDay * ticks_per_second, &ticks);
  EXPECT_EQ(ticks, -12345) << text;
  return problem == nullptr ? "" : problem;
}

std::string Problem(const std::string& text, int64_t ticks_per_second = 1) {
  return ProblemBy("", text, ticks_per_second);
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

TEST(Timestamp, IsWrittenAsItIsRead) {
  for (const int64_t unit : {int64_t{1}, int64_t{1'000}, int64_t{1'000'000}, kNanoseconds}) {
    for (const int64_t ticks : {int64_t{0}, int64_t{-1}, unit - 1, 86399 * unit + unit / 2,
                                int64_t{-8'000'000'000} * unit, int64_t{9'000'000'000} * unit}) {
      const std::string text = TimestampText(ticks, kSecondsPerDay * unit);
      EXPECT_EQ(Ticks(text, unit), ticks) << text;
    }
  }
  for (int64_t day = -719162; day <= 2932896; day += 13) {  // of the years 1 to 9999
    int64_t ticks = 0;
    ASSERT_EQ(ParseTimestamp(TimestampText(day, 1), "", 1, &ticks), nullptr) << day;
    ASSERT_EQ(ticks, day);
  }
  EXPECT_EQ(TimestampText(-719162, 1), "0001-01-01");
  EXPECT_EQ(TimestampText(2932896, 1), "9999-12-31");
  EXPECT_EQ(TimestampText(1706702405, kSecondsPerDay), "2024-01-31 12:00:05");
  EXPECT_EQ(TimestampText(-1, kMicrosecondsPerDay), "1969-12-31 23:59:59.999999");
  // Far from any calendar.
  EXPECT_EQ(TimestampText(INT64_MIN, kSecondsPerDay), "-292277022657-01-27 08:29:52");
  EXPECT_EQ(TimestampText(INT64_MAX, kSecondsPerDay), "292277026596-12-04 15:30:07");
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
  const std::string finer = "it is finer than its unit; unit=",
                    keeps = " after the field keeps all of it";
  EXPECT_EQ(Problem("2024-01-31 12:00:05.5"), finer + "us" + keeps);
  EXPECT_EQ(Problem("2024-01-31 12:00:05.0001", 1000), finer + "us" + keeps);
  EXPECT_EQ(Problem("2024-01-31 12:00:05.0000001", 1000), finer + "ns" + keeps);
  EXPECT_EQ(Problem("2024-01-31 12:00:05.0000000001"),
            "it has more than nine digits after the point");
  for (const char* const text :
       {"2262-04-11 23:47:16.854775808", "1677-09-21 00:12:43.145224191"}) {
    EXPECT_EQ(Problem(text, kNanoseconds),
              "an int64 does not reach that far in this unit; unit=us after the field does")
        << text;
  }
}

TEST(Timestamp, CountsDays) {
  const auto days = [](const std::string& text) {
    int64_t ticks = -12345;
    const char* const problem = ParseTimestamp(text, "", 1, &ticks);
    return problem == nullptr ? std::to_string(ticks) : problem;
  };
  EXPECT_EQ(days("1970-01-01"), "0");
  EXPECT_EQ(days("1969-12-31"), "-1");
  EXPECT_EQ(days("0001-01-01"), "-719162");
  EXPECT_EQ(days("2024-01-31 00:00:00.000000Z"), "19753");
  EXPECT_EQ(days("2024-01-31 01:00+01:00"), "19753");
  for (const char* const text : {"2024-01-31 12:00", "1969-12-31 00:00:00.000001"}) {
    EXPECT_EQ(days(text), "it is finer than its unit; unit=us after the field keeps all of it");
  }
}

TEST(TimestampFormat, ReadsWhatItTells) {
  struct Case {
    const char* format;
    const char* text;
    const char* means;  // in a form that needs no format
  };
  for (const Case& item : std::vector<Case>{
           {"%m/%d/%Y %I:%M %p", "11/15/2019 9:05 AM", "2019-11-15 09:05"},
           {"%m/%d/%Y %I:%M %p", "1/5/2019 12:00 am", "2019-01-05 00:00"},
           {"%m/%d/%Y %I:%M %p", "11/15/2019 12:30 PM", "2019-11-15 12:30"},
           {"%p%I %Y%m%d", "pm11 20240229", "2024-02-29 23:00"},
           {"%d.%m.%Y", "31.01.2024", "2024-01-31"},
           {"%d.%m.%y %H:%M:%S", "1.2.68 3:4:5", "2068-02-01 03:04:05"},
           {"%y%m%d", "690101", "1969-01-01"},
           {"%d %b %Y", "5 jan 2001", "2001-01-05"},
           {"%b %d %H:%M:%S %Y", "May  5 01:02:03   2001", "2001-05-05 01:02:03"},
           {"%B %d, %Y", "DECEMBER 31, 1999", "1999-12-31"},
           {"%Y%m%dT%H%M%S.%f%z", "20240131T120005.000+0130", "2024-01-31 12:00:05+01:30"},
           {"%d/%b/%Y:%H:%M:%S %z", "31/Jan/2024:12:00:05 -0800", "2024-01-31 12:00:05-08"},
           {"%z %Y-%m-%d", "Z 2024-01-31", "2024-01-31"},
           {"%z%Y-%m-%d", "UTC2024-01-31", "2024-01-31"},
           {"%Y%% %m%%%d  %H", "2024% 01%31   7", "2024-01-31 07:00"},
       }) {
    CheckTimeFormat(item.format);
    EXPECT_EQ(TicksBy(item.format, item.text), Ticks(item.means)) << item.text;
  }
  EXPECT_EQ(TicksBy("%Y%m%d.%f", "19700101.25", 1000), 250);
  EXPECT_EQ(TicksBy("%f %Y%m%d", "123456789 19700101", kNanoseconds), 123456789);
}

TEST(TimestampFormat, AgreesWithTheLibraryOnDays) {
  char text[64];
  for (const char* const format : {"%m/%d/%Y %I:%M:%S %p", "%d %B %Y %H:%M:%S", "%b %d %y, %T"}) {
    std::string own = format;
    if (own.back() == 'T') own.replace(own.size() - 2, 2, "%H:%M:%S");
    CheckTimeFormat(own);
    for (int64_t seconds = -31'536'000; seconds < 3'000'000'000; seconds += 1'234'567) {
      const time_t time = seconds;
      std::tm fields{};
      ASSERT_NE(gmtime_r(&time, &fields), nullptr);
      ASSERT_NE(std::strftime(text, sizeof(text), format, &fields), 0u);
      ASSERT_EQ(TicksBy(own, text), seconds) << text;
    }
  }
}

TEST(TimestampFormat, RefusesTextsOfAnotherForm) {
  for (const auto& [format, text] : std::vector<std::pair<std::string, std::string>>{
           {"%Y-%m-%d", ""},
           {"%Y-%m-%d", "2024-01"},
           {"%Y-%m-%d", "2024-01-"},
           {"%Y-%m-%d", "2024-01-311"},
           {"%Y-%m-%d", "2024-01-31 "},
           {"%Y-%m-%d", " 2024-01-31"},
           {"%Y-%m-%d", "24-01-31"},
           {"%Y-%m-%d", "2024/01/31"},
           {"%Y-%m-%d", "2024- 1-31"},
           {"%Y-%m-%d", "2024-+1-31"},
           {"%y-%m-%d", "2024-01-31"},
           {"%Y %m  %d", "2024 01 31"},
           {"%Y %m%d", "20240131"},
           {"%d %b %Y", "5 Jän 2001"},
           {"%d %b %Y", "5 January 2001"},
           {"%d %B %Y", "5 Jan 2001"},
           {"%d %B %Y", "5 Janu"},
           {"%Y%m%d %I%p", "20240131 9"},
           {"%Y%m%d %I%p", "20240131 9a"},
           {"%Y%m%d %I%p", "20240131 9xm"},
           {"%Y%m%d.%f", "20240131."},
           {"%Y%m%d%z", "20240131"},
           {"%Y%m%d%z", "20240131+1"},
           {"%Y%m%d%z", "20240131CET"},
           {"%Y%m%d%%", "20240131"},
       }) {
    EXPECT_EQ(ProblemBy(format, text), "it has another form") << format << " " << text;
  }
}

TEST(TimestampFormat, RefusesWhatIsNoPointInTime) {
  for (const char* const text : {"02/29/2023", "13/01/2023", "0/1/2023", "1/0/2023", "1/1/0000"}) {
    EXPECT_EQ(ProblemBy("%m/%d/%Y", text), "there is no such day") << text;
  }
  for (const char* const text : {"0:00 AM", "13:00 PM", "1:60 AM"}) {
    EXPECT_EQ(ProblemBy("%Y%m%d %I:%M %p", std::string("20240131 ") + text),
              "there is no such time of day")
        << text;
  }
  for (const char* const text : {"24:00:00", "23:59:60"}) {
    EXPECT_EQ(ProblemBy("%Y%m%d %H:%M:%S", std::string("20240131 ") + text),
              "there is no such time of day")
        << text;
  }
  EXPECT_EQ(ProblemBy("%Y%m%d%z", "20240131+24"), "there is no such time zone");
  EXPECT_EQ(ProblemBy("%Y%m%d.%f", "20240131.0000000001"),
            "it has more than nine digits after the point");
  EXPECT_EQ(ProblemBy("%Y%m%d.%f", "20240131.5").rfind("it is finer than its unit", 0), 0u);
}

TEST(TimestampFormat, IsChecked) {
  for (const auto& [format, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "format=: it needs a year"},
           {"%Y-%m",
            "it needs a year (%Y, or %y of two digits), a month (%m, or the name %b or "
            "%B) and a day (%d)"},
           {"%H:%M", "it needs a year"},
           {"%d%m%%Y", "it needs a year"},
           {"%Y-%m-%d %A", "there is no %A; there are %Y %y %m %b %B %d %H %I %M %S %f %p %z and"},
           {"%Y-%m-%d%", "there is no %; there are"},
           {"%Y-%m-%d%\n", "there is no %\\n; there are"},
           {"%Y-%m-%d %b", "%b tells what is told before"},
           {"%Y-%m-%d %I%H%p", "%H tells what is told before"},
           {"%Y-%m-%d %I", "%I (1 to 12) and %p (AM or PM) need each other"},
           {"%Y-%m-%d %H %p", "%I (1 to 12) and %p (AM or PM) need each other"},
       }) {
    ExpectError(ErrorCode::kInvalidArgument, problem,
                [&, &format = format] { CheckTimeFormat(format); });
  }
}

}  // namespace
}  // namespace millhopper
