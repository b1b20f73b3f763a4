// SPDX-License-Identifier: Apache-2.0
// Serialised tensors: the lineage's bytes, both layouts, and every way to be damaged.
#include "framework/tensor/tensor_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "tests/bytes.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

const char kFloats[] = "00000000 0000000000000000 00000000 06000000 080510011002 0000803f00000040";
const char kInts[] =
    "00000000 0100000000000000 1800000000000000 0000000000000000 0200000000000000"
    "0300000000000000 00000000 06000000 080310031001 0a00000000000000 0b00000000000000"
    "0c00000000000000";
// The same two in the layout of version 0.11: levels after the values, one version word.
const char kOldFloats[] = "00000000 06000000 080510011002 0000803f00000040 0000000000000000";
const char kOldInts[] =
    "00000000 06000000 080310031001 0a00000000000000 0b00000000000000 0c00000000000000"
    "0100000000000000 1800000000000000 0000000000000000 0200000000000000 0300000000000000";

LoDTensor FloatTensor() {
  LoDTensor tensor;
  auto* values = tensor.Allocate<float>({1, 2});
  values[0] = 1;
  values[1] = 2;
  return tensor;
}

LoDTensor IntTensor() {
  LoDTensor tensor;
  auto* values = tensor.Allocate<int64_t>({3, 1});
  for (int i = 0; i < 3; ++i) values[i] = 10 + i;
  tensor.set_lod({{0, 2, 3}});
  return tensor;
}

std::string Serialised(const LoDTensor& tensor) {
  std::string bytes;
  AppendTensor(tensor, &bytes);
  return bytes;
}

// "" or the text of the error, which must be kDataLoss.
std::string ErrorOf(const std::string& bytes) {
  // A copy of exactly this size, so that a sanitizer sees a read past its end.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  try {
    ParseTensor(exact.data(), exact.size());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
    return error.what();
  }
  return "";
}

void ExpectFloats(const std::string& bytes) {
  const TensorView view = ParseTensor(bytes.data(), bytes.size());
  EXPECT_EQ(view.dtype, DataType::kFp32);
  EXPECT_EQ(view.dims, Dims({1, 2}));
  EXPECT_EQ(view.levels, 0u);
  EXPECT_EQ(view.size, bytes.size());
  ASSERT_EQ(view.value_bytes, 8u);
  float values[2];
  std::memcpy(values, view.values, sizeof(values));
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 2);
}

void ExpectInts(const std::string& bytes) {
  const TensorView view = ParseTensor(bytes.data(), bytes.size());
  EXPECT_EQ(view.dtype, DataType::kInt64);
  EXPECT_EQ(view.dims, Dims({3, 1}));
  EXPECT_EQ(view.size, bytes.size());
  ASSERT_EQ(view.levels, 1u);
  ASSERT_EQ(view.lod[0].count, 3u);
  EXPECT_EQ(view.lod[0][0], 0u);
  EXPECT_EQ(view.lod[0][1], 2u);
  EXPECT_EQ(view.lod[0][2], 3u);
  ASSERT_EQ(view.value_bytes, 24u);
  int64_t values[3];
  std::memcpy(values, view.values, sizeof(values));
  EXPECT_EQ(values[0], 10);
  EXPECT_EQ(values[2], 12);
}

// An int64 tensor [rows, 1] with these levels, in the later layout.
std::string WithLod(const Lod& lod, int64_t rows) {
  std::string bytes;
  AppendTensorHeader(DataType::kInt64, {rows, 1}, lod, &bytes);
  return bytes + std::string(static_cast<size_t>(rows) * 8, '\0');
}

// A tensor without levels whose description is these bytes, with `values` bytes after it.
std::string WithDescription(const std::string& hex, size_t values) {
  const std::string description = FromHex(hex);
  std::string bytes = FromHex("00000000 0000000000000000 00000000");
  const auto size = static_cast<int32_t>(description.size());
  bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return bytes + description + std::string(values, '\0');
}

TEST(TensorStream, WritesTheBytesOfTheLineage) {
  EXPECT_EQ(Serialised(FloatTensor()), FromHex(kFloats));
  EXPECT_EQ(Serialised(IntTensor()), FromHex(kInts));
}

TEST(TensorStream, ReadsTheBytesOfTheLineage) {
  ExpectFloats(FromHex(kFloats));
  ExpectInts(FromHex(kInts));
}

TEST(TensorStream, ReadsTheLayoutOfVersion011) {
  ExpectFloats(FromHex(kOldFloats));
  ExpectInts(FromHex(kOldInts));
}

TEST(TensorStream, StopsWhereTheTensorEnds) {
  const std::string bytes = FromHex(kInts) + FromHex(kFloats);
  EXPECT_EQ(ParseTensor(bytes.data(), bytes.size()).size, FromHex(kInts).size());
}

