// SPDX-License-Identifier: Apache-2.0
// Tar archives in WebDataset's form: records, fields, limits, damage, and the real files with known
// truth. tar_member_test.parser.cc has the headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/compressed.h"
#include "tests/files/tars.h"
#include "tests/outcome.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

std::unique_ptr<ReaderBase> Reader(const std::string& path, const Strings& fields,
                                   BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  arguments.buffer_type = buffer_type;
  arguments.attributes.Set("fields", fields);
  return OpenFile(*FindFileFormat("tar"), path, "", arguments);
}

// The slots of each record as text: bytes as they are, numbers in brackets.
std::string TextOf(const ElementValue& element) {
  std::string text;
  for (const SlotValue& slot : element) {
    if (&slot != &element[0]) text += "|";
    if (slot.dtype == DataType::kUint8) {
      text += slot.bytes;
      continue;
    }
    text += "[";
    for (size_t i = 0; i < slot.bytes.size(); i += SizeOf(slot.dtype)) {
      if (i > 0) text += " ";
      if (slot.dtype == DataType::kInt64) {
        int64_t number;
        std::memcpy(&number, &slot.bytes[i], sizeof(number));
        text += StrCat(number);
      } else {
        float number;
        std::memcpy(&number, &slot.bytes[i], sizeof(number));
        text += StrCat(number);
      }
    }
    text += "]";
  }
  return text;
}

Strings RecordsOf(ReaderBase* reader) {
  Strings records;
  for (const ElementValue& element : ReadAll(reader)) records.push_back(TextOf(element));
  return records;
}

// What an archive gives, plain and through a stream, which must be the same.
Strings RecordsIn(const std::string& archive, const Strings& fields) {
  const TempFile plain("a.tar", archive);
  const TempFile packed("a.tar.gz", Gzipped(archive));
  Strings records = RecordsOf(Reader(plain.path(), fields).get());
  EXPECT_EQ(records, RecordsOf(Reader(packed.path(), fields).get()));
  EXPECT_EQ(records, RecordsOf(Reader(plain.path(), fields, BufferType::kMmap).get()));
  return records;
}

std::string File(const std::string& name, const std::string& content) {
  return TarMemberBytes(name, content);
}

// ---- Records. ----

TEST(Tar, MakesARecordOfTheFilesWithOneKey) {
  const std::string archive = TarOf({{"1.jpg", "image 1"},
                                     {"1.cls", "7\n"},
                                     {"2.cls", " 8 "},
                                     {"2.jpg", ""},
                                     {"sub/3.jpg", "image 3"},
                                     {"sub/3.CLS", "-9"}});
  EXPECT_EQ(RecordsIn(archive, {"jpg bytes", "cls int64[] decode=text", "__key__ bytes"}),
            (Strings{"image 1|[7]|1", "|[8]|2", "image 3|[-9]|sub/3"}));
  EXPECT_EQ(RecordsIn(archive, {"CLS bytes"}), (Strings{"7\n", " 8 ", "-9"}));
}

TEST(Tar, LeavesOutWhatWebDatasetLeavesOut) {
  const std::string archive =
      TarMemberBytes("pax_global_header", PaxRecord("comment", "c0ffee"), 'g') +
      TarHeader("d/", 0, '5') + File("README", "no dot") + File("__meta__/0.txt", "meta") +
      File("1.txt", "one") + TarHeader("d/e/", 0, '5') + File(".hidden", "x") + File("1.cls", "1") +
      File("LICENSE", std::string(3000, 'x')) + File("2.txt", "two") + File("2.cls", "2") +
      File("END", "end") + TarEnd();
  EXPECT_EQ(RecordsIn(archive, {"txt bytes", "cls bytes"}), (Strings{"one|1", "two|2"}));
}

TEST(Tar, LeavesOutWhatSystemsLeaveBesideFiles) {
  const std::string archive = TarOf({{"set/._1.a", "x"},
                                     {"set/1.a", "one"},
                                     {"set/._1.cls", "x"},
                                     {"set/.DS_Store", "x"},
                                     {"set/1.cls", "1"},
                                     {"__MACOSX/set/._1.a", "x"},
                                     {"set/__MACOSX/1.a", "x"},
                                     {".ipynb_checkpoints/1.a", "x"},
                                     {"set/.git/deep/1.a", "x"},
                                     {"./set/2.a", "two"},
                                     {"./set/._2.cls", "x"},
                                     {"./set/2.cls", "2"},
                                     {"../up/3.a", "three"},
                                     {"../up/3.cls", "3"},
                                     {"a__MACOSX/4.a", "four"},
                                     {"a__MACOSX/4.cls", "4"}});
  EXPECT_EQ(RecordsIn(archive, {"a bytes", "cls bytes", "__key__ bytes"}),
            (Strings{"one|1|set/1", "two|2|./set/2", "three|3|../up/3", "four|4|a__MACOSX/4"}));
}

