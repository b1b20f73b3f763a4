// SPDX-License-Identifier: Apache-2.0
// Zip files of numpy's arrays: stored, deflated, zip64, members of others, directories that lie.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/npy_files.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Names = std::vector<std::string>;

std::unique_ptr<ReaderBase> Reader(const std::string& path, const Names& fields,
                                   BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  arguments.attributes.Set("fields", fields);
  arguments.buffer_type = buffer_type;
  return OpenFile(*FindFileFormat("npz"), path, "", arguments);
}

std::vector<ElementValue> ElementsIn(const std::string& content, const Names& fields) {
  const TempFile file("a.npz", content);
  return ReadAll(Reader(file.path(), fields).get());
}

constexpr size_t kRecords = 5000;

std::string Pixels() { return Sample(kRecords * 600); }
std::string Labels() { return Sample(kRecords * 8); }

std::string Images(bool deflated, bool zip64 = false) {
  return Zip({{"images.npy", Npy("|u1", "(5000, 20, 30)", Pixels()), deflated, zip64},
              {"labels.npy", Npy("<i8", "(5000,)", Labels()), deflated, zip64}});
}

std::vector<ElementValue> Model() {
  const std::string pixels = Pixels(), labels = Labels();
  std::vector<ElementValue> elements;
  for (size_t i = 0; i < kRecords; ++i) {
    elements.push_back({{DataType::kUint8, {1, 20, 30}, {}, pixels.substr(600 * i, 600)},
                        {DataType::kInt64, {1}, {}, labels.substr(8 * i, 8)}});
  }
  return elements;
}

TEST(Npz, AMemberIsASlot) {
  const std::vector<ElementValue> model = Model();
  for (const bool deflated : {false, true}) {
    for (const bool zip64 : {false, true}) {
      const TempFile file("a.npz", Images(deflated, zip64));
      for (const int threads : {0, 1, 2, 7}) {
        const PoolSize pool(threads);
        EXPECT_TRUE(ReadAll(Reader(file.path(), {"images", "labels.npy"}).get()) == model);
        EXPECT_TRUE(ReadAll(Reader(file.path(), {"images uint8[20, 30]", "labels int64[]"},
                                   BufferType::kMmap)
                                .get()) == model);
      }
      EXPECT_EQ(Reader(file.path(), {"labels"})->PassLength(), kRecords);
    }
  }
}

TEST(Npz, OneMemberIsMappedInPlace) {
  const TempFile file("a.npz", Images(false));
  const std::vector<ElementValue> model = Model();
  const std::vector<ElementValue> labels =
      ReadAll(Reader(file.path(), {"labels"}, BufferType::kMmap).get());
  ASSERT_EQ(labels.size(), model.size());
  for (size_t i = 0; i < model.size(); ++i) EXPECT_EQ(labels[i][0], model[i][1]);
}

TEST(Npz, TakesMembersInTheOrderOfTheFileWithoutFields) {
  FormatArguments arguments;
  arguments.attributes.Set("fields", Names{});
  arguments.declared = {{DataType::kUint8, {1, 20, -1}, 0, true}, {DataType::kInt64, {1}, 0, true}};
  const TempFile file("a.npz", Images(true));
  EXPECT_TRUE(ReadAll(OpenFile(*FindFileFormat("npz"), file.path(), "", arguments).get()) ==
              Model());
  arguments.declared.pop_back();
  ExpectError(ErrorCode::kDataLoss, "it has 2 members, but 1 slots are declared",
              [&] { ReadAll(OpenFile(*FindFileFormat("npz"), file.path(), "", arguments).get()); });
  arguments.declared.clear();  // all members that are arrays
  EXPECT_TRUE(ReadAll(OpenFile(*FindFileFormat("npz"), file.path(), "", arguments).get()) ==
              Model());
  const TempFile empty("a.npz", Zip({}));
  ExpectError(ErrorCode::kInvalidArgument, "name its members in fields",
              [&] { Reader(empty.path(), {}); });
}