TEST(TensorStream, KeepsEveryTypeOfData) {
  for (int number = 0; number < 64; ++number) {
    if (!IsDataType(number)) continue;
    LoDTensor tensor;
    tensor.Allocate(static_cast<DataType>(number), {2, 3});
    std::memset(tensor.mutable_raw_data(), number, tensor.bytes());
    const std::string bytes = Serialised(tensor);
    const TensorView view = ParseTensor(bytes.data(), bytes.size());
    EXPECT_EQ(view.dtype, tensor.dtype());
    EXPECT_EQ(view.dims, tensor.dims());
    ASSERT_EQ(view.value_bytes, tensor.bytes());
    EXPECT_EQ(std::memcmp(view.values, tensor.raw_data(), tensor.bytes()), 0);
  }
}

TEST(TensorStream, KeepsEmptyTensorsAndThoseWithoutAxes) {
  for (const Dims& dims : {Dims(), Dims{0}, Dims{0, 7}, Dims{1, 300, 1, 1, 1, 1, 1, 1, 2}}) {
    LoDTensor tensor;
    tensor.Allocate(DataType::kUint8, dims);
    std::memset(tensor.mutable_raw_data(), 1, tensor.bytes());
    const std::string bytes = Serialised(tensor);
    const TensorView view = ParseTensor(bytes.data(), bytes.size());
    EXPECT_EQ(view.dims, dims);
    EXPECT_EQ(view.value_bytes, tensor.bytes());
    EXPECT_EQ(view.size, bytes.size());
  }
}

TEST(TensorStream, AcceptsPackedDims) {
  const std::string bytes = WithDescription("0814 1202 0203", 6);
  const TensorView view = ParseTensor(bytes.data(), bytes.size());
  EXPECT_EQ(view.dims, Dims({2, 3}));
  EXPECT_EQ(view.dtype, DataType::kUint8);
}

TEST(TensorStream, KeepsLevelsOfDetail) {
  const Lod lod = {{0, 2, 3}, {0, 1, 1, 4}};
  const std::string bytes = WithLod(lod, 4);
  const TensorView view = ParseTensor(bytes.data(), bytes.size());
  ASSERT_EQ(view.levels, 2u);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(view.lod[i].count, lod[i].size());
    for (size_t k = 0; k < lod[i].size(); ++k) EXPECT_EQ(view.lod[i][k], lod[i][k]);
  }
}

TEST(TensorStream, RefusesLevelsOfDetailAsCheckLodDoes) {
  const std::vector<Lod> wrong = {
      {{}},                      // no offset
      {{0}},                     // one offset but rows
      {{1, 4}},                  // begins late
      {{0, 3, 2, 4}},            // descends
      {{0, 3}},                  // ends early
      {{0, 5}},                  // ends late
      {{0, 2}, {0, 1, 2, 4}},    // the outer level leaves a sequence out
      {{0, 4}, {0, 1, 2, 4}},    // the outer level has one too many
      {{0, 1}, {}},              // nothing below
      {{0, 1}, {0, 1}, {2, 4}},  // wrong in the last of three
  };
  for (const Lod& lod : wrong) {
    EXPECT_THROW(CheckLod(lod, 4), Error) << ToString(lod);
    EXPECT_THAT(ErrorOf(WithLod(lod, 4)), HasSubstr("of detail")) << ToString(lod);
  }
  EXPECT_EQ(ErrorOf(WithLod({{0}}, 0)), "");
  EXPECT_EQ(ErrorOf(WithLod({{0, 0}}, 0)), "");
}

TEST(TensorStream, NamesTheByteThatIsWrong) {
  EXPECT_EQ(ErrorOf(WithLod({{0, 3, 2, 4}}, 4)),
            "byte 36 of a serialised tensor: level 0 of detail descends from 3 to 2");
  EXPECT_EQ(ErrorOf(FromHex("01000000") + FromHex(kFloats).substr(4)),
            "byte 0 of a serialised tensor: the version is 1; only 0 is known");
  EXPECT_EQ(ErrorOf(FromHex(kFloats).substr(0, 30)),
            "byte 26 of a serialised tensor: the values: 8 bytes are needed, but 4 are left");
}

