// SPDX-License-Identifier: Apache-2.0
// Digests and JSON of elements, against values that other programs computed.
#include "tools/commands/shared/digest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(Sha256, IsThatOfTheStandard) {
  Sha256 sha;
  // FIPS 180-2, appendix B.1, and the digest of nothing.
  EXPECT_EQ(ToHex(sha.Value()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  sha.Add("a", 1);
  sha.Add("bc", 2);
  EXPECT_EQ(ToHex(sha.Value()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// With Python: sha256(struct.pack("<IIqqI", 20, 2, 1, 3, 0) + b"\1\2\3" +
//     struct.pack("<IIqIQQQ", 3, 1, 2, 1, 2, 0, 2) + struct.pack("<qq", -1, 5)).
TEST(Digest, IsThatOfTheBytesInOrder) {
  const std::vector<LoDTensor> element = {MakeTensor<uint8_t>({1, 3}, {1, 2, 3}),
                                          MakeTensor<int64_t>({2}, {-1, 5}, {{0, 2}})};
  EXPECT_EQ(ToHex(millhopper::DigestOf(element)),
            "0c0d949d6873edfd78f17518cde20fea9ac2def5688eb4337ee7d0d71b0b2914");
}

TEST(Digest, TellsTypesDimsAndLevelsApart) {
  const std::vector<std::vector<LoDTensor>> elements = {
      {MakeTensor<uint8_t>({2}, {0, 0})},
      {MakeTensor<int8_t>({2}, {0, 0})},
      {MakeTensor<uint8_t>({1, 2}, {0, 0})},
      {MakeTensor<uint8_t>({2}, {0, 0}, {{0, 2}})},
      {MakeTensor<uint8_t>({2}, {0, 0}, {{0, 1, 2}})},
      {MakeTensor<uint8_t>({1}, {0}), MakeTensor<uint8_t>({1}, {0})}};
  for (size_t i = 0; i < elements.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      EXPECT_NE(millhopper::DigestOf(elements[i]), millhopper::DigestOf(elements[k]))
          << i << " and " << k;
    }
  }
}

TEST(ElementJson, HoldsEverySlot) {
  EXPECT_EQ(ToJson({MakeTensor<uint8_t>({1, 3}, {1, 2, 255}),
                    MakeTensor<int64_t>({2}, {-1, 9007199254740993}, {{0, 2}})}),
            "{\"slots\":[{\"dtype\":\"uint8\",\"dims\":[1,3],\"lod\":[],\"data\":[1,2,255]},"
            "{\"dtype\":\"int64\",\"dims\":[2],\"lod\":[[0,2]],\"data\":[-1,9007199254740993]}]}");
}

TEST(ElementJson, WritesFloatsWithAsFewDigitsAsTellThemApart) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(JsonFields(MakeTensor<float>({5}, {0.1f, 1, -2.5e-10f, 16777216, 3e20f})),
            "\"dtype\":\"float32\",\"dims\":[5],\"lod\":[],"
            "\"data\":[0.1,1.0,-2.5e-10,16777216.0,3e+20]");
  EXPECT_EQ(JsonFields(MakeTensor<float>({3}, {std::nanf(""), inf, -inf})),
            "\"dtype\":\"float32\",\"dims\":[3],\"lod\":[],\"data\":[\"nan\",\"inf\",\"-inf\"]");
  EXPECT_EQ(JsonFields(MakeTensor<double>({1}, {0.1})),
            "\"dtype\":\"float64\",\"dims\":[1],\"lod\":[],\"data\":[0.1]");
}

TEST(ElementJson, WritesBoolsAnd16BitFloats) {
  LoDTensor bools;
  bool* values = bools.Allocate<bool>({2});
  values[0] = true;
  values[1] = false;
  EXPECT_EQ(JsonFields(bools), "\"dtype\":\"bool\",\"dims\":[2],\"lod\":[],\"data\":[true,false]");
  LoDTensor half;
  half.Allocate(DataType::kFp16, {1});
  *static_cast<uint16_t*>(half.mutable_raw_data()) = FloatToFp16(-1.5f);
  EXPECT_EQ(JsonFields(half), "\"dtype\":\"float16\",\"dims\":[1],\"lod\":[],\"data\":[-1.5]");
}

}  // namespace
}  // namespace millhopper
