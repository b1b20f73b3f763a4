// SPDX-License-Identifier: Apache-2.0
// uint16, uint32 and uint64 in every format that has numbers: the highest value of each is read as
// it is, and what the type cannot hold is an error that says so.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "readers/fields/fields.h"
#include "readers/sources/open_files.h"
#include "tests/files/mds_shards.h"
#include "tests/files/npy_files.h"
#include "tests/files/record_files.h"
#include "tests/files/tfrecords.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

struct Type {
  std::string name;
  DataType dtype;
  std::string highest, too_high;  // as decimal text
};

const std::vector<Type>& Types() {
  static const auto* types = new std::vector<Type>{
      {"uint16", DataType::kUint16, "65535", "65536"},
      {"uint32", DataType::kUint32, "4294967295", "4294967296"},
      {"uint64", DataType::kUint64, "18446744073709551615", "18446744073709551616"},
  };
  return *types;
}

std::string Bytes(uint64_t number, size_t size) { return LittleEndian(number, size); }

std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number > 127; number >>= 7) bytes += static_cast<char>(128 | (number & 127));
  return bytes + static_cast<char>(number);
}

std::string Message(int field, const std::string& content) {
  return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(content.size()) + content;
}

// An Example with this number as its feature x.
std::string TFRecordOf(uint64_t number) {
  const std::string feature = Message(3, Message(1, Varint(number)));
  return TFRecords({Message(1, Message(1, Message(1, "x") + Message(2, feature)))});
}

// A format that writes a number as text into its file.
struct TextFormat {
  std::string name, before, after;
  std::string field;  // what names the number
};

const std::vector<TextFormat>& TextFormats() {
  static const auto* formats = new std::vector<TextFormat>{
      {"csv", "x\n", "\n", "x"},
      {"tsv", "x\ty\n", "\t1\n", "x"},
      {"jsonl", "{\"x\": ", "}\n", "x"},
      {"libsvm", "", " 1:1\n", "label"},
  };
  return *formats;
}

std::vector<std::string> Read(const TextFormat& format, const Type& type,
                              const std::string& number) {
  return TextsIn(format.name, format.before + number + format.after,
                 {format.field + " " + type.name + "[]"});
}

TEST(UnsignedValues, TextHoldsThem) {
  for (const TextFormat& format : TextFormats()) {
    for (const Type& type : Types()) {
      SCOPED_TRACE(format.name + " " + type.name);
      EXPECT_EQ(Read(format, type, type.highest), std::vector<std::string>{type.highest});
      EXPECT_EQ(Read(format, type, "0"), std::vector<std::string>{"0"});
      for (const std::string& wrong : {type.too_high, std::string("-1"), std::string("1.5")}) {
        ExpectError(ErrorCode::kDataLoss, " is no " + type.name,
                    [&] { Read(format, type, wrong); });
      }
    }
  }
}

// Every kind of number that a format can hand to a field.
TEST(UnsignedValues, NumbersAreCheckedAgainstTheirRange) {
  for (const Type& type : Types()) {
    SCOPED_TRACE(type.name);
    const Field field = ParseFields({"x " + type.name + "[]"}).at(0);
    const uint64_t highest = std::stoull(type.highest);
    const auto wrong = [&](auto number) {
      char place[8];
      ExpectError(ErrorCode::kDataLoss, " is no " + type.name, [&] { field.Write(number, place); });
    };
    char place[8] = {};
    field.Write(highest, place);
    EXPECT_EQ(std::string(place, 8), Bytes(highest, 8));
    if (type.dtype != DataType::kUint64) {
      field.Write(static_cast<int64_t>(highest), place);
      field.Write(static_cast<double>(highest), place);
      EXPECT_EQ(std::string(place, 8), Bytes(highest, 8));
      wrong(highest + 1);
      wrong(static_cast<int64_t>(highest + 1));
    }
    wrong(int64_t{-1});
    wrong(INT64_MIN);
    wrong(-1.0);
    wrong(0.5);
    wrong(0x1p64);
  }
  char place[8] = {};
  ParseFields({"x uint64[]"}).at(0).Write(0x1p63, place);
  EXPECT_EQ(std::string(place, 8), Bytes(uint64_t{1} << 63, 8));
  for (const char* narrow : {"int64", "int8", "bool", "uint32"}) {
    const Field field = ParseFields({StrCat("x ", narrow, "[]")}).at(0);
    ExpectError(ErrorCode::kDataLoss, StrCat("18446744073709551615 is no ", narrow),
                [&] { field.Write(~uint64_t{0}, place); });
  }
}

