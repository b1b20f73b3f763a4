// SPDX-License-Identifier: Apache-2.0
// Numbers as Parquet packs them, compared with a packer that writes bit by bit. All bytes lie in
// memory of their exact size, so that a sanitizer sees an access beyond it.
#include "readers/support/packed_numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace millhopper {
namespace {

using Numbers = std::vector<uint32_t>;
using Bytes = std::vector<uint8_t>;

void AddVarint(uint32_t number, Bytes* out) {
  for (; number >= 0x80; number >>= 7) out->push_back(static_cast<uint8_t>(number | 0x80));
  out->push_back(static_cast<uint8_t>(number));
}

void AddRun(uint32_t number, uint32_t count, uint32_t bits, Bytes* out) {
  AddVarint(count << 1, out);
  for (uint32_t i = 0; i < (bits + 7) / 8; ++i) {
    out->push_back(static_cast<uint8_t>(number >> 8 * i));
  }
}

// The last group is filled up with zeros.
void AddPacked(const Numbers& numbers, uint32_t bits, Bytes* out) {
  const size_t groups = (numbers.size() + 7) / 8;
  AddVarint(static_cast<uint32_t>(groups << 1 | 1), out);
  Bytes packed(groups * bits);
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (uint32_t bit = 0; bit < bits; ++bit) {
      const size_t at = i * bits + bit;
      if ((numbers[i] >> bit & 1) != 0) packed[at / 8] |= static_cast<uint8_t>(1 << at % 8);
    }
  }
  out->insert(out->end(), packed.begin(), packed.end());
}

// The values at the places, of a dictionary of `size` values in which place p has 3 p + 1; nothing
// if they are refused.
std::optional<std::vector<uint64_t>> Values(const Bytes& places, uint32_t bits, size_t values,
                                            size_t size) {
  const Bytes bytes(places.begin(), places.end());
  std::vector<uint64_t> dictionary(size);
  for (size_t i = 0; i < size; ++i) dictionary[i] = 3 * i + 1;
  std::vector<uint64_t> out(values);
  if (!LookUp({bytes.data(), bytes.data() + bytes.size()}, bits, values, dictionary.data(), size,
              out.data())) {
    return std::nullopt;
  }
  return out;
}

bool AreSet(const Bytes& levels, size_t values) {
  const Bytes bytes(levels.begin(), levels.end());
  return AllAreSet({bytes.data(), bytes.data() + bytes.size()}, values);
}

TEST(PackedNumbers, AreLookedUpInADictionary) {
  std::mt19937 random(3);
  for (uint32_t bits = 0; bits <= 17; ++bits) {
    const size_t size = size_t{1} << bits;
    for (int round = 0; round < 40; ++round) {
      Bytes bytes;
      std::vector<uint64_t> wanted;
      for (int part = 0; part < 4; ++part) {
        Numbers numbers((1 + random() % 12) * (part < 3 ? 8 : 3));
        const bool run = random() % 2 == 0;
        for (uint32_t& number : numbers) number = static_cast<uint32_t>(random() % size);
        if (run) numbers.assign(numbers.size(), numbers[0]);
        run ? AddRun(numbers[0], static_cast<uint32_t>(numbers.size()), bits, &bytes)
            : AddPacked(numbers, bits, &bytes);
        for (const uint32_t number : numbers) wanted.push_back(uint64_t{3} * number + 1);
      }
      ASSERT_EQ(Values(bytes, bits, wanted.size(), size), wanted) << bits << " bits";
      // Fewer than there are.
      wanted.resize(wanted.size() - 2);
      ASSERT_EQ(Values(bytes, bits, wanted.size(), size), wanted) << bits << " bits";
    }
  }
}

// Some writers leave out the bytes of a last group that hold none of the numbers.
TEST(PackedNumbers, MayEndWithinTheLastGroup) {
  Bytes bytes;
  AddPacked({1, 2, 3}, 5, &bytes);
  ASSERT_EQ(bytes.size(), 6u);
  bytes.resize(3);
  EXPECT_EQ(Values(bytes, 5, 3, 4), (std::vector<uint64_t>{4, 7, 10}));
  Bytes two_groups = bytes;
  two_groups[0] = 2 << 1 | 1;
  EXPECT_EQ(Values(two_groups, 5, 3, 4), std::nullopt);
  bytes.resize(2);
  EXPECT_EQ(Values(bytes, 5, 3, 4), std::nullopt);
}

TEST(PackedNumbers, RefuseWhatMakesNoSense) {
  Bytes bytes;
  AddRun(5, 10, 3, &bytes);
  EXPECT_TRUE(Values(bytes, 3, 10, 6));
  EXPECT_FALSE(Values(bytes, 3, 10, 5));  // place 5 of 5
  EXPECT_FALSE(Values(bytes, 3, 11, 6));  // one more than there are
  EXPECT_FALSE(Values(bytes, 33, 10, 6));
  EXPECT_FALSE(Values({0x00, 0x01}, 3, 1, 6));  // a run of none
  EXPECT_FALSE(Values({0x01, 0x01}, 3, 1, 6));  // no group
  EXPECT_FALSE(Values({}, 3, 1, 6));
  EXPECT_FALSE(Values({0x02}, 3, 1, 6));
  EXPECT_FALSE(Values({0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 3, 1, 6));
  EXPECT_FALSE(Values({0xff, 0xff, 0xff, 0xff, 0x0f, 0x00}, 3, 1000, 6));
  EXPECT_EQ(Values({}, 3, 0, 6), std::vector<uint64_t>());
  Bytes packed;
  AddPacked({0, 1, 2, 3, 4, 5, 6, 7}, 3, &packed);
  EXPECT_TRUE(Values(packed, 3, 8, 8));
  EXPECT_FALSE(Values(packed, 3, 8, 7));
  EXPECT_TRUE(Values(packed, 3, 7, 7));
}

TEST(PackedNumbers, SurviveEveryByte) {
  std::mt19937 random(5);
  for (int round = 0; round < 50'000; ++round) {
    Bytes bytes(random() % 12);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    if (random() % 2 == 0 && !bytes.empty()) bytes[0] %= 16;
    Values(bytes, random() % 36, random() % 100, 1 + random() % 300);
    AreSet(bytes, random() % 100);
  }
}

TEST(PackedNumbers, AreAllSetOrNot) {
  for (const size_t values : {1, 7, 8, 9, 100}) {
    Bytes run;
    AddRun(1, static_cast<uint32_t>(values), 1, &run);
    EXPECT_TRUE(AreSet(run, values));
    EXPECT_FALSE(AreSet(run, values + 1));
    Numbers ones(values, 1);
    Bytes packed;
    AddPacked(ones, 1, &packed);
    EXPECT_TRUE(AreSet(packed, values));
    for (size_t i = 0; i < values; ++i) {
      Bytes one_missing;
      Numbers numbers = ones;
      numbers[i] = 0;
      AddPacked(numbers, 1, &one_missing);
      EXPECT_FALSE(AreSet(one_missing, values)) << i << " of " << values;
    }
  }
  Bytes zeros;
  AddRun(0, 10, 1, &zeros);
  EXPECT_FALSE(AreSet(zeros, 10));
}

}  // namespace
}  // namespace millhopper
