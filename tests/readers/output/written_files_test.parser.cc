// SPDX-License-Identifier: Apache-2.0
// What is written in each format reads back equal, or is refused by the name of its slot.
#include "readers/output/written_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/file_system.h"
#include "framework/reader/file_format.h"
#include "readers/fields/named_slots.h"
#include "readers/sources/open_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Element = std::vector<LoDTensor>;
using Strings = std::vector<std::string>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

LoDTensor Text(const std::string& text) {
  return MakeTensor<uint8_t>({static_cast<int64_t>(text.size())}, {text.begin(), text.end()},
                             {{0, text.size()}});
}

LoDTensor Bits16(DataType type, const std::vector<uint16_t>& bits) {
  LoDTensor tensor;
  tensor.Allocate(type, {1, static_cast<int64_t>(bits.size())});
  std::memcpy(tensor.mutable_raw_data(), bits.data(), 2 * bits.size());
  return tensor;
}

SlotSpec SpecOf(DataType type, const Dims& dims, int levels = 0, bool text = false) {
  SlotSpec spec;
  spec.dtype = type;
  spec.dims = dims;
  spec.lod_level = levels;
  spec.text = text;
  return spec;
}

std::string NewFolder() {
  std::string path = TempName("folder");
  EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
  return path;
}

Written WriteAll(const std::string& name, const NamedSlots& slots,
                 const std::vector<Element>& elements, const ShardSize& size = {},
                 bool overwrite = true) {
  OutputRules rules;
  rules.overwrite = overwrite;
  WrittenFiles files(name, slots, size, rules);
  for (const Element& element : elements) files.Write(element);
  return files.Publish();
}

std::vector<ElementValue> ReadBack(const Written& written) {
  FormatArguments arguments;
  arguments.attributes = written.attributes;
  if (!written.fields.empty()) arguments.attributes.Set("fields", written.fields);
  MultiFileOptions options;
  options.cycle_length = 1;
  const auto reader = OpenFiles(written.inputs, {}, std::move(arguments), options);
  return ReadAll(reader.get());
}

std::vector<ElementValue> ValuesOf(const std::vector<Element>& elements) {
  std::vector<ElementValue> values;
  for (const Element& element : elements) values.push_back(ValueOf(element));
  return values;
}

// The name of an output of a format in a folder of its own.
std::string NameFor(const std::string& format) {
  const std::string end = format == "mds" ? "part.mds" : "out." + format;
  return StrCat(NewFolder(), "/", end);
}

void ExpectSame(const std::string& format, const NamedSlots& slots,
                const std::vector<Element>& elements) {
  SCOPED_TRACE(format);
  const Written written = WriteAll(NameFor(format), slots, elements);
  EXPECT_EQ(written.records(), elements.size());
  EXPECT_EQ(ReadBack(written), ValuesOf(elements));
}

// Whether there is nothing in the folder of an output.
bool IsAlone(const std::string& name) {
  const std::string folder = name.substr(0, name.rfind('/'));
  return FileSystemOf(folder).ListFolder(folder).empty();
}

void ExpectRefused(const std::string& format, const NamedSlots& slots, const std::string& words) {
  SCOPED_TRACE(format);
  const std::string name = NameFor(format);
  ExpectError(ErrorCode::kInvalidArgument, words, [&] { WriteAll(name, slots, {}); });
  EXPECT_TRUE(IsAlone(name));
}

NamedSlots Numbers() {
  return {
      {SpecOf(DataType::kBool, {1}), SpecOf(DataType::kInt8, {1}), SpecOf(DataType::kUint8, {1}),
       SpecOf(DataType::kInt16, {1}), SpecOf(DataType::kUint16, {1}), SpecOf(DataType::kInt32, {1}),
       SpecOf(DataType::kUint32, {1}), SpecOf(DataType::kInt64, {1, 1}),
       SpecOf(DataType::kFp32, {1, 2})},
      {"b", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "f32"}};
}