TEST(TensorStream, RefusesDescriptionsThatAreNone) {
  EXPECT_THAT(ErrorOf(WithDescription("", 8)), HasSubstr("no data type"));
  EXPECT_THAT(ErrorOf(WithDescription("1001", 8)), HasSubstr("no data type"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 0805 1001", 8)), HasSubstr("second data type"));
  EXPECT_THAT(ErrorOf(WithDescription("0812 1001", 8)), HasSubstr("18 is not a type of data"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 1001 1801", 8)), HasSubstr("field 3"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 1501000000", 8)), HasSubstr("field 2 of wire type 5"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 10", 8)), HasSubstr("cut off"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 1081", 8)), HasSubstr("cut off"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 12050101", 8)), HasSubstr("packed dims of 5 bytes"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 10ffffffffffffffffff01", 8)), HasSubstr("negative"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 10ffffffffffffffffff02", 8)), HasSubstr("64 bits"));
  EXPECT_THAT(ErrorOf(WithDescription("0805 120a 01010101010101010101", 8)),
              HasSubstr("more than 9 dims"));
}

TEST(TensorStream, RefusesDimsThatOverflow) {
  const std::string huge = "10ffffffffffffffff7f";  // 2^63 - 1
  EXPECT_THAT(ErrorOf(WithDescription("0805" + huge, 8)), HasSubstr("more than"));
  EXPECT_THAT(ErrorOf(WithDescription("0805" + huge + huge, 8)), HasSubstr("more than"));
  // 2^32 * 2^32 values of 4 bytes would wrap around to none.
  const std::string wide = "108080808010";
  EXPECT_THAT(ErrorOf(WithDescription("0805" + wide + wide, 0)), HasSubstr("more than"));
  EXPECT_EQ(ErrorOf(WithDescription("0805 1000" + huge, 0)), "");
}

// F16
TEST(TensorStream, RefusesCountsBeyondTheBytes) {
  EXPECT_THAT(ErrorOf(FromHex("00000000 1100000000000000 00000000")), HasSubstr("17 levels"));
  EXPECT_THAT(ErrorOf(FromHex("00000000 0100000000000000 f8ffffffffffffff 00000000")),
              HasSubstr("18446744073709551608 bytes are needed"));
  EXPECT_THAT(ErrorOf(FromHex("00000000 0100000000000000 0700000000000000 00000000000000")),
              HasSubstr("a level of detail of 7 bytes"));
  EXPECT_THAT(ErrorOf(FromHex("00000000 0000000000000000 00000000 ffffffff 080510011002")),
              HasSubstr("size is -1"));
  EXPECT_THAT(ErrorOf(FromHex("00000000 0000000000000000 00000000 01010000 080510011002")),
              HasSubstr("size is 257"));
}

TEST(TensorStream, RefusesEveryTruncation) {
  for (const char* hex : {kFloats, kInts, kOldFloats, kOldInts}) {
    const std::string bytes = FromHex(hex);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_NE(ErrorOf(bytes.substr(0, size)), "") << hex << " cut to " << size;
    }
  }
}

TEST(TensorStream, SurvivesEveryFlippedBit) {
  for (const char* hex : {kFloats, kInts, kOldFloats, kOldInts}) {
    const std::string bytes = FromHex(hex);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      const std::string damaged = FlipBit(bytes, bit);
      if (!ErrorOf(damaged).empty()) continue;
      // What is still a tensor lies within the bytes and obeys the rules.
      const TensorView view = ParseTensor(damaged.data(), damaged.size());
      EXPECT_LE(view.size, damaged.size());
      EXPECT_EQ(view.value_bytes, static_cast<size_t>(Product(view.dims)) * SizeOf(view.dtype));
      EXPECT_GE(view.values, damaged.data());
      EXPECT_LE(view.values + view.value_bytes, damaged.data() + damaged.size());
    }
  }
}

std::string HeaderOf(int64_t length, uint64_t offset) {
  std::string header;
  AppendTensorHeader(DataType::kInt64, {length, 3}, {{0, offset}}, &header);
  return header;
}

TEST(SequenceHeader, KnowsShortSequencesByTheirBytes) {
  const SequenceHeader header(DataType::kInt64, {-1, 3});
  for (int64_t length = 0; length < 128; ++length) {
    const std::string bytes = HeaderOf(length, static_cast<uint64_t>(length));
    ASSERT_EQ(header.size(), bytes.size());
    EXPECT_EQ(header.Match(bytes.data()), length);
  }
  for (const int64_t length : {128, 255, 256, 100000}) {
    EXPECT_EQ(header.Match(HeaderOf(length, static_cast<uint64_t>(length)).data()), -1);
  }
}

TEST(SequenceHeader, LeavesEverythingElseToTheParser) {
  const SequenceHeader header(DataType::kInt64, {-1, 3});
  const std::string bytes = HeaderOf(5, 5);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    EXPECT_EQ(header.Match(FlipBit(bytes, bit).data()), -1) << "bit " << bit;
  }
  EXPECT_EQ(header.Match(HeaderOf(5, 6).data()), -1);
  EXPECT_EQ(header.Match(HeaderOf(5, 5 + (uint64_t{1} << 32)).data()), -1);
  EXPECT_EQ(SequenceHeader(DataType::kInt64, {-1, 4}).Match(bytes.data()), -1);
  EXPECT_EQ(SequenceHeader(DataType::kFp64, {-1, 3}).Match(bytes.data()), -1);
}

TEST(TensorStream, RefusesToWriteWhatHasNoValues) {
  std::string bytes;
  EXPECT_THROW(AppendTensor(LoDTensor(), &bytes), Error);
}

}  // namespace
}  // namespace millhopper