TEST(Tar, MayBeEmptyOrLackItsEnd) {
  const Strings fields = {"a bytes"};
  const std::string files = File("1.a", "x") + File("2.a", "y");
  EXPECT_EQ(RecordsIn(TarEnd(), fields), Strings{});
  EXPECT_EQ(RecordsIn(std::string(10240, '\0'), fields), Strings{});
  EXPECT_EQ(RecordsIn(std::string(100, '\0'), fields), Strings{});
  EXPECT_EQ(RecordsIn("", fields), Strings{});
  EXPECT_EQ(RecordsIn(TarHeader("d/", 0, '5'), fields), Strings{});
  for (const size_t zeros : {0, 1, 511, 512, 513, 1024, 10240, 3 << 20}) {
    EXPECT_EQ(RecordsIn(files + std::string(zeros, '\0'), fields), (Strings{"x", "y"})) << zeros;
  }
  EXPECT_EQ(RecordsIn(files.substr(0, files.size() - 511), fields), (Strings{"x", "y"}));
  // A tape's last blocks may hold anything.
  EXPECT_EQ(RecordsIn(files + TarEnd() + std::string(4 << 20, 'z'), fields), (Strings{"x", "y"}));
}

TEST(Tar, IsKnownByItsName) {
  const std::string archive = TarOf({{"1.a", "x"}});
  const std::pair<const char*, std::string> files[] = {{"a.tar", archive},
                                                       {"a.tgz", Gzipped(archive)},
                                                       {"a.tar.gz", Gzipped(archive)},
                                                       {"a.tar.zst", Zstd(archive)},
                                                       {"a.tar.lz4", Lz4(archive)},
                                                       {"wrong.tar.gz", archive},
                                                       {"b.tgz", archive}};
  for (const auto& [name, content] : files) {
    const TempFile file(name, content);
    FormatArguments arguments;
    arguments.attributes.Set("fields", Strings{"a bytes"});
    EXPECT_EQ(RecordsOf(OpenFiles({file.path()}, {}, arguments, {}).get()), Strings{"x"}) << name;
  }
}

// Records of all sizes, some larger than a block of the file, and headers at every place in it.
TEST(Tar, KeepsTheOrderForAnyNumberOfThreads) {
  TarFiles files;
  Strings records;
  for (size_t i = 0; i < 2000; ++i) {
    const std::string key = StrCat("dir/", i);
    std::string content(i * 7919 % 3001, static_cast<char>('a' + i % 26));
    if (i == 500) content = std::string(3 * kReadBlockBytes + 17, 'L');
    if (i == 1500) content = std::string(kReadBlockBytes - 1024, 'M');
    files.emplace_back(key + ".txt", content);
    files.emplace_back(key + ".cls", StrCat(i));
    if (i % 7 == 0) files.emplace_back("NOTE", std::string(i, 'n'));
    records.push_back(StrCat(content, "|[", i, "]"));
  }
  const std::string archive = TarOf(files);
  const TempFile plain("a.tar", archive);
  const TempFile gzip("a.tar.gz", Gzipped(archive));
  const TempFile zstd("a.tar.zst", Zstd(archive));
  const Strings fields = {"txt bytes", "cls int64[] decode=text"};
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    EXPECT_TRUE(RecordsOf(Reader(plain.path(), fields).get()) == records) << threads;
    EXPECT_TRUE(RecordsOf(Reader(plain.path(), fields, BufferType::kMmap).get()) == records);
    EXPECT_TRUE(RecordsOf(Reader(gzip.path(), fields).get()) == records) << threads;
    EXPECT_TRUE(RecordsOf(Reader(zstd.path(), fields).get()) == records) << threads;
  }
}