Element Lowest() {
  return {MakeTensor<bool>({1}, {false}),
          MakeTensor<int8_t>({1}, {INT8_MIN}),
          MakeTensor<uint8_t>({1}, {0}),
          MakeTensor<int16_t>({1}, {INT16_MIN}),
          MakeTensor<uint16_t>({1}, {0}),
          MakeTensor<int32_t>({1}, {INT32_MIN}),
          MakeTensor<uint32_t>({1}, {0}),
          MakeTensor<int64_t>({1, 1}, {INT64_MIN}),
          MakeTensor<float>({1, 2}, {-0.0f, 1e-45f})};
}

Element Highest() {
  return {MakeTensor<bool>({1}, {true}),
          MakeTensor<int8_t>({1}, {INT8_MAX}),
          MakeTensor<uint8_t>({1}, {UINT8_MAX}),
          MakeTensor<int16_t>({1}, {INT16_MAX}),
          MakeTensor<uint16_t>({1}, {UINT16_MAX}),
          MakeTensor<int32_t>({1}, {INT32_MAX}),
          MakeTensor<uint32_t>({1}, {UINT32_MAX}),
          MakeTensor<int64_t>({1, 1}, {INT64_MAX}),
          MakeTensor<float>({1, 2}, {3.4028235e38f, 0.1f})};
}

TEST(WrittenFiles, NumbersReadBackEqual) {
  for (const char* format : {"recordio", "jsonl", "csv", "tsv", "tar", "tfrecord", "mds"}) {
    ExpectSame(format, Numbers(), {Lowest(), Highest()});
  }
}

TEST(WrittenFiles, FloatsAndLargeIntegersReadBackEqual) {
  const NamedSlots slots = {{SpecOf(DataType::kFp64, {1}), SpecOf(DataType::kUint64, {1}),
                             SpecOf(DataType::kFp16, {1, 2})},
                            {"f64", "u64", "f16"}};
  const std::vector<Element> elements = {
      {MakeTensor<double>({1}, {0.1}), MakeTensor<uint64_t>({1}, {UINT64_MAX}),
       Bits16(DataType::kFp16, {0x0001, 0x7bff})},
      {MakeTensor<double>({1}, {-5e-300}), MakeTensor<uint64_t>({1}, {0}),
       Bits16(DataType::kFp16, {0x0000, 0x3555})},
      {MakeTensor<double>({1}, {5e-324}), MakeTensor<uint64_t>({1}, {1}),
       Bits16(DataType::kFp16, {0x8000, 0xc000})}};
  for (const char* format : {"recordio", "jsonl", "csv", "tsv", "tar", "mds"}) {
    ExpectSame(format, slots, elements);
  }
  const std::vector<Element> infinite = {{MakeTensor<double>({1}, {-kInfinity}),
                                          MakeTensor<uint64_t>({1}, {0}),
                                          Bits16(DataType::kFp16, {0x7c00, 0x3555})}};
  for (const char* format : {"recordio", "csv", "tsv", "mds"}) ExpectSame(format, slots, infinite);
  for (const char* format : {"jsonl", "tar"}) {
    SCOPED_TRACE(format);
    ExpectError(ErrorCode::kInvalidArgument,
                StrCat("': it is infinite, for which ", format, " has no number; csv, "),
                [&] { WriteAll(NameFor(format), slots, infinite); });
  }
  const NamedSlots brain = {{SpecOf(DataType::kBf16, {1, 2})}, {"b16"}};
  for (const char* format : {"recordio", "jsonl", "csv", "tar", "tfrecord"}) {
    ExpectSame(format, brain, {{Bits16(DataType::kBf16, {0x3f81, 0x0001})}});
  }
  ExpectRefused("tfrecord", slots, "tfrecord cannot hold slot 'f64'");
  ExpectRefused("npy", brain, "npy cannot hold slot 'b16'");
  ExpectRefused("mds", brain, "mds cannot hold slot 'b16'");
}

