// SPDX-License-Identifier: Apache-2.0
// CRC-32C against published values, and both ways to compute it against each other.
#include "readers/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace millhopper {
namespace {

TEST(Crc32c, GivesThePublishedValues) {
  // RFC 3720, B.4, and the customary check value.
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0').data(), 32), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43U);
  EXPECT_EQ(Crc32c("", 0), 0U);
}

TEST(Crc32c, IsTheSameFromTheTableForEveryLengthAndAlignment) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(i * 37 + 11);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; begin + size <= bytes.size(); ++size) {
      EXPECT_EQ(Crc32c(bytes.data() + begin, size), Crc32cByTable(bytes.data() + begin, size));
    }
  }
}

TEST(Crc32c, IsMaskedAsSnappyStoresIt) {
  // The block of the lineage's golden file: 100 times 'x' as one record.
  const std::string block = std::string("\x64\0\0\0", 4) + std::string(100, 'x');
  EXPECT_EQ(MaskedCrc32c(block.data(), block.size()), 0x6f2c4aa5U);
}

}  // namespace
}  // namespace millhopper
