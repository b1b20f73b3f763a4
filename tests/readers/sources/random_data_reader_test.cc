// SPDX-License-Identifier: Apache-2.0
// Random data, beyond the contract of all readers and order_test.cc.
#include "readers/sources/random_data_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/testing.h"

namespace millhopper {
namespace {

SlotSpec Floats(const Dims& dims) {
  SlotSpec slot;
  slot.dims = dims;
  return slot;
}

const RandomKey& Key() {
  static const RandomKey key(1, 2, "random");
  return key;
}

TEST(RandomDataReader, RefusesWhatItCannotMake) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto make = [](const std::vector<SlotSpec>& slots, float low, float high, int64_t count) {
    return [=] { RandomDataReader(slots, low, high, count, Key()); };
  };
  ExpectError(ErrorCode::kInvalidArgument, "low must be less", make({Floats({1})}, 1, 1, 0));
  ExpectError(ErrorCode::kInvalidArgument, "low must be less", make({Floats({1})}, nan, 1, 0));
  ExpectError(ErrorCode::kInvalidArgument, "count is -1", make({Floats({1})}, 0, 1, -1));
  ExpectError(ErrorCode::kInvalidArgument, "every dim declared", make({Floats({-1})}, 0, 1, 0));
  SlotSpec ints = Floats({1});
  ints.dtype = DataType::kInt64;
  ExpectError(ErrorCode::kInvalidArgument, "slot 1", make({Floats({1}), ints}, 0, 1, 0));
  SlotSpec ragged = Floats({1});
  ragged.lod_level = 1;
  ExpectError(ErrorCode::kInvalidArgument, "no levels of detail", make({ragged}, 0, 1, 0));
}

TEST(RandomDataReader, StaysWithinItsRange) {
  RandomDataReader reader({Floats({100, 10})}, -3, 5, 20, Key());
  std::vector<LoDTensor> element;
  double sum = 0;
  for (int i = 0; i < 20; ++i) {
    reader.ReadNext(&element);
    EXPECT_EQ(element[0].dims(), (Dims{100, 10}));
    for (const float value : ValuesOf<float>(element[0])) {
      ASSERT_GE(value, -3);
      ASSERT_LT(value, 5);
      sum += value;
    }
  }
  EXPECT_NEAR(sum / 20000, 1, 0.1);
  EXPECT_FALSE(reader.HasNext());
}

TEST(RandomDataReader, NeverReachesHighByRounding) {
  const float high = std::nextafter(1.0f, 2.0f);
  RandomDataReader reader({Floats({1000})}, 1, high, 1, Key());
  std::vector<LoDTensor> element;
  reader.ReadNext(&element);
  for (const float value : ValuesOf<float>(element[0])) ASSERT_EQ(value, 1.0f);
}

TEST(RandomDataReader, WithoutACountIsEndless) {
  RandomDataReader reader({Floats({1})}, 0, 1, 0, Key());
  EXPECT_EQ(ReadSome(&reader, 1000).size(), 1000u);
  EXPECT_TRUE(reader.HasNext());
}

}  // namespace
}  // namespace millhopper
