// SPDX-License-Identifier: Apache-2.0
// Whether numbers give back the texts that they are read from.
#ifndef MILLHOPPER_READERS_FIELDS_NUMBER_TEXT_H_
#define MILLHOPPER_READERS_FIELDS_NUMBER_TEXT_H_

#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

namespace millhopper {

// Whether digits follow a leading zero: "007" is rather a name of something than the number 7.
inline bool HasLeadingZero(std::string_view number) {
  if (!number.empty() && (number[0] == '-' || number[0] == '+')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

// What a type of floats always gives back.
struct FloatLimits {
  size_t digits = std::numeric_limits<double>::digits10;
  double least = std::numeric_limits<double>::min();  // below it there are fewer
};

bool KeepsAllDigits(std::string_view text, double number, const FloatLimits& limits);
// Whether a float of these limits that was read from a text gives back all of its digits. It does
// not if it is 0 and they are not.
inline bool KeepsDigits(std::string_view text, double number, const FloatLimits& limits = {}) {
  return (text.size() <= limits.digits && std::abs(number) >= limits.least) ||
         KeepsAllDigits(text, number, limits);
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_NUMBER_TEXT_H_