TEST(WrittenFiles, NoNumberStaysNone) {
  const NamedSlots slots = {{SpecOf(DataType::kFp32, {1})}, {"x"}};
  for (const char* format : {"recordio", "jsonl", "csv", "tsv", "tar", "tfrecord", "mds", "npy"}) {
    SCOPED_TRACE(format);
    const auto read =
        ReadBack(WriteAll(NameFor(format), slots, {{MakeTensor<float>({1}, {std::nanf("")})}}));
    ASSERT_EQ(read.size(), 1u);
    float value;
    std::memcpy(&value, read[0][0].bytes.data(), sizeof(value));
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(WrittenFiles, NoNumberIsANullAsOtherReadersHaveIt) {
  const float nan = std::nanf("");
  const NamedSlots slots = {{SpecOf(DataType::kFp32, {1}), SpecOf(DataType::kFp32, {1, 2})},
                            {"x", "pair"}};
  const std::vector<Element> elements = {
      {MakeTensor<float>({1}, {nan}), MakeTensor<float>({1, 2}, {1, nan})},
      {MakeTensor<float>({1}, {0.5f}), MakeTensor<float>({1, 2}, {nan, nan})}};
  const auto file = [&](const char* format, const NamedSlots& of, const std::vector<Element>& all) {
    return ReadFile(WriteAll(NameFor(format), of, all).files.at(0).path);
  };
  EXPECT_EQ(file("jsonl", slots, elements),
            "{\"x\":null,\"pair\":[1.0,null]}\n{\"x\":0.5,\"pair\":[null,null]}\n");
  EXPECT_EQ(file("csv", slots, elements), "x,pair.0,pair.1\n,1.0,\n0.5,,\n");
  for (const char* format : {"jsonl", "csv", "tsv", "tar"}) {
    SCOPED_TRACE(format);
    const auto read = ReadBack(WriteAll(NameFor(format), slots, elements));
    ASSERT_EQ(read.size(), 2u);
    const auto values = [&](size_t record, size_t slot) {
      std::vector<float> found(read[record][slot].bytes.size() / sizeof(float));
      std::memcpy(found.data(), read[record][slot].bytes.data(), read[record][slot].bytes.size());
      return found;
    };
    EXPECT_TRUE(std::isnan(values(0, 0)[0]));
    EXPECT_EQ(values(1, 0)[0], 0.5f);
    EXPECT_EQ(values(0, 1)[0], 1.0f);
    for (const float value : {values(0, 1)[1], values(1, 1)[0], values(1, 1)[1]}) {
      EXPECT_TRUE(std::isnan(value));
    }
  }
  // Beside a mask an empty cell is what it says.
  const NamedSlots masked = {{SpecOf(DataType::kFp32, {1}), SpecOf(DataType::kBool, {1})},
                             {"x", "x.valid"}};
  const std::vector<Element> nulls = {
      {MakeTensor<float>({1}, {nan}), MakeTensor<bool>({1}, {true})},
      {MakeTensor<float>({1}, {0}), MakeTensor<bool>({1}, {false})}};
  EXPECT_EQ(file("csv", masked, nulls), "x\nnan\n\"\"\n");
  ExpectError(ErrorCode::kInvalidArgument,
              "slot 'x': NaN where 'x.valid' says that there is a value",
              [&] { file("jsonl", masked, nulls); });
}

TEST(WrittenFiles, TextsReadBackEqual) {
  const NamedSlots slots = {
      {SpecOf(DataType::kUint8, {-1}, 1, true), SpecOf(DataType::kUint8, {-1}, 1)},
      {"title", "a \"name\", with all"}};
  std::vector<Element> elements;
  for (const char* text : {"plain", " spaces ", "a,\"b\"", "line\nline\r\n\tend",
                           "\x01 \x7f \\ / <\xc3\xa4>", "007"}) {
    elements.push_back({Text(text), Text("x")});
  }
  elements.push_back({Text(""), Text("")});
  for (const char* format : {"recordio", "jsonl", "csv", "tar", "tfrecord", "mds"}) {
    ExpectSame(format, slots, elements);
  }
  ExpectSame("csv", {{slots.slots[0]}, {"title"}}, {{Text("")}, {Text("a")}});
  const NamedSlots one = {{slots.slots[0]}, {"title"}};
  ExpectSame("tsv", one, {{Text("a \"b\", c")}});
  for (const char* text : {"a\tb", "a\nb", ""}) {
    const std::string name = NameFor("tsv");
    ExpectError(ErrorCode::kInvalidArgument, "slot 'title'", [&] {
      WriteAll(name, one, {{Text("x")}, {Text(text)}});
    });
    EXPECT_TRUE(IsAlone(name));
  }
}

TEST(WrittenFiles, BytesAreNoText) {
  const NamedSlots slots = {{SpecOf(DataType::kUint8, {-1}, 1)}, {"image"}};
  const std::vector<Element> elements = {{Text("\xff\xd8\xff")}, {Text(std::string("\0\n,\"", 4))}};
  for (const char* format : {"recordio", "tar", "tfrecord", "mds"}) {
    ExpectSame(format, slots, elements);
  }
  for (const char* format : {"csv", "tsv", "jsonl"}) {
    ExpectError(ErrorCode::kInvalidArgument,
                "slot 'image': ", [&] { WriteAll(NameFor(format), slots, elements); });
  }
}

TEST(WrittenFiles, SequencesReadBackEqualOrAreRefused) {
  const NamedSlots slots = {{SpecOf(DataType::kInt64, {-1}, 1), SpecOf(DataType::kFp32, {-1, 2}, 1),
                             SpecOf(DataType::kFp32, {1, 2, 3})},
                            {"tokens", "boxes", "image"}};
  const std::vector<Element> elements = {
      {MakeTensor<int64_t>({3}, {1, -2, 3}, {{0, 3}}),
       MakeTensor<float>({2, 2}, {1, 2, 3, 4}, {{0, 2}}),
       MakeTensor<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6})},
      {MakeTensor<int64_t>({0}, {}, {{0, 0}}), MakeTensor<float>({1, 2}, {1, 2}, {{0, 1}}),
       MakeTensor<float>({1, 2, 3}, {0, 0, 0, 0, 0, 0.5})}};
  for (const char* format : {"recordio", "jsonl", "tar", "tfrecord", "mds"}) {
    ExpectSame(format, slots, elements);
  }
  ExpectSame("npy", {{slots.slots[2]}, {"image"}}, {{elements[0][2]}, {elements[1][2]}});
  ExpectSame("csv", {{slots.slots[2]}, {"image"}}, {{elements[0][2]}, {elements[1][2]}});
  ExpectRefused("csv", slots, "csv cannot hold slot 'tokens', int64 [-1] with 1 level of detail: ");
  ExpectRefused("npy", {{slots.slots[0]}, {"tokens"}}, "npy cannot hold slot 'tokens'");
  ExpectRefused("npy", slots, "npy cannot hold slot 'boxes'");
}