TEST(Tar, LeavesOutChunksOfOtherShards) {
  TarFiles files;
  for (size_t i = 0; i < 300; ++i) files.emplace_back(StrCat(i, ".a"), std::string(20000, 'x'));
  const TempFile file("a.tar", TarOf(files));
  Strings shared;
  for (int64_t shard = 0; shard < 2; ++shard) {
    ShardReader reader(Reader(file.path(), {"__key__ bytes"}), 2, shard, ShardBy::kChunk);
    const Strings some = RecordsOf(&reader);
    EXPECT_LT(some.size(), files.size());
    shared.insert(shared.end(), some.begin(), some.end());
  }
  EXPECT_EQ(shared.size(), files.size());
  // Which records are left out is known only when they have been read.
  ExpectError(ErrorCode::kInvalidArgument, "use by: \"record\"", [&] {
    ShardReader(Reader(file.path(), {"b bytes missing=skip"}), 2, 0, ShardBy::kChunk);
  });
}

// ---- Fields. ----

TEST(Tar, TakesTheFirstExtensionThatIsThere) {
  const std::string archive =
      TarOf({{"1.png", "p"}, {"2.jpeg", "e"}, {"3.png", "p"}, {"3.jpg", "j"}});
  EXPECT_EQ(RecordsIn(archive, {"jpg;jpeg;png bytes"}), (Strings{"p", "e", "j"}));
  EXPECT_EQ(RecordsIn(archive, {"png;jpg;jpeg bytes"}), (Strings{"p", "e", "p"}));
}

TEST(Tar, ReadsNumbersFromText) {
  const std::string archive = TarOf(
      {{"1.cls", "3\n"}, {"1.box", "1.5, 2,3\t4\r\n"}, {"1.ids", "7 8 9"}, {"1.word", "b\n"}});
  const TempFile words("words", "a\nb\nc\n");
  EXPECT_EQ(RecordsIn(archive, {"cls int64[] decode=text", "box float32[4] decode=text",
                                "ids int64[-1] decode=text", "word int64[] vocab=" + words.path()}),
            Strings{"[3]|[1.5 2 3 4]|[7 8 9]|[1]"});
}

TEST(Tar, ReadsValuesOfJson) {
  const std::string archive =
      TarOf({{"1.json", R"({"label": 5, "box": [1, 2], "by": {"name": "Ann"}})"},
             {"1.a", "x"},
             {"2.a", "y"},
             {"2.json", R"({"label": 6, "box": [], "by": {"name": "Bob"}})"}});
  EXPECT_EQ(RecordsIn(archive, {"json:label int64[] decode=json", "a bytes", "json:/by/name bytes",
                                "json:box float32[-1]"}),
            (Strings{"[5]|x|Ann|[1 2]", "[6]|y|Bob|[]"}));
  EXPECT_EQ(RecordsIn(archive, {"json bytes", "json:label int64[]"})[0],
            R"({"label": 5, "box": [1, 2], "by": {"name": "Ann"}}|[5])");
}

TEST(Tar, DoesAboutMissingFilesAsTheFieldSays) {
  const std::string archive = TarOf({{"1.a", "x"},
                                     {"1.cls", "1"},
                                     {"2.a", "y"},
                                     {"3.cls", "3"},
                                     {"4.a", "z"},
                                     {"4.cls", " \n"},
                                     {"5.a", ""},
                                     {"5.cls", "5"}});
  EXPECT_EQ(RecordsIn(archive, {"a bytes missing=default", "cls int64[] decode=text default=-1"}),
            (Strings{"x|[1]", "y|[-1]", "|[3]", "z|[-1]", "|[5]"}));
  EXPECT_EQ(RecordsIn(archive, {"a bytes missing=skip", "cls int64[] decode=text missing=skip"}),
            (Strings{"x|[1]", "|[5]"}));
  const std::string json =
      TarOf({{"1.json", R"({"n": 1})"}, {"2.json", "{}"}, {"3.a", ""}, {"4.json", R"({"n": 4})"}});
  EXPECT_EQ(RecordsIn(json, {"json:n int64[] default=0"}), (Strings{"[1]", "[0]", "[0]", "[4]"}));
  EXPECT_EQ(RecordsIn(json, {"json:n int64[] missing=skip"}), (Strings{"[1]", "[4]"}));
}

