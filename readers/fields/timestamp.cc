// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/timestamp.h"

#include <cstddef>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;  // of a second
constexpr int64_t kNanosecondsPerMicrosecond = 1000;
constexpr char kNoOwnForm[] =
    "it is none of the forms 2024-01-31, 2024-01-31 12:00:05.5 and 2024-01-31T12:00:05+01:00; "
    "format= after the field tells another one, such as format=%d.%m.%Y";
constexpr char kOtherForm[] = "it has another form";

constexpr std::string_view kMonths[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};

// A point in time as it is written.
struct Moment {
  int64_t year = 0, month = 0, day = 0;
  int64_t hour = 0, minute = 0, second = 0, nanosecond = 0;
  int64_t half = -1;  // of the day, 0 or 1, if the hour is one of 1 to 12
  int64_t ahead = 0;  // how many seconds the clock is ahead of UTC
};

// The numbers of one or two digits in a format.
constexpr std::pair<char, int64_t Moment::*> kNumbers[] = {
    {'m', &Moment::month}, {'d', &Moment::day},    {'H', &Moment::hour},
    {'I', &Moment::hour},  {'M', &Moment::minute}, {'S', &Moment::second}};

// What has not been read yet.
class Text {
 public:
  // `other_form` is what is wrong with a text that continues in another form than it should.
  Text(std::string_view text, const char* other_form) : rest_(text), other_form_(other_form) {}