TEST(UnsignedValues, OptionsOfFieldsTakeThem) {
  EXPECT_EQ(TextsIn("csv", "x\nffffffffffffffff\n", {"x uint64[] base=16"}),
            std::vector<std::string>{"18446744073709551615"});
  EXPECT_EQ(TextsIn("csv", "x\nffff\n", {"x uint16[] base=16"}), std::vector<std::string>{"65535"});
  EXPECT_EQ(TextsIn("jsonl", "{}\n", {"x uint32[] default=4294967295"}),
            std::vector<std::string>{"4294967295"});
  EXPECT_EQ(TextsIn("jsonl", "{\"x\": [1, 65535]}\n", {"x uint16[-1]"}),
            std::vector<std::string>{"1 65535"});
  ExpectError(ErrorCode::kInvalidArgument, "is no uint16",
              [] { ParseFields({"x uint16[] default=65536"}); });
}

TEST(UnsignedValues, TFRecordsOfInt64HoldThem) {
  for (const Type& type : Types()) {
    const auto read = [&](uint64_t number) {
      return TextsIn("tfrecord", TFRecordOf(number), {"x " + type.name + "[]"});
    };
    const uint64_t highest =
        type.dtype == DataType::kUint64 ? INT64_MAX : std::stoull(type.highest);
    EXPECT_EQ(read(highest), std::vector<std::string>{std::to_string(highest)});
    ExpectError(ErrorCode::kDataLoss, "-1 is no " + type.name, [&] { read(~uint64_t{0}); });
    if (type.dtype == DataType::kUint64) continue;
    ExpectError(ErrorCode::kDataLoss, type.too_high + " is no " + type.name,
                [&] { read(highest + 1); });
  }
}

TEST(UnsignedValues, MdsHoldsThem) {
  for (const Type& type : Types()) {
    const auto size = static_cast<uint32_t>(SizeOf(type.dtype));
    const MdsTestColumns columns = {{"x", type.name, size}};
    const std::string shard =
        MdsShardOf({MdsSample(columns, {Bytes(std::stoull(type.highest), size)})});
    const std::string folder = NewFolder("mds_" + type.name);
    WriteFile(folder + "/0.mds", shard);
    WriteFile(folder + "/index.json", MdsIndexOf({MdsEntry(columns, "0.mds", shard.size(), 1)}));
    const auto read = [&](const std::string& field) {
      return TextsOf(FieldReader("mds", folder + "/index.json", {field}).get());
    };
    EXPECT_EQ(read("x " + type.name + "[]"), std::vector<std::string>{type.highest});
    EXPECT_EQ(read("x uint64[]"), std::vector<std::string>{type.highest});
    ExpectError(ErrorCode::kDataLoss, type.highest + " is no int16", [&] { read("x int16[]"); });
    EXPECT_EQ(FindFileFormat("mds")->guess_fields(folder + "/index.json", {}).entries,
              std::vector<std::string>{"x " + type.name + "[]"});
  }
}

// Formats whose values are bytes as they are in memory.
TEST(UnsignedValues, BytesAreTheirValues) {
  for (const Type& type : Types()) {
    SCOPED_TRACE(type.name);
    const size_t size = SizeOf(type.dtype);
    const uint64_t highest = std::stoull(type.highest);
    LoDTensor tensor;
    tensor.Allocate(type.dtype, {1, 1});
    std::memcpy(tensor.mutable_raw_data(), &highest, size);
    struct Case {
      std::string format, content;
    };
    const std::vector<Case> cases = {
        {"fixed", Bytes(highest, size)},
        {"npy", Npy(StrCat("<u", size), "(1, 1)", Bytes(highest, size))},
        {"recordio", ChunkOf({RecordOf({tensor})})},
    };
    for (const Case& one : cases) {
      const TempFile file("a." + one.format, one.content);
      FormatArguments arguments;
      arguments.declared = {SlotSpec{type.dtype, Dims{1, 1}}};
      const std::vector<std::string> texts =
          TextsOf(OpenFile(*FindFileFormat(one.format), file.path(), "", arguments).get());
      EXPECT_EQ(texts, std::vector<std::string>{type.highest}) << one.format;
    }
  }
}

}  // namespace
}  // namespace millhopper
