// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/number_text.h"

#include <charconv>
#include <cstddef>
#include <string>

namespace millhopper {
namespace {

// The digits of a number from the first to the last that is not 0, up to its exponent.
std::string SignificantDigits(std::string_view number) {
  std::string digits;
  for (const char c : number) {
    if ((c | 0x20) == 'e') break;
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits.push_back(c);
  }
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

}  // namespace

bool KeepsDigits(std::string_view text, double number) {
  constexpr size_t kAlwaysKept = 15, kMostDigits = 100;
  const std::string digits = SignificantDigits(text);
  if (digits.size() <= kAlwaysKept) return true;
  if (digits.size() > kMostDigits) return false;
  char again[kMostDigits + 16];
  const auto written =
      std::to_chars(again, again + sizeof(again), number, std::chars_format::scientific,
                    static_cast<int>(digits.size()) - 1);
  return SignificantDigits({again, static_cast<size_t>(written.ptr - again)}) == digits;
}

}  // namespace millhopper