  const char* other_form() const { return other_form_; }
  bool is_at_end() const { return rest_.empty(); }
  bool IsAt(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool IsAtDigit() const { return !rest_.empty() && IsDigit(rest_.front()); }

  bool Take(char c) {
    if (!IsAt(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Take(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // The same for a word of small letters, written in small or capital ones.
  bool TakeLetters(std::string_view word) {
    if (rest_.size() < word.size()) return false;
    for (size_t i = 0; i < word.size(); ++i) {
      if ((rest_[i] | 0x20) != word[i]) return false;
    }
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
  bool TakeOneOrTwoDigits(int64_t* number) { return TakeNumber(2, number) || TakeDigit(number); }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  std::string_view rest_;
  const char* const other_form_;
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

// The functions that take a part of a text return null, or what is wrong with it.

// The digits after the point of seconds.
const char* TakeFraction(Text* text, int64_t* nanosecond) {
  int64_t digit, scale = 100'000'000;
  if (!text->TakeDigit(&digit)) return text->other_form();
  do {
    if (scale == 0) return "it has more than nine digits after the point";
    *nanosecond += digit * scale;
    scale /= 10;
  } while (text->TakeDigit(&digit));
  return nullptr;
}

const char* TakeZone(Text* text, int64_t* ahead) {
  if (text->Take('Z') || text->Take("UTC")) return nullptr;
  const bool is_behind = text->IsAt('-');
  int64_t hours, minutes = 0;
  if (!(text->Take('+') || text->Take('-')) || !text->TakeNumber(2, &hours)) {
    return text->other_form();
  }
  const bool has_minutes = text->Take(':') || text->IsAtDigit();
  if (has_minutes && !text->TakeNumber(2, &minutes)) return text->other_form();
  if (hours > 23 || minutes > 59) return "there is no such time zone";
  *ahead = (is_behind ? -1 : 1) * (3600 * hours + 60 * minutes);
  return nullptr;
}

const char* TakeOwnForm(Text* text, Moment* moment) {
  if (!text->TakeNumber(4, &moment->year) || !text->Take('-') ||
      !text->TakeNumber(2, &moment->month) || !text->Take('-') ||
      !text->TakeNumber(2, &moment->day)) {
    return text->other_form();
  }
  if (text->is_at_end()) return nullptr;
  if (!(text->Take('T') || text->Take(' ')) || !text->TakeNumber(2, &moment->hour) ||
      !text->Take(':') || !text->TakeNumber(2, &moment->minute)) {
    return text->other_form();
  }
  if (text->Take(':')) {
    if (!text->TakeNumber(2, &moment->second)) return text->other_form();
    const char* const problem = text->Take('.') ? TakeFraction(text, &moment->nanosecond) : nullptr;
    if (problem != nullptr) return problem;
  }
  if (text->is_at_end()) return nullptr;
  text->Take(' ');
  return TakeZone(text, &moment->ahead);
}

// `letters` is how many of a month's name are written.
bool TakeMonth(size_t letters, Text* text, int64_t* month) {
  for (const std::string_view name : kMonths) {
    ++*month;
    if (text->TakeLetters(name.substr(0, letters))) return true;
  }
  return false;
}

bool TakeHalf(Text* text, int64_t* half) {
  *half = text->TakeLetters("am") ? 0 : 1;
  return *half == 0 || text->TakeLetters("pm");
}

bool TakeShortYear(Text* text, int64_t* year) {
  if (!text->TakeNumber(2, year)) return false;
  *year += *year < 69 ? 2000 : 1900;  // as POSIX has it
  return true;
}

// What stands for a % and this letter, which is not that of a fraction or a zone. False if it is
// something else.
bool TakePart(char letter, Text* text, Moment* moment) {
  for (const auto& [known, number] : kNumbers) {
    if (letter == known) return text->TakeOneOrTwoDigits(&(moment->*number));
  }
  if (letter == 'Y') return text->TakeNumber(4, &moment->year);
  if (letter == 'y') return TakeShortYear(text, &moment->year);
  if (letter == 'b') return TakeMonth(3, text, &moment->month);
  if (letter == 'B') return TakeMonth(std::string_view::npos, text, &moment->month);
  return letter == 'p' ? TakeHalf(text, &moment->half) : text->Take('%');
}

const char* TakeDirective(char letter, Text* text, Moment* moment) {
  if (letter == 'f') return TakeFraction(text, &moment->nanosecond);
  if (letter == 'z') return TakeZone(text, &moment->ahead);
  return TakePart(letter, text, moment) ? nullptr : text->other_form();
}

const char* TakeFormat(std::string_view format, Text* text, Moment* moment) {
  for (; !format.empty(); format.remove_prefix(1)) {
    const std::string_view c = format.substr(0, 1);
    const char* problem = nullptr;
    if (c == "%") {
      format.remove_prefix(1);
      problem = TakeDirective(format.front(), text, moment);
    } else if (!text->Take(c)) {
      problem = text->other_form();
    }
    if (problem != nullptr) return problem;
    while (c == " " && format.substr(1, 1) != c && text->Take(c)) {
    }
  }
  return nullptr;
}

// In seconds since 1970-01-01 UTC, without the nanoseconds.
const char* CountSeconds(const Moment& moment, int64_t* seconds) {
  const int64_t year = moment.year, month = moment.month, day = moment.day;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > DaysOfMonth(year, month)) {
    return "there is no such day";
  }
  int64_t days = DaysBefore(year) - DaysBefore(1970) + day - 1;
  for (int64_t before = 1; before < month; ++before) days += DaysOfMonth(year, before);
  int64_t hour = moment.hour;
  if (moment.half >= 0) {
    if (hour < 1 || hour > 12) return "there is no such time of day";
    hour = hour % 12 + 12 * moment.half;
  }
  if (hour > 23 || moment.minute > 59 || moment.second > 59) return "there is no such time of day";
  *seconds =
      kSecondsPerDay * days + 3600 * hour + 60 * moment.minute + moment.second - moment.ahead;
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

std::string WithZeros(int64_t number, size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

// Of so many days since 0001-01-01.
std::string DateText(int64_t days) {
  constexpr int64_t kYears = 400;  // after which the calendar begins again
  const int64_t cycle = DaysBefore(kYears + 1);
  int64_t cycles = days / cycle, rest = days % cycle;
  if (rest < 0) {
    rest += cycle;
    --cycles;
  }
  int64_t year = rest / 365 + 1, month = 1;
  while (DaysBefore(year) > rest) --year;
  rest -= DaysBefore(year);
  while (rest >= DaysOfMonth(year, month)) rest -= DaysOfMonth(year, month++);
  return StrCat(WithZeros(year + kYears * cycles, 4), "-", WithZeros(month, 2), "-",
                WithZeros(rest + 1, 2));
}

}  // namespace

void CheckTimeFormat(const std::string& format) {
  static constexpr std::string_view kLetters = "YymbBdHIMSfpz";
  static constexpr std::string_view kParts = "YYmmmdHHMSfpz";  // what each of them tells
  const std::string named = StrCat("format=", Escaped(format), ": ");
  std::string letters, parts;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    const std::string letter = format.substr(++i, 1);
    if (letter == "%") continue;
    const size_t known = letter.empty() ? kLetters.npos : kLetters.find(letter);
    Require(known != kLetters.npos, named, "there is no %", Escaped(letter),
            "; there are %Y %y %m %b %B %d %H %I %M %S %f %p %z and %%");
    Require(parts.find(kParts[known]) == parts.npos, named, "%", letter,
            " tells what is told before");
    letters += letter;
    parts += kParts[known];
  }
  const auto tells = [&](char part) { return parts.find(part) != parts.npos; };
  Require(tells('Y') && tells('m') && tells('d'), named,
          "it needs a year (%Y, or %y of two digits), a month (%m, or the name %b or %B) and a day "
          "(%d)");
  Require((letters.find('I') != letters.npos) == tells('p'), named,
          "%I (1 to 12) and %p (AM or PM) need each other; %H is 0 to 23");
}

const char* ParseTimestamp(std::string_view written, std::string_view format, int64_t ticks_per_day,
                           int64_t* ticks) {
  Text text(written, format.empty() ? kNoOwnForm : kOtherForm);
  Moment moment;
  const char* problem =
      format.empty() ? TakeOwnForm(&text, &moment) : TakeFormat(format, &text, &moment);
  if (problem == nullptr && !text.is_at_end()) problem = text.other_form();
  int64_t seconds;
  if (problem == nullptr) problem = CountSeconds(moment, &seconds);
  if (problem != nullptr) return problem;
  const bool is_day = ticks_per_day < kSecondsPerDay;
  const int64_t ticks_per_second = is_day ? 1 : ticks_per_day / kSecondsPerDay;
  const int64_t nanoseconds_per_tick = kNanoseconds / ticks_per_second;
  if (moment.nanosecond % nanoseconds_per_tick != 0 || (is_day && seconds % kSecondsPerDay != 0)) {
    return moment.nanosecond % kNanosecondsPerMicrosecond == 0
               ? "it is finer than its unit; unit=us after the field keeps all of it"
               : "it is finer than its unit; unit=ns after the field keeps all of it";
  }
  if (is_day) {
    *ticks = seconds / kSecondsPerDay;
  } else if (!ToTicks(seconds, moment.nanosecond / nanoseconds_per_tick, ticks_per_second, ticks)) {
    return "an int64 does not reach that far in this unit; unit=us after the field does";
  }
  return nullptr;
}

std::string TimestampText(int64_t ticks, int64_t ticks_per_day) {
  int64_t day = ticks / ticks_per_day, rest = ticks % ticks_per_day;
  if (rest < 0) {
    rest += ticks_per_day;
    --day;
  }
  std::string text = DateText(day + DaysBefore(1970));
  if (ticks_per_day == 1) return text;
  const int64_t ticks_per_second = ticks_per_day / kSecondsPerDay;
  const int64_t second = rest / ticks_per_second;
  text += StrCat(" ", WithZeros(second / 3600, 2), ":", WithZeros(second / 60 % 60, 2), ":",
                 WithZeros(second % 60, 2));
  const size_t decimals = std::to_string(ticks_per_second).size() - 1;
  if (decimals > 0) text += StrCat(".", WithZeros(rest % ticks_per_second, decimals));
  return text;
}

}  // namespace millhopper
