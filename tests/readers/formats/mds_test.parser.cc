// SPDX-License-Identifier: Apache-2.0
// MDS shards: columns, compressions, chunks of shards, indexes that lie, and every damage.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/http_server.h"
#include "tests/files/compressed.h"
#include "tests/files/mds_shards.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// A folder that is removed at the end.
class Folder {
 public:
  Folder() : path_(TempName("mds")) { std::filesystem::create_directories(path_ + "/0"); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void Write(const std::string& name, const std::string& content) const {
    WriteFile(path_ + "/" + name, content);
  }
  std::string index() const { return path_ + "/index.json"; }

  // Writes the samples as shards of `per_shard` each, and their index.
  void WriteShards(const MdsTestColumns& columns, const Strings& samples, size_t per_shard,
                   const std::string& compression = "") const {
    Strings entries;
    for (size_t i = 0; i < samples.size(); i += per_shard) {
      const size_t end = std::min(i + per_shard, samples.size());
      const std::string name = StrCat(entries.size() % 2 == 0 ? "" : "0/", entries.size(), ".mds");
      const std::string shard = MdsShardOf({samples.begin() + static_cast<std::ptrdiff_t>(i),
                                            samples.begin() + static_cast<std::ptrdiff_t>(end)});
      std::string stored;
      if (compression == "zstd") stored = Zstd(shard);
      if (compression == "gz") stored = Gzipped(shard);
      Write(compression.empty() ? name : StrCat(name, ".", compression),
            compression.empty() ? shard : stored);
      entries.push_back(MdsEntry(columns, name, shard.size(), end - i, compression, stored.size()));
    }
    Write("index.json", MdsIndexOf(entries));
  }

 private:
  const std::string path_;
};

TEST(Mds, ShardsLieBesideTheIndexWhateverItsQuery) {
  HttpServer server;
  const MdsTestColumns columns = {{"n", "int", 8}};
  const std::string shard = MdsShardOf({std::string("\7\0\0\0\0\0\0\0", 8)});
  server.Put("/a/0.mds", shard);
  server.Put("/a/index.json", MdsIndexOf({MdsEntry(columns, "0.mds", shard.size(), 1, "", 0)}));
  FormatArguments arguments;
  arguments.attributes.Set("fields", Strings{"n int64[]"});
  const auto reader = OpenFile(*FindFileFormat("mds"),
                               server.Url("/a/index.json?X-Amz-Credential=k/1/2"), "", arguments);
  EXPECT_EQ(ReadAll(reader.get()).size(), 1u);
  for (const std::string& head : server.heads()) {
    EXPECT_NE(head.find("?X-Amz-Credential=k/1/2 "), std::string::npos) << head;
  }
}

std::unique_ptr<ReaderBase> Reader(const Folder& folder, Strings fields,
                                   BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  arguments.buffer_type = buffer_type;
  arguments.attributes.Set("fields", std::move(fields));
  return OpenFile(*FindFileFormat("mds"), folder.index(), "", std::move(arguments));
}

const MdsTestColumns& Columns() {
  static const auto* columns = new MdsTestColumns{{"n", "int", 8}, {"text", "str", 0}};
  return *columns;
}

Strings Samples(size_t count, size_t text_bytes = 0) {
  Strings samples;
  for (size_t i = 0; i < count; ++i) {
    samples.push_back(MdsSample(
        Columns(), {LittleEndian(static_cast<int64_t>(i)), std::string(text_bytes + i % 3, 'x')}));
  }
  return samples;
}

// What the one sample of these columns is with these fields.
std::string TextWith(const MdsTestColumns& columns, const Strings& values, Strings fields) {
  const Folder folder;
  folder.WriteShards(columns, {MdsSample(columns, values)}, 1);
  const Strings texts = TextsOf(Reader(folder, std::move(fields)).get());
  return texts.size() == 1 ? texts[0] : StrCat(texts.size(), " samples");
}

void ExpectNoFit(const MdsTestColumns& columns, const Strings& values, const Strings& fields,
                 const std::string& words) {
  ExpectError(ErrorCode::kDataLoss, words, [&] { TextWith(columns, values, fields); });
}

TEST(Mds, ReadsShardsOfEveryCompression) {
  const Strings expected = {"0 | ''", "1 | 'x'", "2 | 'xx'", "3 | ''", "4 | 'x'"};
  for (const char* compression : {"", "zstd", "gz"}) {
    const Folder folder;
    folder.WriteShards(Columns(), Samples(5), 2, compression);
    EXPECT_EQ(TextsOf(Reader(folder, {"n int64[]", "text bytes"}).get()), expected) << compression;
    EXPECT_EQ(Reader(folder, {"n int64[]"})->PassLength(), 5u);
  }
}

TEST(Mds, ReadsNumbers) {
  EXPECT_EQ(
      TextWith({{"a", "uint8", 1}, {"b", "int16", 2}, {"c", "uint32", 4}, {"d", "float32", 4}},
               {"\xff", FromHex("feff"), FromHex("ffffffff"), LittleEndian(0.5F)},
               {"d float64[] scale=1/2", "c int64[]", "b int8[]", "a int64[1]"}),
      "0.25 | 4294967295 | -2 | 255");
  EXPECT_EQ(TextWith({{"h", "float16", 2}, {"u", "uint64", 8}, {"i", "int", 8}},
                     {FromHex("003e"), LittleEndian(uint64_t{1} << 63), LittleEndian(int64_t{-7})},
                     {"h float32[]", "u float64[]", "i int32[]"}),
            "1.5 | 9223372036854775808.0 | -7");
  EXPECT_EQ(TextWith({{"i", "str_int", 0}, {"f", "str_float", 0}, {"s", "str", 0}},
                     {"-12", "2.5", "7"}, {"i int64[]", "f float32[]", "s int32[] decode=text"}),
            "-12 | 2.5 | 7");
}

TEST(Mds, ReadsArraysOfKnownAndUnknownShape) {
  const std::string values = FromHex("0100 0200 0300 0400 0500 0600");
  EXPECT_EQ(TextWith({{"a", "ndarray", 0}}, {FromHex("11 08 02 03") + values}, {"a int16[2, 3]"}),
            "1 2 3 4 5 6");
  EXPECT_EQ(TextWith({{"a", "ndarray:int16", 0}}, {FromHex("09 0200 0300") + values},
                     {"a float32[-1, 3]"}),
            "1.0 2.0 3.0 4.0 5.0 6.0");
  EXPECT_EQ(TextWith({{"a", "ndarray:int16:2,3", 12}}, {values}, {"a int64[2, 3]"}), "1 2 3 4 5 6");
}

TEST(Mds, ReadsListsOfImages) {
  const std::string sizes = FromHex("02000000 01000000 02000000");
  EXPECT_EQ(TextWith({{"a", "jpeg_array", 0}}, {sizes + "abb"}, {"a bytes[-1]"}), "97 98 98");
  EXPECT_EQ(
      TextWith({{"a", "list[png]", 0}}, {FromHex("00000000") + sizes + "abb"}, {"a bytes[-1]"}),
      "97 98 98");
  ExpectNoFit({{"a", "jpeg_array", 0}}, {sizes + "abbc"}, {"a bytes[-1]"},
              "field 'a': 1 bytes are left after its images");
  ExpectNoFit({{"a", "jpeg_array", 0}}, {FromHex("ffffffff")}, {"a bytes[-1]"},
              "the sizes of its images takes 17179869180 bytes, but 0 are left");
}

TEST(Mds, RefusesPicklesByName) {
  const MdsTestColumns columns = {{"p", "pkl", 0}, {"n", "uint8", 1}};
  ExpectNoFit(columns, {"x", "7"}, {"p bytes"},
              "its column is 'pkl', a pickle, which is a program");
  EXPECT_EQ(TextWith(columns, {"x", "7"}, {"n int64[]"}), "55");
}

TEST(Mds, RefusesFieldsThatDoNotFit) {
  const MdsTestColumns columns = {{"n", "uint64", 8}, {"a", "ndarray", 0}, {"s", "str", 0}};
  const Strings values = {std::string(8, '\xff'), FromHex("08 08 0102 0000"), "x"};
  ExpectNoFit(columns, values, {"m int64[]"},
              "no column is named 'm'; there are 'n', 'a', 's'; did you mean 'n'?");
  ExpectNoFit(columns, values, {"n int64[]"}, "field 'n': 18446744073709551615 is no int64");
  ExpectNoFit(columns, values, {"n bytes"}, "its column is 'uint64', which are numbers");
  ExpectNoFit(columns, values, {"s int64[]"}, "so it is bytes, or a number with decode=text");
  ExpectNoFit(columns, values, {"s int64[] decode=text"}, "field 's': 'x' is no int64");
  ExpectNoFit(columns, values, {"a uint8[2, 1]"}, "it has the shape [1, 2], uint8 [1, 2, 1]");
  ExpectNoFit({{"n", "odd", 0}}, {"x"}, {"n bytes"}, "has the encoding 'odd', which nobody knows");
  ExpectNoFit({{"n", "int", 4}}, {"xxxx"}, {"n int64[]"}, "is int of 4 bytes; it has 8");
  const TempFile words("words.txt", "x\n");
  ExpectError(ErrorCode::kInvalidArgument, "but none by what is in it, as vocab= would",
              [&] { TextWith(columns, values, {"s int64[] missing=skip vocab=" + words.path()}); });
}

TEST(Mds, GuessesFieldsAndKnowsItsFirstBytes) {
  const MdsTestColumns columns = {{"a b", "ndarray", 0},
                                  {"c", "uint16", 2},
                                  {"d", "pkl", 0},
                                  {"e", "jpeg", 0},
                                  {"f", "str_int", 0}};
  const Folder folder;
  folder.WriteShards(columns, {MdsSample(columns, {FromHex("08 08 0102 0000"), "xx", "", "", "1"})},
                     1);
  EXPECT_EQ(FindFileFormat("mds")->guess_fields(folder.index(), {}).entries,
            (Strings{"\"a b\" uint8[1, 2]", "c uint16[]", "e bytes", "f int64[]"}));
  EXPECT_EQ(FindFileFormat("mds")->guess_fields(folder.index(), {}).left_out,
            Strings{"'d': it is a pickle, which is a program to be run; pickles are never read"});
  EXPECT_EQ(FormatByContent(folder.index()).tag, "mds");
}

// What is guessed gives back later arrays as they are, or says what does.
TEST(Mds, ArraysThatChangeTheirTypeAreErrors) {
  const auto read = [](const Strings& arrays) {
    const MdsTestColumns columns = {{"a", "ndarray", 0}};
    Strings samples;
    for (const std::string& array : arrays) samples.push_back(MdsSample(columns, {array}));
    const Folder folder;
    folder.WriteShards(columns, samples, 1);  // the first shard is looked at
    return TextsOf(Reader(folder, {}).get());
  };
  const std::string float32 = FromHex("22 04 01") + LittleEndian(0.5F);
  const auto float64 = [](double value) { return FromHex("42 04 01") + LittleEndian(value); };
  const std::string int64 = FromHex("41 04 01") + LittleEndian(int64_t{7});
  EXPECT_EQ(read({float32, float64(0.25), int64}), (Strings{"0.5", "0.25", "7.0"}));
  ExpectError(ErrorCode::kDataLoss,
              "field 'a': 0.1 is no float32 without rounding, as numbers \"exact\" asks and "
              "\"nearest\" does not; this array is float64, and float64[1] reads it",
              [&] {
                read({float32, float64(0.1)});
              });
  ExpectError(ErrorCode::kDataLoss,
              "field 'a': 0.5 is no int64; this array is float32, and float32[1] reads it", [&] {
                read({int64, float32});
              });
}

// What is guessed fits all of the samples, not only the first.
TEST(Mds, GuessesFieldsOfSeveralSamples) {
  const MdsTestColumns columns = {
      {"n", "uint8", 1}, {"first", "ndarray", 0}, {"same", "ndarray", 0}, {"other", "ndarray", 0}};
  const Folder folder;
  // u8 [1, 2] and [2, 2]; [2] and [2]; [1] and [1, 1].
  folder.WriteShards(columns,
                     {MdsSample(columns, {"a", FromHex("08 08 0102 0102"), FromHex("08 04 02 0304"),
                                          FromHex("08 04 01 05")}),
                      MdsSample(columns, {"b", FromHex("08 08 0202 01020304"),
                                          FromHex("08 04 02 0506"), FromHex("08 08 0101 07")})},
                     2);
  const Strings fields = {"n uint8[]", "first uint8[-1, 2]", "same uint8[2]"};
  EXPECT_EQ(FindFileFormat("mds")->guess_fields(folder.index(), {}).entries, fields);
  EXPECT_EQ(FindFileFormat("mds")->guess_fields(folder.index(), {}).left_out,
            Strings{"'other': its arrays differ in type, or in more than their first axis"});
  EXPECT_EQ(TextsOf(Reader(folder, fields).get()),
            (Strings{"97 | '\x01\x02' | 3 4", "98 | '\x01\x02\x03\x04' | 5 6"}));
}

// ---- Chunks. ----

TEST(Mds, KeepsTheOrderForAnyNumberOfThreads) {
  const Folder plain, packed;
  plain.WriteShards(Columns(), Samples(3000, 1500), 1700);
  packed.WriteShards(Columns(), Samples(3000, 1500), 1700, "zstd");
  Strings expected;
  for (size_t i = 0; i < 3000; ++i) expected.push_back(std::to_string(i));
  for (const int threads : {0, 1, 7}) {
    const PoolSize pool(threads);
    EXPECT_TRUE(TextsOf(Reader(plain, {"n int64[]"}).get()) == expected) << threads;
    EXPECT_TRUE(TextsOf(Reader(packed, {"n int64[]"}).get()) == expected) << threads;
    EXPECT_TRUE(TextsOf(Reader(plain, {"n int64[]"}, BufferType::kMmap).get()) == expected);
  }
  ExpectError(ErrorCode::kInvalidArgument, "cannot be mapped",
              [&] { ReadAll(Reader(packed, {"n int64[]"}, BufferType::kMmap).get()); });
}

TEST(Mds, LeavesChunksOut) {
  const Folder folder;
  folder.WriteShards(Columns(), Samples(3000, 1500), 1700);
  size_t shared = 0;
  for (int64_t shard = 0; shard < 2; ++shard) {
    ShardReader reader(Reader(folder, {"n int64[]"}), 2, shard, ShardBy::kChunk);
    const size_t some = TextsOf(&reader).size();
    EXPECT_LT(some, 3000u);
    shared += some;
  }
  EXPECT_EQ(shared, 3000u);
}

TEST(Mds, ReadsMoreShardsThanFilesCanBeOpen) {
  const Folder folder;
  folder.WriteShards(Columns(), Samples(600), 1);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  const rlimit limit{100, old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  for (const int threads : {0, 4}) {
    const PoolSize pool(threads);
    EXPECT_EQ(TextsOf(Reader(folder, {"n int64[]"}).get()).size(), 600u);
  }
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &old_limit), 0);
}