TEST(WrittenFiles, ListsOfTextsReadBackEqual) {
  const NamedSlots slots = {{SpecOf(DataType::kUint8, {-1}, 2, true)}, {"words"}};
  const std::vector<Element> elements = {
      {MakeTensor<uint8_t>({3}, {'a', 'b', 'c'}, {{0, 2}, {0, 1, 3}})},
      {MakeTensor<uint8_t>({0}, {}, {{0, 0}, {0}})},
      {MakeTensor<uint8_t>({0}, {}, {{0, 1}, {0, 0}})}};
  for (const char* format : {"recordio", "jsonl", "tar", "tfrecord"}) {
    ExpectSame(format, slots, elements);
  }
  ExpectRefused("mds", slots, "mds cannot hold slot 'words'");
  const NamedSlots lists = {{SpecOf(DataType::kInt64, {-1}, 2)}, {"turns"}};
  for (const char* format : {"jsonl", "csv", "npy", "tar", "tfrecord", "mds"}) {
    ExpectRefused(format, lists, "cannot hold slot 'turns'");
  }
}

TEST(WrittenFiles, MasksAreNulls) {
  const NamedSlots slots = {{SpecOf(DataType::kInt64, {1}), SpecOf(DataType::kUint8, {-1}, 1, true),
                             SpecOf(DataType::kBool, {1}), SpecOf(DataType::kBool, {1})},
                            {"age", "title", "age.valid", "title.valid"}};
  const std::vector<Element> elements = {
      {MakeTensor<int64_t>({1}, {7}), Text("a"), MakeTensor<bool>({1}, {true}),
       MakeTensor<bool>({1}, {true})},
      {MakeTensor<int64_t>({1}, {0}), Text(""), MakeTensor<bool>({1}, {false}),
       MakeTensor<bool>({1}, {false})}};
  for (const char* format : {"recordio", "jsonl", "csv", "tsv", "tfrecord", "mds"}) {
    ExpectSame(format, slots, elements);
  }
  ExpectSame("tar", slots, {elements[0]});
  const std::string name = NameFor("jsonl");
  WriteAll(name, slots, elements);
  EXPECT_EQ(ReadFile(name), "{\"age\":7,\"title\":\"a\"}\n{\"age\":null,\"title\":null}\n");
  ExpectError(ErrorCode::kInvalidArgument, "slot 'title': an empty text", [&] {
    WriteAll(NameFor("csv"), slots,
             {{MakeTensor<int64_t>({1}, {7}), Text(""), MakeTensor<bool>({1}, {true}),
               MakeTensor<bool>({1}, {true})}});
  });
  const std::vector<Element> minus = {{MakeTensor<int64_t>({1}, {-1}), Text(""),
                                       MakeTensor<bool>({1}, {false}),
                                       MakeTensor<bool>({1}, {false})}};
  for (const char* format : {"jsonl", "csv", "tfrecord"}) ExpectSame(format, slots, minus);
  // A mask that is not behind the slots of all fields would come back in another place.
  const NamedSlots other = {{slots.slots[0], slots.slots[2], slots.slots[1]},
                            {"age", "age.valid", "title"}};
  ExpectSame("csv", other, {{elements[1][0], elements[1][2], elements[1][1]}});
}

