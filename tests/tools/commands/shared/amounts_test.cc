// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/amounts.h"

#include <gtest/gtest.h>

#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(ParseBytes, KnowsUnits) {
  EXPECT_EQ(ParseBytes("size", "0"), 0u);
  EXPECT_EQ(ParseBytes("size", "4096"), 4096u);
  EXPECT_EQ(ParseBytes("size", "7B"), 7u);
  EXPECT_EQ(ParseBytes("size", "64kB"), 64000u);
  EXPECT_EQ(ParseBytes("size", "64MB"), 64000000u);
  EXPECT_EQ(ParseBytes("size", "2GB"), 2000000000u);
  EXPECT_EQ(ParseBytes("size", "64KiB"), 65536u);
  EXPECT_EQ(ParseBytes("size", "64MiB"), 67108864u);
  EXPECT_EQ(ParseBytes("size", "2GiB"), 2147483648u);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "MB", "-1", "1.5MB", "64 MB", "64mb", "64TB", "0x10",
                           "18446744073709551616", "18446744073709551615kB"}) {
    ExpectError(ErrorCode::kInvalidArgument, "--size=", [text] { ParseBytes("size", text); });
  }
}

TEST(WithCommas, GroupsDigits) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(12345678), "12,345,678");
}

TEST(HumanBytes, HasTwoOrThreeDigits) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1000), "1.0 kB");
  EXPECT_EQ(HumanBytes(3440000), "3.4 MB");
  EXPECT_EQ(HumanBytes(123456789), "123 MB");
}

}  // namespace
}  // namespace millhopper