TEST(Tar, RefusesFieldsThatItCannotFill) {
  const TempFile file("a.tar", TarEnd());
  const auto expect = [&](const std::string& field, const std::string& words) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { Reader(file.path(), {field}); });
  };
  expect("cls int64[]", "field 'cls': a file is bytes, so write cls bytes; or decode=text");
  expect("json/w int64[]", "a value in a file of JSON is json:label or json:/boxes/0");
  expect("json int64[] decode=json", "such as 'json:label' or 'json:/boxes/0'");
  expect("jpg;;png bytes", "field 'jpg;;png' has an empty extension");
  expect("json: bytes", "a field without a name");
  ExpectError(ErrorCode::kInvalidArgument, "tar needs the attribute fields, the extensions",
              [&] { Reader(file.path(), {}); });
}

TEST(Tar, GuessesFieldsByTheFirstRecords) {
  const auto guess = [](const std::string& archive) {
    const TempFile file("a.tar", archive);
    return FindFileFormat("tar")->guess_fields(file.path(), {}).entries;
  };
  EXPECT_EQ(guess(TarOf({{"1.jpg", "x"},
                         {"1.cls", "4\n"},
                         {"1.a b", "y"},
                         {"2.jpg", "x"},
                         {"2.cls", "5"},
                         {"2.a b", "y"}})),
            (Strings{"__key__ bytes", "\"a b\" bytes", "cls int64[] decode=text", "jpg bytes"}));
  EXPECT_EQ(
      guess(Gzipped(TarOf({{"1.a", "x"}, {"2.cls", "5"}}))),
      (Strings{"__key__ bytes", "a bytes missing=mask", "cls int64[] decode=text missing=mask"}));
  // A text is no integer because it looks so, and a label may be a text.
  EXPECT_EQ(guess(TarOf({{"1.cls", "1"}, {"1.txt", "1"}, {"2.cls", "dog"}, {"2.txt", "2"}})),
            (Strings{"__key__ bytes", "cls bytes", "txt bytes"}));
  EXPECT_EQ(guess(TarEnd()), Strings{});
  const TempFile odd("a.tar", TarOf({{"1.a", "x"}, {"1.b:c", "y"}, {"1.", "z"}}));
  const FittingFields fields = FindFileFormat("tar")->guess_fields(odd.path(), {});
  EXPECT_EQ(fields.entries, (Strings{"__key__ bytes", "a bytes"}));
  EXPECT_EQ(fields.left_out, (Strings{"'': the extension cannot be the name of a field",
                                      "'b:c': the extension cannot be the name of a field"}));
}

TEST(Tar, RefusesFilesThatNoFieldNames) {
  const Strings fields = {"__key__ bytes", "a bytes"};
  const std::string archive = TarOf({{"1.a", "x"}, {"2.a", "x"}, {"2.later", "y"}});
  EXPECT_EQ(RecordsIn(archive, fields), (Strings{"1|x", "2|x"}));
  const auto strict = [&](const std::string& content) {
    const TempFile file("a.tar", content);
    const std::unique_ptr<ReaderBase> reader =
        FieldReader("tar", file.path(), fields, {{"others", std::string("error")}});
    return ReadAll(reader.get()).size();
  };
  ExpectError(ErrorCode::kDataLoss,
              "the record '2' has the file '2.later', which no field names: add the field \"later "
              "bytes missing=mask\", or others \"ignore\" leaves out what no field names",
              [&] { strict(archive); });
  EXPECT_EQ(strict(TarOf({{"1.a", "x"}})), 1u);
}

// ---- Errors. ----

// The error of reading, and how many records come before it; plain and through a stream.
void ExpectProblem(const std::string& archive, const Strings& fields, const std::string& words,
                   int64_t offset, size_t before = 0, ErrorCode code = ErrorCode::kDataLoss) {
  const TempFile plain("a.tar", archive);
  const TempFile packed("a.tar.gz", Gzipped(archive));
  for (const TempFile* const file : {&plain, &packed}) {
    const Outcome outcome = OutcomeOf(Reader(file->path(), fields).get());
    EXPECT_EQ(outcome.elements.size(), before) << words;
    ASSERT_TRUE(outcome.error.has_value()) << words;
    const std::string text = outcome.error->what();
    EXPECT_NE(text.find(words), std::string::npos) << text << "\nlacks: " << words;
    EXPECT_EQ(outcome.error->code(), code) << text;
    EXPECT_EQ(outcome.error->file(), file->path());
    EXPECT_EQ(outcome.error->offset(), offset) << text;
  }
}

