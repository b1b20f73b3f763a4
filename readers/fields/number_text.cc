// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/number_text.h"

#include <charconv>
#include <cstring>

namespace millhopper {
namespace {

constexpr size_t kMostDigits = 100;

// Puts the digits of a number from the first to the last that is not 0, up to its exponent. Returns
// how many there are; more than kMostDigits if there are more.
size_t PutSignificantDigits(std::string_view number, char (&digits)[kMostDigits]) {
  size_t count = 0, zeros = 0;  // which belong to them if another digit comes
  for (const char c : number) {
    if ((c | 0x20) == 'e') break;
    if (c < '0' || c > '9') continue;
    if (c == '0') {
      zeros += count > 0 ? 1 : 0;
      continue;
    }
    if (count + zeros >= kMostDigits) return kMostDigits + 1;
    for (; zeros > 0; --zeros) digits[count++] = '0';
    digits[count++] = c;
  }
  return count;
}

}  // namespace

bool KeepsAllDigits(std::string_view text, double number, const FloatLimits& limits) {
  char digits[kMostDigits], kept[kMostDigits];
  const size_t count = PutSignificantDigits(text, digits);
  if (count == 0) return true;
  if (count <= limits.digits && std::abs(number) >= limits.least) return true;
  if (count > kMostDigits) return false;
  char again[kMostDigits + 16];
  const auto written = std::to_chars(again, again + sizeof(again), number,
                                     std::chars_format::scientific, static_cast<int>(count) - 1);
  return PutSignificantDigits({again, static_cast<size_t>(written.ptr - again)}, kept) == count &&
         std::memcmp(digits, kept, count) == 0;
}

}  // namespace millhopper