TEST(Npz, ShardsLeaveChunksOut) {
  const TempFile file("a.npz", Images(false));
  size_t shared = 0;
  for (int64_t shard = 0; shard < 2; ++shard) {
    ShardReader reader(Reader(file.path(), {"images"}), 2, shard, ShardBy::kChunk);
    const size_t some = ReadAll(&reader).size();
    EXPECT_LT(some, kRecords);
    shared += some;
  }
  EXPECT_EQ(shared, kRecords);
}

// Each with the other kind beside it, so that both ways of reading meet.
TEST(Npz, MixesOrdersAndMethods) {
  const std::string rows = FromHex("010203 040506"), columns = FromHex("0104 0205 0306");
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      const std::vector<ElementValue> elements =
          ElementsIn(Zip({{"c.npy", Npy("|u1", "(2, 3)", rows), first},
                          {"f.npy", Npy("|u1", "(2, 3)", columns, true), second}}),
                     {"f", "c"});
      ASSERT_EQ(elements.size(), 2u);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(elements[i][0].bytes, rows.substr(3 * i, 3));
        EXPECT_EQ(elements[i][1].bytes, rows.substr(3 * i, 3));
      }
    }
  }
}

TEST(Npz, TakesAnArrayThatAFileLacksAsMissing) {
  const ZipMember a = {"a.npy", Npy("|u1", "(2,)", "\1\2")};
  const std::string values = FromHex("0000803f 00000040 00004040 00008040");
  const ZipMember b = {"b.npy", Npy("<f4", "(2, 2)", values)};
  const std::string all = Zip({a, b}), some = Zip({a}), other = Zip({b});
  const Names whole = {"1 | 1.0 2.0", "2 | 3.0 4.0"}, half = {"1 | nan nan", "2 | nan nan"};
  const Names fields = {"a uint8[]", "b float32[2] default=nan"};
  const auto joined = [](Names first, const Names& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  for (const int threads : {0, 3}) {
    const PoolSize pool(threads);
    EXPECT_EQ(TextsInFiles("npz", {all, some}, fields), joined(whole, half));
    EXPECT_EQ(TextsInFiles("npz", {some, all, some}, fields), joined(half, joined(whole, half)));
  }
  ExpectError(
      ErrorCode::kDataLoss,
      "no member is named 'b'; there are 'a.npy'; missing= and default= are for columns that "
      "some of the files have, and none has this one",
      [&] {
        TextsInFiles("npz", {some, some}, fields);
      });
  EXPECT_EQ(TextsInFiles("npz", {some, all, other},
                         {"a uint8[] missing=skip", "b float32[2] missing=skip"}),
            whole);
  // The first array of a file that lacks the first field lies at its beginning.
  EXPECT_EQ(TextsInFiles("npz", {other, all}, {"a uint8[] default=9", "b float32[2]"}),
            joined({"9 | 1.0 2.0", "9 | 3.0 4.0"}, whole));
  // Nothing tells how many records a file has that has none of the arrays.
  ExpectError(ErrorCode::kDataLoss, "no member is named 'b'; there are 'a.npy'", [&] {
    TextsInFiles("npz", {all, some}, {"b float32[2] missing=default"});
  });
  EXPECT_EQ(TextsInFiles("npz", {all, some}, {"b float32[2] missing=skip"}).size(), 2u);
  ExpectError(ErrorCode::kDataLoss, "no member is named 'b'", [&] {
    TextsInFiles("npz", {all, some}, {"a uint8[]", "b float32[2]"});
  });
  // What is there has the declared type in every file.
  const std::string doubles = Zip({a, {"b.npy", Npy("<f8", "(2, 2)", std::string(32, '\0'))}});
  for (const Names& files : {Names{all, doubles}, Names{some, doubles}}) {
    ExpectError(ErrorCode::kDataLoss, "slot 1: float32 [1, 2] is declared, float64 [1, 2] was",
                [&] { TextsInFiles("npz", files, fields); });
  }
  const TempFile first("a.npz", all), second("b.npz", some);
  FormatArguments arguments;
  arguments.attributes.Set("fields", fields);
  const auto length = [&](const Names& paths) {
    return OpenFiles(paths, {}, arguments, MultiFileOptions())->PassLength();
  };
  EXPECT_EQ(length({first.path(), second.path()}), 4u);
  arguments.attributes.Set("fields", Names{"a uint8[]", "b float32[2] missing=skip"});
  EXPECT_EQ(length({second.path(), first.path()}), 2u);
}

TEST(Npz, ProposesItsFields) {
  const TempFile file("a.npz", Images(true));
  EXPECT_EQ(FindFileFormat("npz")->guess_fields(file.path(), {}).entries,
            (Names{"images uint8[20, 30]", "labels int64[]"}));
}

// What has other numbers of rows, or cannot be read, is named.
TEST(Npz, ProposesTheArraysThatAreAsLong) {
  const TempFile file("a.npz", Zip({{"names.npy", Npy("|u1", "(2,)", "ab")},
                                    {"x y.npy", Npy("|u1", "(3, 2)", "abcdef")},
                                    {"notes.txt", "x"},
                                    {"z.npy", Npy("<i2", "(3,)", "abcdef")},
                                    {"one.npy", Npy("|u1", "()", "a")},
                                    {"none.npy", Npy("<f4", "(3, 0)", "")},
                                    {"o.npy", Npy("|O", "(3,)", "")}}));
  const FittingFields fields = FindFileFormat("npz")->guess_fields(file.path(), {});
  EXPECT_EQ(fields.entries, (Names{"\"x y\" uint8[2]", "z int16[]"}));
  EXPECT_EQ(fields.left_out,
            (Names{"'notes.txt': it is no .npy array", "'none': its rows have no values",
                   "'o': its dtype is '|O': object arrays are pickles, which are never loaded",
                   "'names': it has 2 rows, 'x y' has 3; \"names uint8[]\" reads it by itself",
                   "'one': it has 1 row, 'x y' has 3; \"one uint8[]\" reads it by itself"}));
  EXPECT_EQ(ReadAll(Reader(file.path(), fields.entries).get()).size(), 3u);
}

TEST(Npz, RefusesMembersThatNoFieldNames) {
  const std::string content =
      Zip({{"a.npy", Npy("|u1", "(1,)", "a")}, {"b.npy", Npy("|u1", "(2,)", "ab")}});
  EXPECT_EQ(ElementsIn(content, {"a uint8[]"}).size(), 1u);
  ExpectError(ErrorCode::kDataLoss,
              "it has the member 'b.npy', which no field names: others \"ignore\" leaves out what "
              "no field names",
              [&] {
                TextsIn("npz", content, {"a uint8[]"}, {{"others", std::string("error")}});
              });
}

// ---- Errors. ----

void ExpectProblem(const std::string& content, const std::string& words,
                   const Names& fields = {"a"}) {
  try {
    ElementsIn(content, fields);
    ADD_FAILURE() << "nothing was thrown; expected: " << words;
  } catch (const Error& error) {
    EXPECT_FALSE(error.file().empty()) << error.what();
    EXPECT_GE(error.offset(), 0) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos)
        << error.what() << "\nlacks: " << words;
  }
}