TEST(Tar, SaysWhatIsWrongWithAMember) {
  const Strings fields = {"a bytes"};
  const std::string one = File("1.a", "x");
  const std::string two = one + File("2.a", "y");
  ExpectProblem(two + TarHeader("3.a", 0, '1') + TarEnd(), fields, "'3.a' is a hard link", 2048, 1);
  ExpectProblem(two + TarHeader("link", 0, '2') + TarEnd(), fields, "'link' is a symbolic link",
                2048, 1);
  ExpectProblem(FlipBit(two + File("3.a", "z") + TarEnd(), size_t{8} * 2048), fields,
                ": the checksum of its header is", 2048, 1);
  ExpectProblem(one + "text, which is no header", fields, "the file ends 24 bytes into its headers",
                1024);
  ExpectProblem(one + TarHeader("x", 5, 'L') + TarBlocks("2.a") + TarEnd(), fields,
                "has no member after it", 2048);
  ExpectProblem(std::string(2000, 'x'), fields, "the checksum of its header is", 0);
}

// What lies between the parts decides in which chunk, and in which block of a stream, each is.
TEST(Tar, SaysWhereBothPartsOfARecordAreThatLieApart) {
  const Strings fields = {"a bytes missing=default", "b bytes missing=default"};
  const std::string begin = File("0.a", "x");
  const auto expect = [&](const std::string& archive, const std::string& key, uint64_t first,
                          uint64_t second, size_t before) {
    for (const bool packed : {false, true}) {
      const TempFile file(packed ? "a.tar.gz" : "a.tar", packed ? Gzipped(archive) : archive);
      for (const int threads : {0, 3}) {
        const PoolSize pool(threads);
        const Outcome outcome = OutcomeOf(Reader(file.path(), fields).get());
        EXPECT_EQ(outcome.elements.size(), before) << packed;
        ASSERT_TRUE(outcome.error.has_value());
        const std::string text = outcome.error->what();
        const std::string words = StrCat(
            "other files of '", key, "' are at byte ", first,
            packed ? " of the decompressed content" : "",
            ", with files of other records between them; the files of a record must follow one "
            "another, as they do in the order of their names (tar --sort=name)");
        EXPECT_NE(text.find(words), std::string::npos) << text << "\nlacks: " << words;
        EXPECT_EQ(outcome.error->offset(), static_cast<int64_t>(second)) << text;
        EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss);
      }
    }
  };
  // In one block neither half is given out; nor is what follows the first.
  expect(begin + File("d/1.a", "x") + File("2.a", "y") + File("d/1.b", "z") + TarEnd(), "d/1", 1024,
         3072, 1);
  expect(
      begin + File("1.a", "x") + File("2.a", "y") + File("1.b", "z") + File("3.a", "x") + TarEnd(),
      "1", 1024, 3072, 1);
  expect(File("1.a", "x") + File("2.a", "y") + File("2.b", "y") + File("1.b", "z") + TarEnd(), "1",
         0, 3072, 0);
  // One of two files again is a part as well.
  expect(
      begin + File("1.a", "x") + File("1.b", "x") + File("2.a", "y") + File("1.b", "z") + TarEnd(),
      "1", 1024, 4096, 1);
  // Blocks later the first half has been given out, and so has all before the second.
  for (const size_t size : {size_t{100}, kReadBlockBytes / 2 - 2048, kReadBlockBytes + 1}) {
    SCOPED_TRACE(size);
    std::string between;
    size_t records = 0;
    while (between.size() < 3 * kReadBlockBytes) {
      between += File(StrCat("x", records++, ".a"), std::string(size, 'y'));
    }
    expect(begin + File("1.a", "x") + between + File("1.b", "z") + TarEnd(), "1", 1024,
           2048 + between.size(), 2 + records);
    expect(begin + between + File("1.a", "x") + File("2.a", "y") + File("1.b", "z") + TarEnd(), "1",
           1024 + between.size(), 3072 + between.size(), 1 + records);
  }
}

// As in archives that have been joined, or that have a second round of the same records.
TEST(Tar, MayHaveAKeyAgainWithTheSameExtensions) {
  const std::string archive = TarOf({{"1.a", "x"},
                                     {"1.b", "y"},
                                     {"2.a", "z"},
                                     {"1.b", "v"},
                                     {"1.a", "u"},
                                     {"2.a", "w"},
                                     {"1.a", "s"},
                                     {"1.b", "t"}});
  EXPECT_EQ(RecordsIn(archive, {"a bytes", "b bytes missing=default"}),
            (Strings{"x|y", "z|", "u|v", "w|", "s|t"}));
}