TEST(WrittenFiles, OnlyRecordIOHoldsBatches) {
  const NamedSlots slots = {{SpecOf(DataType::kInt64, {2})}, {"x"}};
  ExpectSame("recordio", slots, {{MakeTensor<int64_t>({2}, {1, 2})}});
  for (const char* format : {"jsonl", "csv", "npy", "tar", "tfrecord", "mds"}) {
    ExpectRefused(format, slots, "cannot hold slot 'x', int64 [2]: an element is a batch");
  }
  const NamedSlots sequences = {{SpecOf(DataType::kInt64, {-1}, 1)}, {"x"}};
  ExpectError(ErrorCode::kInvalidArgument, "slot 'x': an element of 2 records", [&] {
    WriteAll(NameFor("jsonl"), sequences, {{MakeTensor<int64_t>({2}, {1, 2}, {{0, 1, 2}})}});
  });
}

TEST(WrittenFiles, ShardsEndAfterRecordsOrBytes) {
  const NamedSlots slots = {{SpecOf(DataType::kInt64, {1})}, {"x"}};
  std::vector<Element> elements;
  for (int64_t i = 0; i < 10; ++i) elements.push_back({MakeTensor<int64_t>({1}, {i})});
  for (const std::string end :
       {"jsonl", "csv.gz", "tsv.zst", "npy", "tar", "tfrecord.gz", "recordio", "mds"}) {
    SCOPED_TRACE(end);
    const std::string folder = NewFolder();
    const Written written =
        WriteAll(StrCat(folder, "/x-{shard:03}.", end), slots, elements, {4, 0});
    ASSERT_EQ(written.files.size(), 3u);
    EXPECT_EQ(written.files[2].path, StrCat(folder, "/x-002.", end));
    EXPECT_EQ(written.files[2].records, 2u);
    EXPECT_EQ(ReadBack(written), ValuesOf(elements));
    // Equal elements make equal bytes, and fewer files are no mixture of old and new.
    const std::string before = ReadFile(written.files[1].path);
    WriteAll(StrCat(folder, "/x-{shard:03}.", end), slots, elements, {4, 0});
    EXPECT_EQ(ReadFile(written.files[1].path), before);
    ExpectError(ErrorCode::kInvalidArgument, "is left from an earlier output", [&] {
      WriteAll(StrCat(folder, "/x-{shard:03}.", end), slots, elements, {5, 0});
    });
    EXPECT_EQ(ReadFile(written.files[1].path), before);
  }
  const Written written =
      WriteAll(NewFolder() + "/{shard}.jsonl", slots, elements, {0, 2 * sizeof("{\"x\":0}")});
  ASSERT_EQ(written.files.size(), 5u);
  ExpectError(ErrorCode::kInvalidArgument, "{shard:05}", [&] {
    WriteAll(NewFolder() + "/x.jsonl", slots, {}, {4, 0});
  });
  for (const char* name : {"{shard}{shard}", "{shards}", "{x}", "a}", "{shard:x}", "{shard"}) {
    ExpectError(ErrorCode::kInvalidArgument, "in braces stands {shard}", [&] { ShardNames{name}; });
  }
  EXPECT_EQ(ShardNames("a-{shard:02d}.x")[7], "a-07.x");
  EXPECT_EQ(ShardNames("a-{shard:02}.x")[700], "a-700.x");
}

