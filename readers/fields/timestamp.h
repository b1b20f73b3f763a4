// SPDX-License-Identifier: Apache-2.0
// Points in time that are written as text: dates, and dates with a time of day.
#ifndef MILLHOPPER_READERS_FIELDS_TIMESTAMP_H_
#define MILLHOPPER_READERS_FIELDS_TIMESTAMP_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace millhopper {

constexpr int64_t kSecondsPerDay = 86400;
constexpr int64_t kMicrosecondsPerDay = kSecondsPerDay * 1'000'000;

// Sets *ticks to how many there have been since 1970-01-01 00:00:00 UTC, of which a day has
// `ticks_per_day`, 1 or kSecondsPerDay times a power of ten up to 10^9, and returns null; or
// returns what is wrong with the text. It has the form that the format tells (CheckTimeFormat). If
// that is "", it is "2024-01-31", or that with "T" or a space and "12:00", "12:00:05" or
// "12:00:05.123456789" after it, and after these, with or without a space, a time zone: "Z", "UTC",
// "+01", "+0100" or
// "+01:00". Without one it is UTC. There are no leap seconds. A point between two ticks is wrong:
// nothing is rounded.
const char* ParseTimestamp(std::string_view text, std::string_view format, int64_t ticks_per_day,
                           int64_t* ticks);

// A point in time in a form that ParseTimestamp reads: "2024-01-31" if its ticks are days,
// otherwise "2024-01-31 12:00:05", with the decimals of a finer tick after it. A year that has
// other than four digits, which it does not read, is as it is.
std::string TimestampText(int64_t ticks, int64_t ticks_per_day);

// Throws kInvalidArgument unless it is a format in the terms of strptime, in English whatever the
// locale: %Y has four digits, %y two (69 to 99 are of 1900), %m %d %H %I %M %S one or two, %f one
// to nine; %b is Jan, %B January, %p AM or PM, in small or capital letters; %z is a time zone as
// above, %% a percent sign. A space is one or more, and all else is itself. The day must be told,
// and nothing twice.
void CheckTimeFormat(const std::string& format);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_TIMESTAMP_H_