// A reader that begins within an archive knows of what follows.
TEST(Tar, NoticesPartsOfARecordWhereverItBegins) {
  TarFiles files;
  for (size_t i = 0; i < 300; ++i) files.emplace_back(StrCat(i, ".a"), std::string(20000, 'x'));
  files.emplace_back("298.b", "y");
  const TempFile file("a.tar", TarOf(files));
  ShardReader last(Reader(file.path(), {"__key__ bytes"}), 2, 1, ShardBy::kChunk);
  ExpectError(ErrorCode::kDataLoss, "other files of '298' are at byte", [&] { RecordsOf(&last); });
}

TEST(Tar, IsCutOnlyIfAMemberIs) {
  const Strings fields = {"a bytes"};
  const std::string archive = TarOf({{"1.a", "xyz"}, {"2.a", std::string(600, 'y')}});
  ExpectProblem(archive.substr(0, 512 + 2), fields,
                "'1.a' has 3 bytes, but the file ends 1 bytes too early", 0);
  ExpectProblem(archive.substr(0, 1024 + 512 + 599), fields,
                "'2.a' has 600 bytes, but the file ends 1 bytes too early", 1024, 1);
  ExpectProblem(archive.substr(0, 1024 + 17), fields, "the file ends 17 bytes into its headers",
                1024);
  EXPECT_EQ(RecordsIn(archive.substr(0, 1024 + 512 + 600), fields).size(), 2u);
}

TEST(Tar, BelievesNoSize) {
  const Strings fields = {"a bytes"};
  for (const uint64_t size : {uint64_t{1} << 20, uint64_t{1} << 31, (uint64_t{1} << 33) - 1}) {
    const std::string archive = File("1.a", "x") + TarHeader("2.a", size);
    const TempFile plain("a.tar", archive);
    const TempFile packed("a.tar.gz", Gzipped(archive));
    for (const TempFile* const file : {&plain, &packed}) {
      const Outcome outcome = OutcomeOf(Reader(file->path(), fields).get());
      EXPECT_EQ(outcome.elements.size(), 1u);
      ASSERT_TRUE(outcome.error.has_value());
      EXPECT_NE(std::string(outcome.error->what()).find(StrCat("'2.a' has ", size, " bytes")),
                std::string::npos)
          << outcome.error->what();
      EXPECT_EQ(outcome.error->offset(), 1024);
    }
  }
}

TEST(Tar, NamesBothFilesWithOneExtension) {
  const Strings fields = {"a bytes"};
  const std::string archive =
      TarOf({{"0.a", ""}, {"1.a", "x"}, {"1.b", "y"}, {"1.A", "z"}, {"2.a", ""}});
  ExpectProblem(archive, fields, "'1.A' is the second file of '1' with the extension 'a'", 2560, 1);
  ExpectProblem(archive, fields, "the first is at byte 512", 2560, 1);
}

TEST(Tar, HasALimitForTheFilesOfARecord) {
  TarFiles files = {{"0.a", ""}};
  for (int i = 0; i < 4097; ++i) files.emplace_back(StrCat("photo.", i), "");
  ExpectProblem(TarOf(files), {"a bytes"}, "the record 'photo' has more than 4096 files",
                int64_t{512} * 4097, 1, ErrorCode::kResourceLimit);
  files.pop_back();
  EXPECT_EQ(RecordsIn(TarOf(files), {"a bytes missing=skip"}).size(), 1u);
}

// Silence would lose the second one.
TEST(Tar, NoticesAnArchiveBehindTheEnd) {
  const std::string one = TarOf({{"1.a", "x"}});
  const std::string words = "it lies after the end of the archive";
  ExpectProblem(one + TarOf({{"2.a", "y"}}), {"a bytes"}, words, 2048, 1);
  ExpectProblem(one + std::string(8192, '\0') + TarOf({{"2.a", "y"}}), {"a bytes"}, words,
                2048 + 8192, 1);
  // A header that was overwritten with zeros is no end, either.
  std::string damaged = TarOf({{"1.a", "x"}, {"2.a", "yyy"}, {"3.a", "z"}});
  damaged.replace(1024, 512, 512, '\0');
  ExpectProblem(damaged, {"a bytes"}, words, 2048, 1);
}