TEST(WrittenFiles, OutputsThatAreThereStay) {
  const NamedSlots slots = {{SpecOf(DataType::kInt64, {1})}, {"x"}};
  for (const char* format : {"recordio", "jsonl", "csv", "npy", "tar", "tfrecord", "mds"}) {
    SCOPED_TRACE(format);
    const std::string name = NameFor(format);
    WriteAll(name, slots, {{MakeTensor<int64_t>({1}, {1})}});
    const std::string before = ReadFile(name);
    ExpectError(ErrorCode::kIo, "exists",
                [&] { WriteAll(name, slots, {{MakeTensor<int64_t>({1}, {2})}}, {}, false); });
    EXPECT_EQ(ReadFile(name), before);
  }
}

TEST(WrittenFiles, NamesTellTheFormat) {
  const NamedSlots slots = {{SpecOf(DataType::kInt64, {1})}, {"x"}};
  const std::vector<Element> elements = {{MakeTensor<int64_t>({1}, {1})}};
  const std::string name = NewFolder() + "/x.txt";
  const Written written = WriteAll("jsonl:" + name, slots, elements);
  EXPECT_EQ(written.inputs, (Strings{"jsonl:" + name}));
  EXPECT_EQ(ReadBack(written), ValuesOf(elements));
  ExpectError(ErrorCode::kInvalidArgument, "files of the format text cannot be written",
              [&] { WriteAll(name, slots, {}); });
  ExpectError(ErrorCode::kInvalidArgument, "its name tells no format",
              [&] { WriteAll(TempName("x"), slots, {}); });
  ExpectError(ErrorCode::kInvalidArgument, "files are not compressed by xz",
              [&] { WriteAll(TempName("x.csv.xz"), slots, {}); });
  ExpectError(ErrorCode::kInvalidArgument, "npy is not written into files that are compressed",
              [&] { WriteAll(TempName("x.npy.gz"), slots, {}); });
}

TEST(WrittenFiles, KeysNameTheFilesOfArchives) {
  const NamedSlots slots = {{SpecOf(DataType::kUint8, {-1}, 1), SpecOf(DataType::kUint8, {-1}, 1)},
                            {"__key__", "jpg"}};
  const std::string deep = "train/" + std::string(150, 'k');
  ExpectSame("tar", slots, {{Text("a/1"), Text("x")}, {Text(deep), Text("y")}});
  for (const char* key : {"", "a.b", "/a", "__x", "a/", ".a"}) {
    ExpectError(ErrorCode::kInvalidArgument, "slot '__key__'", [&] {
      WriteAll(NameFor("tar"), slots, {{Text(key), Text("x")}});
    });
  }
  ExpectError(ErrorCode::kInvalidArgument, "comes twice", [&] {
    WriteAll(NameFor("tar"), slots, {{Text("a"), Text("x")}, {Text("a"), Text("y")}});
  });
}

}  // namespace
}  // namespace millhopper
