// SPDX-License-Identifier: Apache-2.0
// The types of values: one list of them, their numbers in framework.proto, names and sizes, and
// tensors of each as bytes and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <string>

#include "framework/base/error.h"
#include "framework/tensor/tensor.h"
#include "framework/tensor/tensor_stream.h"
#include "proto/framework.pb.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(DataTypes, AreThoseOfTheList) {
  std::set<std::string> names;
  for (const DataType type : kDataTypes) {
    EXPECT_TRUE(names.insert(ToString(type)).second) << ToString(type);
    EXPECT_GT(SizeOf(type), 0u);
    EXPECT_EQ(DataTypeFromNumber(static_cast<int64_t>(type)), type);
  }
  for (int64_t number = -300; number < 300; ++number) {
    const bool listed =
        std::any_of(std::begin(kDataTypes), std::end(kDataTypes),
                    [number](DataType type) { return static_cast<int64_t>(type) == number; });
    EXPECT_EQ(IsDataType(number), listed) << number;
  }
  ExpectError(ErrorCode::kInvalidArgument, "23 is no data type; there are 0 bool, 21 int8, ",
              [] { DataTypeFromNumber(23); });
}

// Programs name the types in capitals, floats by their bits.
TEST(DataTypes, HaveTheNumbersOfFrameworkProto) {
  for (const DataType type : kDataTypes) {
    std::string name = ToString(type);
    std::transform(name.begin(), name.end(), name.begin(), ::toupper);
    if (name.rfind("FLOAT", 0) == 0) name = "FP" + name.substr(5);
    if (name == "BFLOAT16") name = "BF16";
    proto::VarType::Type number;
    ASSERT_TRUE(proto::VarType::Type_Parse(name, &number)) << name;
    EXPECT_EQ(static_cast<int32_t>(number), static_cast<int32_t>(type)) << name;
    EXPECT_EQ(proto::VarType::Type_Name(number), name);
  }
  proto::VarType::Type lineages;
  ASSERT_TRUE(proto::VarType::Type_Parse("SIZE_T", &lineages));
  EXPECT_EQ(lineages, proto::VarType::UINT64);
}

TEST(DataTypes, AreTheSameAsBytesAndBack) {
  for (const DataType type : kDataTypes) {
    LoDTensor tensor;
    tensor.Allocate(type, {2, 3});
    std::memset(tensor.mutable_raw_data(), 1, tensor.bytes());
    tensor.set_lod({{0, 2}});
    std::string bytes;
    AppendTensor(tensor, &bytes);
    const TensorView view = ParseTensor(bytes.data(), bytes.size());
    EXPECT_EQ(view.dtype, type);
    EXPECT_EQ(view.dims, tensor.dims());
    EXPECT_EQ(view.size, bytes.size());
    EXPECT_EQ(std::string(view.values, view.value_bytes), std::string(tensor.bytes(), 1));
    const SequenceHeader header(type, {-1, 3});
    ASSERT_LE(header.size(), bytes.size());
    EXPECT_EQ(header.Match(bytes.data()), 2) << ToString(type);
  }
}

TEST(DataTypes, AnOutlineHasDimsAndNoValues) {
  LoDTensor tensor;
  tensor.Allocate<uint8_t>({2, 3});
  tensor.set_lod({{0, 2}});
  tensor.Outline(DataType::kFp32, {4, 5});
  EXPECT_EQ(tensor.dtype(), DataType::kFp32);
  EXPECT_EQ(tensor.dims(), (Dims{4, 5}));
  EXPECT_EQ(tensor.numel(), 20);
  EXPECT_TRUE(tensor.lod().empty());
  EXPECT_FALSE(tensor.initialized());
  EXPECT_THROW(tensor.data<float>(), Error);
}

}  // namespace
}  // namespace millhopper