ZipMember Member(const std::string& name = "a.npy") { return {name, Npy("|u1", "(3,)", "abc")}; }

TEST(Npz, RefusesWhatItDoesNotReadByName) {
  ZipMember member = Member();
  member.flags = 1;
  ExpectProblem(Zip({member}), "member 'a.npy' is encrypted, which is not read");
  member = Member();
  member.method = 12;
  ExpectProblem(Zip({member}), "member 'a.npy' is compressed by method 12");
  ExpectProblem(Zip({Member(), Member()}), "more than one member is named 'a'");
  ExpectProblem(Zip({Member()}), "no member is named 'b'; there are 'a.npy'", {"b"});
  ExpectProblem(Zip({Member()}), "'a.npy'; did you mean 'a.npy'?", {"a.nyp"});
  ExpectProblem(Zip({{"a.npy", "text"}}), "the array ends at byte 39 in its npy header");
  ExpectProblem(Zip({Member(), {"b.npy", Npy("|u1", "(2,)", "ab")}}),
                "slot 1 has 2 records, but slot 0 has 3", {"a", "b"});
  ExpectProblem(Zip({{"a.npy", Npy("|O", "(3,)", "abc")}}), "pickles, which are never loaded");
  ExpectProblem(Zip({Member()}), "uint8 [1] was found", {"a int64[]"});
  const TempFile file("a.npz", Zip({Member()}));
  for (const char* field : {"a uint8[-1]", "a uint8[] null=1", "a uint8[] base=16"}) {
    ExpectError(ErrorCode::kInvalidArgument, "rows of one size and no options",
                [&] { Reader(file.path(), {field}); });
  }
}

