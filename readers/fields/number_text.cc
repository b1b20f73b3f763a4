// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/number_text.h"

#include <array>
#include <charconv>
#include <cstdint>
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

// Sets *digits and *places to those of digits / 10^places, as a number is written. False with an
// exponent, or of too many digits.
bool CutDecimal(std::string_view number, uint64_t* digits, int* places) {
  constexpr size_t kMostBytes = 19;  // which an integer holds if all are digits
  const char* here = number.data();
  const char* const end = here + number.size();
  const auto add_digits = [&] {
    for (; here < end && *here >= '0' && *here <= '9'; ++here) {
      *digits = 10 * *digits + static_cast<uint64_t>(*here - '0');
    }
  };
  if (here < end && (*here == '-' || *here == '+')) ++here;
  const size_t first = number.find_first_not_of("0.", static_cast<size_t>(here - number.data()));
  if (first == std::string_view::npos || number.size() - first > kMostBytes) return false;
  *digits = 0;
  add_digits();
  if (here < end && *here == '.') ++here;
  const char* const point = here;
  add_digits();
  *places = static_cast<int>(here - point);
  return here == end;
}

constexpr int kMostPlaces = 27;  // 64 bits hold no higher power of 5
constexpr std::array<uint64_t, kMostPlaces + 1> kPowersOf5 = [] {
  std::array<uint64_t, kMostPlaces + 1> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = 5 * powers[i - 1];
  return powers;
}();

// Whether a number is less than half a unit of the last place away from digits / 10^places, which
// is then what it is rounded to. False if that is not known at once: this takes a tenth of the time
// of writing it.
bool IsWithinHalfAUnit(double number, uint64_t digits, int places) {
  constexpr int kMantissaBits = 52, kBias = 1075;
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  const auto exponent = static_cast<int>(bits >> kMantissaBits & 0x7ff);
  const uint64_t one = uint64_t{1} << kMantissaBits;
  const uint64_t mantissa = (bits & (one - 1)) | one;
  // The number is mantissa / 2^(kBias - exponent); both are compared in units of that, times
  // 10^places, without the factors of 2 that they share.
  const int shift = kBias - exponent - places;
  if (places > kMostPlaces || exponent == 0 || shift < 1 || shift > 63) return false;
  using Wide = unsigned __int128;
  const Wide read = Wide{mantissa} * kPowersOf5[static_cast<size_t>(places)];
  const Wide written = Wide{digits} << shift;
  const Wide gap = read > written ? read - written : written - read;
  return gap < Wide{1} << (shift - 1);
}

}  // namespace

bool KeepsAllDigits(std::string_view text, double number, const FloatLimits& limits) {
  uint64_t whole = 0;
  int places = 0;
  if (CutDecimal(text, &whole, &places) && IsWithinHalfAUnit(number, whole, places)) return true;
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
