// SPDX-License-Identifier: Apache-2.0
// Points in time that are written as text: dates, and dates with a time of day.
#ifndef MILLHOPPER_READERS_TIMESTAMP_H_
#define MILLHOPPER_READERS_TIMESTAMP_H_

#include <cstdint>
#include <string_view>

namespace millhopper {

// Sets *ticks to how many there have been since 1970-01-01 00:00:00 UTC, of which a second has
// `ticks_per_second`, a power of ten up to 10^9, and returns null; or returns what is wrong with
// the text. It is "2024-01-31", or that with "T" or a space and "12:00", "12:00:05" or
// "12:00:05.123456789" behind it, and behind these, with or without a space, "Z", "UTC", "+01",
// "+0100" or "+01:00". Without one of them it is UTC. There are no leap seconds. A point between
// two ticks is wrong: nothing is rounded.
const char* ParseTimestamp(std::string_view text, int64_t ticks_per_second, int64_t* ticks);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_TIMESTAMP_H_
