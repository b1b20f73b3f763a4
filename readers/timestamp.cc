// SPDX-License-Identifier: Apache-2.0
#include "readers/timestamp.h"

#include <cstddef>

namespace millhopper {
namespace {

constexpr int64_t kSecondsPerDay = 86400;
constexpr char kForms[] =
    "it is none of the forms 2024-01-31, 2024-01-31 12:00:05.5 and 2024-01-31T12:00:05+01:00";

// What has not been read yet.
class Text {
 public:
  explicit Text(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }
  bool IsAt(char c) const { return !rest_.empty() && rest_.front() == c; }

  bool Take(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // A number of exactly so many digits.
  bool TakeNumber(size_t digits, int64_t* number) {
    if (rest_.size() < digits) return false;
    *number = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (!IsDigit(rest_[i])) return false;
      *number = 10 * *number + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }

  bool TakeDigit(int64_t* digit) { return TakeNumber(1, digit); }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  std::string_view rest_;
};

bool IsLeapYear(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int64_t DaysOfMonth(int64_t year, int64_t month) {
  static constexpr int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[month - 1] + (month == 2 && IsLeapYear(year) ? 1 : 0);
}

// From 0001-01-01 to the first day of a year.
int64_t DaysBefore(int64_t year) {
  const int64_t years = year - 1;
  return 365 * years + years / 4 - years / 100 + years / 400;
}

// From 1970-01-01 on.
const char* TakeDay(Text* text, int64_t* days) {
  int64_t year, month, day;
  if (!text->TakeNumber(4, &year) || !text->Take("-") || !text->TakeNumber(2, &month) ||
      !text->Take("-") || !text->TakeNumber(2, &day)) {
    return kForms;
  }
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > DaysOfMonth(year, month)) {
    return "there is no such day";
  }
  *days = DaysBefore(year) - DaysBefore(1970) + day - 1;
  for (int64_t before = 1; before < month; ++before) *days += DaysOfMonth(year, before);
  return nullptr;
}

// Of the seconds of the day, and of the nanoseconds in the last of them.
const char* TakeTimeOfDay(Text* text, int64_t* seconds, int64_t* nanoseconds) {
  int64_t hour, minute, second = 0;
  if (!text->TakeNumber(2, &hour) || !text->Take(":") || !text->TakeNumber(2, &minute)) {
    return kForms;
  }
  if (text->Take(":")) {
    if (!text->TakeNumber(2, &second)) return kForms;
    if (text->Take(".")) {
      int64_t digit, scale = 100'000'000;
      if (!text->TakeDigit(&digit)) return kForms;
      do {
        if (scale == 0) return "it has more than nine digits behind the point";
        *nanoseconds += digit * scale;
        scale /= 10;
      } while (text->TakeDigit(&digit));
    }
  }
  if (hour > 23 || minute > 59 || second > 59) return "there is no such time of day";
  *seconds = 3600 * hour + 60 * minute + second;
  return nullptr;
}

// How many seconds clocks are ahead of UTC.
const char* TakeZone(Text* text, int64_t* ahead) {
  text->Take(" ");
  if (text->Take("Z") || text->Take("UTC")) return nullptr;
  const bool is_behind = text->IsAt('-');
  int64_t hours, minutes = 0;
  if (!(text->Take("+") || text->Take("-")) || !text->TakeNumber(2, &hours)) return kForms;
  const bool has_minutes = text->Take(":") || !text->is_at_end();
  if (has_minutes && !text->TakeNumber(2, &minutes)) return kForms;
  if (hours > 23 || minutes > 59) return "there is no such time zone";
  *ahead = (is_behind ? -1 : 1) * (3600 * hours + 60 * minutes);
  return nullptr;
}

// False, and *ticks is as it was, if they are more than an int64 holds.
bool ToTicks(int64_t seconds, int64_t ticks_in_last, int64_t ticks_per_second, int64_t* ticks) {
  // Of times before 1970 the first tick of a second may be out of range where the last ones are
  // not.
  if (seconds < 0) {
    ++seconds;
    ticks_in_last -= ticks_per_second;
  }
  int64_t sum;
  if (__builtin_mul_overflow(seconds, ticks_per_second, &sum) ||
      __builtin_add_overflow(sum, ticks_in_last, &sum)) {
    return false;
  }
  *ticks = sum;
  return true;
}

}  // namespace

const char* ParseTimestamp(std::string_view written, int64_t ticks_per_second, int64_t* ticks) {
  Text text(written);
  int64_t days = 0, seconds = 0, nanoseconds = 0, ahead = 0;
  const char* problem = TakeDay(&text, &days);
  if (problem != nullptr) return problem;
  if (!text.is_at_end()) {
    if (!text.Take("T") && !text.Take(" ")) return kForms;
    problem = TakeTimeOfDay(&text, &seconds, &nanoseconds);
    if (problem == nullptr && !text.is_at_end()) problem = TakeZone(&text, &ahead);
    if (problem != nullptr) return problem;
    if (!text.is_at_end()) return kForms;
  }
  const int64_t nanoseconds_per_tick = 1'000'000'000 / ticks_per_second;
  if (nanoseconds % nanoseconds_per_tick != 0) {
    return "it is finer than its unit; unit=ms, unit=us or unit=ns behind the field keeps all of "
           "it";
  }
  if (!ToTicks(days * kSecondsPerDay + seconds - ahead, nanoseconds / nanoseconds_per_tick,
               ticks_per_second, ticks)) {
    return "an int64 does not reach that far in this unit";
  }
  return nullptr;
}

}  // namespace millhopper