TEST(Mds, OpensSeveralFoldersOfTheSameColumns) {
  const Folder one, two, other;
  one.WriteShards(Columns(), Samples(3), 2);
  two.WriteShards(Columns(), Samples(2), 2);
  other.WriteShards({{"n", "int", 8}}, {LittleEndian(int64_t{1})}, 1);
  FormatArguments arguments;
  arguments.attributes.Set("fields", Strings{"n int64[]"});
  const auto open = [&](const Folder& second) {
    return OpenFiles({"mds:" + one.index(), "mds:" + second.index()}, {}, arguments, {});
  };
  EXPECT_EQ(TextsOf(open(two).get()).size(), 5u);
  ExpectError(ErrorCode::kDataLoss, "its columns are others", [&] { TextsOf(open(other).get()); });
}

TEST(Mds, TakesAColumnThatAFolderLacksAsMissing) {
  const MdsTestColumns narrow = {{"n", "int", 8}};
  const Folder all, some;
  all.WriteShards(Columns(), Samples(3), 2);
  some.WriteShards(narrow, {LittleEndian(int64_t{7}), LittleEndian(int64_t{8})}, 1);
  FormatArguments arguments;
  const auto open = [&](const std::vector<const Folder*>& folders, const Strings& fields) {
    arguments.attributes.Set("fields", fields);
    Strings indexes;
    for (const Folder* const folder : folders) indexes.push_back("mds:" + folder->index());
    MultiFileOptions one_by_one;
    one_by_one.cycle_length = 1;
    return OpenFiles(indexes, {}, arguments, one_by_one);
  };
  const Strings whole = {"'' | 0", "'x' | 1", "'xx' | 2"}, half = {"'' | 7", "'' | 8"};
  const auto joined = [](Strings first, const Strings& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  for (const int threads : {0, 3}) {
    const PoolSize pool(threads);
    const Strings fields = {"text bytes missing=default", "n int64[]"};
    EXPECT_EQ(TextsOf(open({&all, &some}, fields).get()), joined(whole, half));
    EXPECT_EQ(TextsOf(open({&some, &all}, fields).get()), joined(half, whole));
    EXPECT_EQ(open({&some, &all}, fields)->PassLength(), 5u);
  }
  const Strings skip = {"text bytes missing=skip", "n int64[]"};
  EXPECT_EQ(TextsOf(open({&some, &all}, skip).get()), whole);
  EXPECT_EQ(open({&some, &all}, skip)->PassLength(), 3u);
  for (const char* option : {"default=0.5", "missing=default", "missing=mask", "missing=skip"}) {
    ExpectError(ErrorCode::kDataLoss,
                "no column is named 'texts'; there are 'n'; missing= and default= are for columns "
                "that some of the files have, and none has this one",
                [&] {
                  const Strings fields = {"n int64[]", StrCat("texts float32[2] ", option)};
                  TextsOf(open({&some, &all}, fields).get());
                });
  }
  ExpectError(ErrorCode::kDataLoss, "its columns are others", [&] {
    TextsOf(open({&all, &some}, {"n int64[] default=0"}).get());
  });
  ExpectError(ErrorCode::kDataLoss, "no column is named 'text'; there are 'n'",
              [&] { TextsOf(open({&some}, {"text bytes"}).get()); });
}

// ---- Errors. ----

void ExpectIndexProblem(const std::string& index, const std::string& words) {
  const Folder folder;
  folder.Write("index.json", index);
  ExpectError(ErrorCode::kDataLoss, words, [&] { ReadAll(Reader(folder, {"n int64[]"}).get()); });
}

TEST(Mds, RefusesWhatIsNoIndex) {
  const auto named = [](const std::string& name) {
    return MdsIndexOf({MdsEntry(Columns(), name, 100, 1)});
  };
  for (const char* name : {"../a", "/etc/passwd", "a/../../b", "", "a//b", "x://a", "./a", "a/"}) {
    ExpectIndexProblem(named(name), "which is no name in the folder of the index");
  }
  ExpectIndexProblem("", "no index of MDS shards");
  ExpectIndexProblem("[]", "it has no number of version");
  ExpectIndexProblem(R"({"shards": [], "version": 3})", "its version is 3, not 2");
  ExpectIndexProblem(R"({"version": 2})", "it has no list of shards");
  ExpectIndexProblem(R"({"shards": [1], "version": 2})", "a shard is no object");
  ExpectIndexProblem(R"({"shards": [{"format": "json"}], "version": 2})", "is 'json'; of all");
  ExpectIndexProblem(MdsIndexOf({MdsEntry(Columns(), "a", 100, 0)}), "shard 0 has no samples");
  ExpectIndexProblem(MdsIndexOf({MdsEntry(Columns(), "a", 100, 26)}), "26 samples in 100 bytes");
  ExpectIndexProblem(MdsIndexOf({MdsEntry(Columns(), "a", uint64_t{1} << 32, 1)}), "4 GiB");
  ExpectIndexProblem(MdsIndexOf({MdsEntry({{"n", "int", 8}, {"n", "int", 8}}, "a", 100, 1)}),
                     "two columns are named 'n'");
  ExpectIndexProblem(std::string(100, '[') + std::string(100, ']'), "nested too deeply");
}

void ExpectShardProblem(const std::string& shard, uint64_t bytes, uint64_t samples,
                        const std::string& words) {
  const Folder folder;
  folder.Write("a.mds", shard);
  folder.Write("index.json", MdsIndexOf({MdsEntry(Columns(), "a.mds", bytes, samples)}));
  ExpectError(ErrorCode::kDataLoss, words, [&] { ReadAll(Reader(folder, {"n int64[]"}).get()); });
}

TEST(Mds, RefusesShardsThatAreNotWhatTheirIndexSays) {
  const std::string shard = MdsShardOf(Samples(2));
  const size_t size = shard.size();
  ExpectShardProblem(shard, size + 1, 2, StrCat("the shard has ", size, " bytes, its index says"));
  ExpectShardProblem(shard, size, 1, "the shard says that it has 2 samples, its index 1");
  ExpectShardProblem(std::string(8, '\0'), 8, 1, "the shard ends in the table of its 1 samples");
  const auto with = [&](size_t at, uint32_t number) {
    return std::string(shard).replace(at, 4, LittleEndian(number));
  };
  ExpectShardProblem(with(4, 15), size, 2, "sample 0 begins at byte 15, in the table of 16 bytes");
  ExpectShardProblem(with(12, 77), size, 2, "the last sample ends at byte 77 of ");
  ExpectShardProblem(with(8, 10), size, 2, "sample 0 lies between the bytes");
  ExpectShardProblem(with(8, 9999), size, 2, "sample 0 lies between the bytes");
  ExpectShardProblem(with(33, 5), size, 2, "column 'text' has 5 bytes, but 0 of the sample's 12");
  ExpectShardProblem(with(33, 5), size, 2, "in the sample at byte 33 of a.mds");
}

TEST(Mds, SaysWhatItCannotExpand) {
  const Folder folder;
  folder.WriteShards(Columns(), Samples(2), 2, "zstd");
  const size_t zip = std::filesystem::file_size(
      folder.index().substr(0, folder.index().size() - 10) + "0.mds.zstd");
  const auto expect = [&](const std::string& entry, const std::string& words) {
    folder.Write("index.json", MdsIndexOf({entry}));
    ExpectError(ErrorCode::kDataLoss, words, [&] { ReadAll(Reader(folder, {"n int64[]"}).get()); });
  };
  const size_t raw = MdsShardOf(Samples(2)).size();
  expect(MdsEntry(Columns(), "0.mds", raw + 1, 2, "zstd", zip), "the shard has fewer than the");
  expect(MdsEntry(Columns(), "0.mds", raw - 1, 2, "zstd", zip), "the shard has more than the");
  expect(MdsEntry(Columns(), "0.mds", raw, 2, "zstd", zip + 1), "bytes, its index says");
  expect(MdsEntry(Columns(), "0.mds", raw, 1, "zstd", zip), "it has 2 samples, its index 1");
  expect(MdsEntry(Columns(), "0.mds", raw, 2, "br", zip), "the shard is compressed by 'br'; zstd");
}

// Whatever is damaged, there is an error that is no bug, or samples that may be others. With
// zstd, whose frames have a checksum here, they are the right ones.
TEST(Mds, SurvivesEveryDamage) {
  for (const std::string& compression : {std::string(), std::string("zstd")}) {
    const Folder folder;
    folder.WriteShards(Columns(), Samples(4), 4, compression);
    const PoolSize pool(0);
    const std::string base = folder.index().substr(0, folder.index().size() - 10);
    const std::string shard = compression.empty() ? "0.mds" : "0.mds.zstd";
    const Strings fields = {"n int64[]", "text bytes"};
    const Strings whole = TextsOf(Reader(folder, fields).get());
    for (const std::string& name : {std::string("index.json"), shard}) {
      const std::string content = ReadFile(base + name);
      const auto check = [&](const std::string& damaged, bool may_differ) {
        folder.Write(name, damaged);
        try {
          const Strings texts = TextsOf(Reader(folder, fields).get());
          EXPECT_EQ(texts.size(), whole.size());
          EXPECT_TRUE(may_differ || texts == whole);
        } catch (const Error& error) {
          EXPECT_TRUE(error.code() != ErrorCode::kInternal && !error.file().empty())
              << error.what();
        }
      };
      for (size_t bit = 0; bit < 8 * content.size(); ++bit) {
        SCOPED_TRACE(StrCat(name, " bit ", bit));
        check(FlipBit(content, bit), compression.empty() && name == shard);
      }
      for (size_t size = 0; size < content.size(); ++size) check(content.substr(0, size), false);
      folder.Write(name, content);
    }
  }
}

}  // namespace
}  // namespace millhopper
