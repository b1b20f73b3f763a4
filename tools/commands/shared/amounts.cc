// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/amounts.h"

#include <cctype>
#include <cstdio>
#include <iterator>
#include <map>

#include "framework/base/error.h"

namespace millhopper {

uint64_t ParseBytes(const std::string& flag, const std::string& text) {
  static const std::map<std::string, uint64_t> kUnits = {
      {"", 1},          {"B", 1},         {"kB", 1000},
      {"KB", 1000},     {"MB", 1000000},  {"GB", 1000000000},
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  size_t digits = 0;
  uint64_t number = 0;
  bool fits = true;
  for (; digits < text.size() && isdigit(static_cast<unsigned char>(text[digits])); ++digits) {
    fits = fits && !__builtin_mul_overflow(number, uint64_t{10}, &number) &&
           !__builtin_add_overflow(number, static_cast<uint64_t>(text[digits] - '0'), &number);
  }
  const auto unit = kUnits.find(text.substr(digits));
  if (digits == 0 || unit == kUnits.end() || !fits ||
      __builtin_mul_overflow(number, unit->second, &number)) {
    Throw(ErrorCode::kInvalidArgument, "--", flag, "=", text,
          ": not a number of bytes, such as 4096, 64MB or 64MiB");
  }
  return number;
}

std::string WithCommas(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

std::string Counted(uint64_t number, const char* what) {
  return StrCat(WithCommas(number), " ", what, number == 1 ? "" : "s");
}

std::string HumanBytes(double bytes) {
  static const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  char text[32];
  snprintf(text, sizeof(text), unit == 0 || bytes >= 99.5 ? "%.0f %s" : "%.1f %s", bytes,
           kUnits[unit]);
  return text;
}

}  // namespace millhopper