TEST(Npz, ChecksMembersAgainstTheirChecksums) {
  for (const bool deflated : {false, true}) {
    const std::string content = Npy("|u1", "(3,)", "abc");
    const std::string good = Zip({{"a.npy", content, deflated}});
    EXPECT_EQ(ElementsIn(good, {"a"}).size(), 3u);
    const size_t begin = 30 + 5;
    const size_t size = deflated ? Deflated(content).size() : content.size();
    for (size_t bit = 8 * begin; bit < 8 * (begin + size); ++bit) {
      // The last byte of deflated data may have bits that mean nothing.
      try {
        EXPECT_EQ(ElementsIn(FlipBit(good, bit), {"a"}), ElementsIn(good, {"a"})) << bit;
        EXPECT_TRUE(deflated && bit >= 8 * (begin + size - 1)) << bit;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
      }
    }
  }
  std::string wrong = Zip({Member()});
  wrong[30 + 5 + 128] = 'z';
  ExpectProblem(wrong, "the checksum of member 'a.npy' is");
}

TEST(Npz, BelievesNoDirectory) {
  const std::string good = Zip({Member()}, "a comment");
  EXPECT_EQ(ElementsIn(good, {"a"}).size(), 3u);
  ExpectProblem("", "no zip file, or one that was cut off");
  ExpectProblem("PK\3\4", "no zip file, or one that was cut off");
  for (size_t size = 0; size < good.size(); ++size) {
    ExpectProblem(good.substr(0, size), "no zip file, or one that was cut off");
  }
  ExpectProblem("before" + good, "the directory of the zip file should be");
  const size_t end = good.size() - 9 - 22;
  const size_t entry = end - 46 - 5;
  const auto lie = [&](size_t at, const std::string& bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  ExpectProblem(lie(end + 10, FromHex("0200")), "is divided into several");
  ExpectProblem(lie(end + 8, FromHex("02000200")), "has 1 entries, but its end says 2");
  ExpectProblem(lie(end + 12, FromHex("ffffff7f")), "the directory of the zip file should be");
  ExpectProblem(lie(entry, "XX"), "entry 0 of the zip file's directory is damaged");
  ExpectProblem(lie(entry + 28, FromHex("ffff")), "goes beyond the directory's end");
  ExpectProblem(lie(entry + 20, FromHex("ffffff7f")), "should have 2147483647 bytes from byte 35");
  ExpectProblem(lie(entry + 24, FromHex("ffffff7f")), "its size is said to be both");
  ExpectProblem(lie(entry + 42, FromHex("ffffff7f")), "should begin at byte 2147483647");
  ExpectProblem(lie(entry + 42, FromHex("01000000")), "does not begin with the header");
}

// ---- Real files. ----

TEST(Npz, ReadsTheFilesOfOthersAsTheTruthSays) {
  const std::string folder = TestData();
  if (folder.empty()) GTEST_SKIP() << kNoTestData;
  for (const char* name : {"compressed", "uncompressed"}) {
    const std::string path = folder + "/npy/npyz/" + name + ".npz";
    const std::vector<ElementValue> ints = ReadAll(Reader(path, {"ints int64[]"}).get());
    const std::vector<ElementValue> floats = ReadAll(Reader(path, {"floats float64[1]"}).get());
    ASSERT_EQ(ints.size(), 4u);
    ASSERT_EQ(floats.size(), 2u);
    EXPECT_EQ(ReadAll(Reader(path, {"floats"}).get()).size(), 2u);
    EXPECT_EQ(ints[3][0].bytes, FromHex("0400000000000000"));
    EXPECT_EQ(floats[1][0].bytes, FromHex("0000000000000040"));
    // Numpy keeps arrays of any lengths together; rows of both need equal ones.
    ExpectError(ErrorCode::kDataLoss, "slot 1 has 2 records, but slot 0 has 4", [&] {
      ReadAll(Reader(path, {"ints", "floats"}).get());
    });
  }
}

}  // namespace
}  // namespace millhopper
