// SPDX-License-Identifier: Apache-2.0
// Numbers that give back the texts that they are read from, against what the C library writes.
#include "readers/fields/number_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace millhopper {
namespace {

// The digits of a number from the first to the last that is not 0.
std::string DigitsOf(const std::string& number) {
  std::string digits;
  for (const char c : number) {
    if ((c | 0x20) == 'e') break;
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
  }
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

// Whether a float64 that is written with as many digits as a text has is written so.
bool IsWrittenSo(const std::string& text) {
  const std::string digits = DigitsOf(text);
  const double number = std::strtod(text.c_str(), nullptr);
  char written[128];
  std::snprintf(written, sizeof(written), "%.*e",
                static_cast<int>(std::max<size_t>(digits.size(), 1)) - 1, number);
  return DigitsOf(written) == digits;
}

bool Keeps(const std::string& text) {
  return KeepsDigits(text, std::strtod(text.c_str(), nullptr));
}

TEST(NumberText, KeepsDigitsAsTheyAreWritten) {
  std::mt19937_64 draw(1);
  size_t kept = 0, lost = 0;
  for (int i = 0; i < 300000; ++i) {
    // A float64 that is written, and digits that are drawn.
    const auto digits = static_cast<int>(draw() % 20);
    const double scale = std::pow(10.0, static_cast<int>(draw() % 24) - 12);
    char text[128];
    if (draw() % 2 == 0) {
      const double value = scale * (static_cast<double>(draw()) / 0x1p64 - 0.5);
      std::snprintf(text, sizeof(text), draw() % 4 == 0 ? "%.*e" : "%.*f", digits, value);
    } else {
      std::snprintf(text, sizeof(text), "%d.%0*llu", static_cast<int>(draw() % 20) - 10, digits,
                    static_cast<unsigned long long>(draw() >> (draw() % 40)));
    }
    const bool keeps = Keeps(text);
    ASSERT_EQ(keeps, IsWrittenSo(text)) << text;
    (keeps ? kept : lost) += 1;
  }
  EXPECT_GT(kept, 50000u);
  EXPECT_GT(lost, 50000u);
}

TEST(NumberText, KeepsDigitsAtBorders) {
  for (const char* text : {"0.1",
                           "0.30000000000000004",
                           "0.1000000000000000055",
                           "9007199254740992",
                           "9007199254740993.0",
                           "4503599627370496.5",
                           "4503599627370497.5",
                           "0.99999999999999999",
                           "1.0000000000000002",
                           "1.0000000000000001",
                           "0.000000000000000000000000001",
                           "0.00000000000000000000000000012345678901234567",
                           "18446744073709551615",
                           "18446744073709551616",
                           "184467440737095516160.5",
                           "-0.12345678901234566",
                           "0.12345678901234567",
                           "123456789.12345678",
                           "8.999999999999999",
                           "0.5000000000000000000"}) {
    EXPECT_EQ(Keeps(text), IsWrittenSo(text)) << text;
  }
  EXPECT_FALSE(KeepsDigits("1e-400", 0));
  EXPECT_TRUE(KeepsDigits("0.00000000000000000000", 0));
}

}  // namespace
}  // namespace millhopper