TEST(Tar, SaysWhichValueIsWrong) {
  const std::string archive = TarOf({{"d/1.cls", "1"},
                                     {"d/2.b", "x"},
                                     {"d/2.cls", "two"},
                                     {"d/3.json", "{"},
                                     {"d/3.cls", "1 2"}});
  ExpectProblem(archive, {"cls int64[] decode=text"},
                "field 'cls' of 'd/2': 'two' is no int64\n"
                "  in the group of files, which begins at byte 1024",
                1024, 1);
  ExpectProblem(archive, {"class int64[] decode=text"},
                "field 'class' of 'd/1': the record has no such file; it has 'cls' (default=", 0);
  ExpectProblem(archive, {"csl int64[] decode=text"}, "it has 'cls'; did you mean 'cls'? (", 0);
  ExpectProblem(archive, {"json:n int64[]"}, "the record has no such file; it has 'cls' (", 0);
  ExpectProblem(archive, {"cls int64[2] decode=text"},
                "field 'cls' of 'd/1': it has 1 value, 2 are declared", 0);
  ExpectProblem(archive, {"json:n int64[] missing=skip"},
                "field 'json' of 'd/3': the record is no JSON", 3072);
}

// Values of JSON are never inferred, so that their errors do not speak of it.
TEST(Tar, SaysWhatReadsAnotherValueOfJson) {
  const auto problem = [](const std::string& json) {
    const TempFile file("a.tar", TarOf({{"1.json", json}}));
    try {
      ReadAll(Reader(file.path(), {"json:n int64[]"}).get());
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_THAT(problem(R"({"n": 1.5})"), testing::EndsWith("; float64[] reads it"));
  EXPECT_THAT(problem(R"({"n": "x"})"),
              testing::EndsWith("; str decode=json reads any value, as its text"));
  EXPECT_THAT(problem(R"({"n": null})"),
              testing::EndsWith("missing=skip after the field allow that) (at byte 6 of the JSON); "
                                "str decode=json reads any value, as its text"));
}

// ---- Real files. ----

// By Python's tarfile and webdataset's rule: for each record, in order, and each extension, sorted,
// key LF extension LF content.
TEST(Tar, ReadsTheFilesOfOthersAsTheTruthSays) {
  const std::string folder = TestData();
  if (folder.empty()) GTEST_SKIP() << kNoTestData;
  constexpr struct {
    const char *name, *extension;
    size_t records, bytes;
    const char* sha256;
  } kFiles[] = {
      {"testgz.tar", "txt.gz", 1000, 836805,
       "cd3310f6297ab51188528dcdcb2d5c2fd067bce07bb504f9e37fbd40053955ee"},
      {"tendata.tar", "ten", 100, 1273600,
       "686d20bb953a2f442b96c955d235c0473b59283001a6c20f537acc32f45cfb52"},
      {"compressed.tar", "txt.gz", 3, 104,
       "b07b859ee3ba409a738d0e61eeb6c984b7f25a2ba601d790d5e406ccfdedcaba"},
      {"pytorch_data/101_ObjectCategories.tar.gz", "jpg", 10, 7068,
       "dea4e7560338c40c0da04028002a59904b4728738e24e2476e2e34398c0b5f3c"},
      {"pytorch_data/json.tar.gz", "json", 3, 138,
       "f040203c6bbf332194b5465f0e9a72efc2cfe2eaede4c5862c30c298a4e6dc16"},
      {"pytorch_data/txt.tar", "txt", 3, 57,
       "988a7cf61e387e8388030d6494fe912dc7efaa5b44c92ddec23a3bac9c8c010d"},
  };
  for (const auto& file : kFiles) {
    const std::string path = StrCat(folder, "/webdataset/", file.name);
    const std::string field = StrCat(file.extension, " bytes");
    EXPECT_EQ(FindFileFormat("tar")->guess_fields(path, {}).entries,
              (Strings{"__key__ bytes", field}))
        << file.name;
    Sha256 digest;
    size_t bytes = 0;
    const auto elements = ReadAll(Reader(path, {"__key__ bytes", field}).get());
    for (const ElementValue& element : elements) {
      const std::string head = StrCat(element[0].bytes, "\n", file.extension, "\n");
      digest.Add(head.data(), head.size());
      digest.Add(element[1].bytes.data(), element[1].bytes.size());
      bytes += element[1].bytes.size();
    }
    EXPECT_EQ(elements.size(), file.records) << file.name;
    EXPECT_EQ(bytes, file.bytes) << file.name;
    EXPECT_EQ(ToHex(digest.Value()), file.sha256) << file.name;
  }
}

// Python's tarfile has written these: a folder and two records, one with a name of 180 characters,
// one with letters that are not ASCII.
TEST(Tar, ReadsWhatPythonWrites) {
  const std::pair<const char*, const char*> kArchives[] = {
      {"ustar",
       "1f8b0800000000000203edd6310e82301840e1ce9e8213688bb43d0f018203a0014cbc8d1771e362824e88518c0"
       "24"
       "1de37b46c04fe3c4a1845878d1896ac19cfbbedb5c7fdc9b531da0a478b111c8bd2cfeb5b8a650a9bf9bf5eb22f"
       "a"
       "ccb53f97efe4ab5e7af95b4463872cef3eff1623f5e0678fc649fc54ee6a79100fdffbeff20297a7cffbbfd6f2d"
       "f"
       "d8fd1bf2281454bab4b16eca2fb413dd9ff9f69f7afa4d66ae6fdcf449c5797ea4c078befbf39a827ebdfedf42f"
       "2"
       "dfd8fc15dd1000000000000000000ffe60a249eddd000280000"},
      {"gnu",
       "1f8b0800000000000203edd7c10d82301886e19e9da213405b697b7500962040d008d500266ee322dc58cceac1c"
       "48"
       "68483690df03d07e0fee7ed4f8bb2bcc6c42f66a92479bf2df73df1ad14d7844a12c0adebb39652b251511cc587"
       "f"
       "462aaf464ce1ee73f31f7cfcc85e6cefcb59692d014f3f7ae78f5ff8787f941d4df7b028b99ffecf9cf9dfe85d6"
       "6"
       "c4f2843ffded5f6e8a7266b4aa480fd8ffd8ff37f09fb3faf3b94bba2fdcf26f6bfc0fe0f8123814d6bc6c1e4c7"
       "d"
       "2eb9d6abe7ff5dd3f67d25e09d07f00553b0ee3031d6cbe7f8fff54f3fd0bb7ff24d1e83f04b143030000000000"
       "0"
       "0006bf704165a7b7500280000"},
      {"pax",
       "1f8b0800000000000203ed983d0e823018863b7b8a9e00be567ee2607474f40a0d34380812c084db7811372e266"
       "a4"
       "2c24fc2605a62789fa1edd6e1cdfb3d6963ad739799855a02cffbec2dc37de21c047ec8b8cf2c702f2b55b457b2"
       "7"
       "5e2b88e7b3cabfaa455ac0b73f94fe4de65be25d9cf5f9014c4788dfc8d23761ecf5575d9c7ef41b0c092fd8053"
       "d"
       "5d586811fb011f1ecfc17a2df7f1986de967142ff8d73bd6509cf54aa5105f81ffe87ffffcaffd1b584ffffdfff"
       "3"
       "4e17f09ff5be93f2a00ff2fec7f92fed8ff12feb781145ffda7cd338b2e1a4fea95911ebad88ddd31efff60d87f"
       "f2"
       "05fc6f83a4689ecd033d80ffe17ff85fe349bd52ffb7b12fe8ffd1ff1f5108ff5be93fca0e000000ac8e17dc1d9"
       "0"
       "ee00280000"},
  };
  std::string deep;
  for (int i = 0; i < 24; ++i) deep += "deep/";
  for (const auto& [name, hex] : kArchives) {
    const TempFile packed("a.tar.gz", FromHex(hex));
    std::string archive(10240, '\0');
    EXPECT_EQ(ByteStream(packed.path()).Read(archive.data(), archive.size()), archive.size());
    EXPECT_EQ(RecordsIn(archive, {"__key__ bytes", "txt bytes", "cls int64[] decode=text"}),
              (Strings{deep + std::string(60, 'n') + "|long name|[1]",
                       "m\xc3\xbcnchen|gr\xc3\xbc\xc3\x9f|[2]"}))
        << name;
  }
}

}  // namespace
}  // namespace millhopper
