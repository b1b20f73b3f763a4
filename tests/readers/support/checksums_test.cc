// SPDX-License-Identifier: Apache-2.0
// Checksums against published values, and against a computation bit by bit.
#include "readers/support/checksums.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millhopper {
namespace {

// The checksum by its definition.
uint32_t BitByBit(uint32_t reversed_polynomial, const char* bytes, size_t size) {
  uint32_t crc = 0xffffffffU;
  for (size_t i = 0; i < size; ++i) {
    crc ^= static_cast<uint8_t>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1) != 0 ? reversed_polynomial : 0);
    }
  }
  return ~crc;
}

TEST(Checksums, GiveThePublishedValues) {
  // The customary check value, and RFC 3720, B.4.
  EXPECT_EQ(Crc32("123456789", 9), 0xcbf43926U);
  EXPECT_EQ(Crc32("", 0), 0U);
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0').data(), 32), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43U);
  EXPECT_EQ(Crc32c("", 0), 0U);
}

// Each range lies in memory of its exact size, so that a sanitizer sees a read beyond it.
TEST(Checksums, AreRightForEveryLengthAndAlignment) {
  std::string bytes;
  for (int i = 0; i < 600; ++i) bytes += static_cast<char>(i * 37 + i / 7);
  for (size_t begin = 0; begin < 17; ++begin) {
    for (size_t size = 0; begin + size <= bytes.size(); size += size < 300 ? 1 : 13) {
      const std::vector<char> exact(bytes.begin(), bytes.begin() + begin + size);
      const char* const range = exact.data() + begin;
      ASSERT_EQ(Crc32(range, size), BitByBit(0xedb88320U, range, size)) << begin << " " << size;
      ASSERT_EQ(Crc32c(range, size), BitByBit(0x82f63b78U, range, size)) << begin << " " << size;
    }
  }
}

TEST(Checksums, AreMaskedAsSnappyStoresThem) {
  // The block of the lineage's golden file: 100 times 'x' as one record.
  const std::string block = std::string("\x64\0\0\0", 4) + std::string(100, 'x');
  EXPECT_EQ(MaskedCrc32c(block.data(), block.size()), 0x6f2c4aa5U);
}

}  // namespace
}  // namespace millhopper
