// SPDX-License-Identifier: Apache-2.0
// MXNet's RecordIO: parts, index files, image headers, damage, and the real file with known truth.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/compressed.h"
#include "tests/files/mxnet_records.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

std::unique_ptr<ReaderBase> Reader(const std::string& path, const std::string& index = "",
                                   BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  arguments.buffer_type = buffer_type;
  return OpenFile(*FindFileFormat("mxnet"), path, index, arguments);
}

Strings RecordsOf(ReaderBase* reader) {
  Strings records;
  for (const ElementValue& element : ReadAll(reader)) records.push_back(element[0].bytes);
  return records;
}

Strings RecordsIn(const std::string& content) {
  const TempFile file("a.rec", content);
  return RecordsOf(Reader(file.path()).get());
}

std::string Magic() { return LittleEndian(kMxnetMagic); }

// Records of all lengths modulo 4, with the magic at the begin, in the middle and at the end, twice
// in a row, and where it is not aligned.
const Strings& Sample() {
  static const auto* records = new Strings{"one",
                                           "",
                                           std::string(1000, 'x'),
                                           "four" + Magic() + "five!",
                                           Magic(),
                                           Magic() + "begins",
                                           "ends" + Magic(),
                                           "both" + Magic() + Magic() + "twice" + Magic(),
                                           "x" + Magic() + "unaligned",
                                           "last"};
  return *records;
}

TEST(Mxnet, HasTheBytesThatDmlcWrites) {
  EXPECT_EQ(MxnetRecords({"abcde"}), FromHex("0a23d7ce 05000000 6162636465 000000"));
  EXPECT_EQ(MxnetRecords({"abcd" + Magic() + "e"}),
            FromHex("0a23d7ce 04000020 61626364 0a23d7ce 01000060 65 000000"));
}

TEST(Mxnet, GivesRecordsAsBytes) {
  EXPECT_EQ(RecordsIn(MxnetRecords(Sample())), Sample());
  EXPECT_EQ(RecordsIn(""), Strings{});
  EXPECT_EQ(RecordsIn(MxnetRecords({""})), Strings{""});
}

TEST(Mxnet, IsReadThroughEveryCompression) {
  const std::string content = MxnetRecords(Sample());
  for (const std::string& stored : {Gzipped(content), Zstd(content), Lz4(content)}) {
    EXPECT_EQ(RecordsIn(stored), Sample());
  }
}

TEST(Mxnet, IsKnownByItsNameAndByItsFirstBytes) {
  for (const char* name : {"a.rec", "a.rec.gz", "a"}) {
    const std::string content = MxnetRecords(Sample());
    const TempFile file(name, std::string(name) == "a.rec.gz" ? Gzipped(content) : content);
    FormatArguments arguments;
    arguments.declared = {{DataType::kUint8, {-1}, 1, true}};
    EXPECT_EQ(RecordsOf(OpenFiles({file.path()}, {}, arguments, {}).get()), Sample()) << name;
  }
}

// Records of all sizes, over many chunks, some of which are larger than a block of the file.
TEST(Mxnet, KeepsTheOrderForAnyNumberOfThreads) {
  Strings records;
  for (size_t i = 0; i < 3000; ++i) {
    records.push_back(std::string(i * 7919 % 3001, static_cast<char>('a' + i % 26)));
    if (i % 7 == 0) records.back().replace(0, 4, Magic());
  }
  records[1000] = std::string(kReadBlockBytes, 'L') + Magic() + std::string(kReadBlockBytes, 'M') +
                  Magic() + "N";
  const TempFile plain("a.rec", MxnetRecords(records));
  const TempFile packed("b.rec", Gzipped(MxnetRecords(records)));
  const TempFile index("a.idx", MxnetIndex(records) + "\n");
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    EXPECT_TRUE(RecordsOf(Reader(plain.path()).get()) == records) << threads;
    EXPECT_TRUE(RecordsOf(Reader(packed.path()).get()) == records) << threads;
    EXPECT_TRUE(RecordsOf(Reader(plain.path(), index.path()).get()) == records) << threads;
    EXPECT_TRUE(RecordsOf(Reader(plain.path(), index.path(), BufferType::kMmap).get()) == records);
  }
}

TEST(Mxnet, WithAnIndexKnowsItsLengthAndLeavesChunksOut) {
  Strings records;
  for (size_t i = 0; i < 5000; ++i) records.push_back(std::string(1000, static_cast<char>(i)));
  const TempFile file("a.rec", MxnetRecords(records));
  const TempFile index("a.idx", MxnetIndex(records));
  EXPECT_EQ(Reader(file.path())->PassLength(), std::nullopt);
  EXPECT_EQ(Reader(file.path(), index.path())->PassLength(), 5000u);
  size_t shared = 0;
  for (int64_t shard = 0; shard < 2; ++shard) {
    ShardReader reader(Reader(file.path(), index.path()), 2, shard, ShardBy::kChunk);
    const size_t some = RecordsOf(&reader).size();
    EXPECT_LT(some, records.size());
    shared += some;
  }
  EXPECT_EQ(shared, records.size());
}

// ---- Images. ----

const Strings& Images() {
  static const auto* images =
      new Strings{MxnetImage({3}, 7, "\xff\xd8\xff first"), MxnetImage({-1.5}, 8, ""),
                  MxnetImage({4}, uint64_t{INT64_MAX} - 1, "third", true)};
  return *images;
}

TEST(Mxnet, ReadsTheHeaderOfImages) {
  EXPECT_EQ(TextsIn("mxnet", MxnetRecords(Images()),
                    {"label float32[]", "id int64[]", "id2 int64[]", "image bytes"}),
            (Strings{"3.0 | 7 | 8 | '\xff\xd8\xff first'", "-1.5 | 8 | 9 | ''",
                     "4.0 | 9223372036854775806 | 9223372036854775807 | 'third'"}));
  // Ids have 64 bits; some are hashes.
  EXPECT_EQ(TextsIn("mxnet", MxnetRecords({MxnetImage({1}, ~uint64_t{0} - 1, "x")}),
                    {"id uint64[]", "id2 uint64[]", "id float64[]"}),
            (Strings{"18446744073709551614 | 18446744073709551615 | 18446744073709551616.0"}));
  EXPECT_EQ(TextsIn("mxnet", MxnetRecords({MxnetImage({1, 2, 3}, 0, "x")}),
                    {"image bytes", "label int32[3]"}),
            Strings{"'x' | 1 2 3"});
  EXPECT_EQ(TextsIn("mxnet",
                    MxnetRecords({MxnetImage({1, 2}, 0, "x"), MxnetImage({7}, 0, ""),
                                  MxnetImage({}, 0, "y")}),
                    {"label float64[-1] scale=1/2"}),
            (Strings{"0.5 1.0", "3.5", "0.0"}));
}

void ExpectNoFit(const std::string& record, Strings fields, const std::string& words) {
  const TempFile file("a.rec", MxnetRecords({MxnetImage({1}, 1, "fits"), record}));
  ExpectError(ErrorCode::kDataLoss, words,
              [&] { ReadAll(FieldReader("mxnet", file.path(), std::move(fields)).get()); });
}

TEST(Mxnet, RefusesImagesThatDoNotFit) {
  ExpectNoFit("short", {"label float32[]"}, "the record has 5 bytes, its header takes 24");
  ExpectNoFit(MxnetImage({1, 2}, 0, ""), {"label float32[]"},
              "field 'label': it has 2 values, 1 is declared");
  ExpectNoFit(MxnetImage({1.5}, 0, ""), {"label int64[]"}, "field 'label': 1.5 is no int64");
  ExpectNoFit(MxnetImage({1}, uint64_t{1} << 63, ""), {"id int64[]"},
              "field 'id': 9223372036854775808 is no int64");
  ExpectNoFit(LittleEndian(~uint32_t{0}) + std::string(24, 'x'), {"image bytes"},
              "its header says that 4294967295 labels follow, but only 4 bytes do");
}

TEST(Mxnet, RefusesFieldsThatNoImageHas) {
  const auto expect = [](const std::string& field, const std::string& words) {
    const TempFile file("a.rec", "");
    ExpectError(ErrorCode::kInvalidArgument, words,
                [&] { FieldReader("mxnet", file.path(), {field}); });
  };
  expect("size int64[]", "field 'size': an image record has only label, id, id2, image");
  expect("label bytes", "an image is bytes, and the others are numbers");
  expect("image uint8[3]", "an image is bytes, and the others are numbers");
  expect("image bytes[-1]", "an image is bytes, and the others are numbers");
  expect("label int64[] missing=skip", "a record has it always");
  expect("label int64[] default=1", "a record has it always");
  expect("label int64[] hash=7", "a record has it always, and not as text");
  expect("id int64[2]", "field 'id': it is one number");
}

TEST(Mxnet, GuessesTheFieldsOfImages) {
  const auto guess = [](const Strings& records) {
    const TempFile file("a.rec", MxnetRecords(records));
    return FindFileFormat("mxnet")->guess_fields(file.path(), {}).entries;
  };
  EXPECT_EQ(guess(Images()),
            (Strings{"label float32[]", "id uint64[]", "id2 uint64[]", "image bytes"}));
  EXPECT_EQ(guess({MxnetImage({1, 2}, 0, "\x89PNG\r\n\x1a\n")}),
            (Strings{"label float32[2]", "id uint64[]", "id2 uint64[]", "image bytes"}));
  // As in files for detection, which have several labels for each object.
  EXPECT_EQ(guess({MxnetImage({1, 2}, 0, "\xff\xd8\xff"), MxnetImage({1}, 0, "\xff\xd8\xff")}),
            (Strings{"label float32[-1]", "id uint64[]", "id2 uint64[]", "image bytes"}));
  EXPECT_EQ(guess({"bytes of another kind, which have no header"}), Strings{});
  EXPECT_EQ(guess({"short"}), Strings{});
  EXPECT_EQ(guess({}), Strings{});
}

// ---- Errors. ----

std::string ProblemOf(const std::string& content, const std::string& index = "") {
  const TempFile file("a.rec", content);
  const TempFile second("a.idx", index);
  try {
    ReadAll(Reader(file.path(), index.empty() ? "" : second.path()).get());
  } catch (const Error& error) {
    EXPECT_FALSE(error.file().empty());
    EXPECT_GE(error.offset(), 0);
    return error.what();
  }
  return "";
}

void ExpectProblem(const std::string& content, const std::string& words,
                   const std::string& index = "") {
  const std::string problem = ProblemOf(content, index);
  EXPECT_NE(problem.find(words), std::string::npos) << problem << "\nlacks: " << words;
}

TEST(Mxnet, SaysWhatIsDamagedAndWhere) {
  const std::string content = MxnetRecords({"first", "second"});
  ExpectProblem(FlipBit(content, 0), "the record at byte 0: it does not begin with the magic ced7");
  ExpectProblem(FlipBit(content, size_t{8} * 16),
                "the record at byte 0: no other record begins after its 5 bytes");
  ExpectProblem(FlipBit(MxnetRecords({"abcd", "e"}), 8 * 4 + 2),
                "the record at byte 0: no other record begins after its 0 bytes");
  ExpectProblem(MxnetPart(0, "abcd" + MxnetPart(0, "e")),
                "the record at byte 0: another record begins within it");
  ExpectProblem(FlipBit(content, size_t{8} * 15), "the record at byte 0: the padding after it");
  ExpectProblem(content.substr(0, 16 + 7), "the file ends 1 bytes too early");
  ExpectProblem(content.substr(0, 16 + 15), "the file ends 1 bytes too early");
  ExpectProblem(Gzipped(content.substr(0, 26)),
                "the record at byte 16 of the decompressed content");
  ExpectProblem("plain text, which is no record file", "does not begin with the magic");
}

TEST(Mxnet, RefusesPartsInAnotherOrder) {
  const std::string good = MxnetPart(0, "good");
  ExpectProblem(good + MxnetPart(2, "x"), "the record at byte 0: no other record begins after it");
  ExpectProblem(MxnetPart(3, "x"), "it begins with a part that continues a record (its flag is 3");
  ExpectProblem(MxnetPart(1, "abcd") + good, "another record begins before its last part");
  ExpectProblem(MxnetPart(1, "abcd") + MxnetPart(1, "x"), "another record begins before its last");
  ExpectProblem(MxnetPart(1, "abc") + MxnetPart(3, "x"),
                "a part of 3 bytes is followed by another");
  ExpectProblem(MxnetPart(1, "abcd") + std::string(8, 'x'), "the magic ced7230a does not follow");
  ExpectProblem(MxnetPart(1, "abcd"), "the file ends 8 bytes too early");
  ExpectProblem(good + MxnetPart(5, "x"), "the flag of a part is 5; it is 0 to 3");
}

TEST(Mxnet, RefusesAnIndexOfAnotherFile) {
  const std::string content = MxnetRecords({"first", "second"});
  ExpectProblem(content, "line 2, '1\\t32', lies after the end", "0\t0\n1\t32\n");
  ExpectProblem(content, "line 1, '1\\t16', is the first, but is not for byte 0", "1\t16\n");
  ExpectProblem(content, "line 2, '1\\t0', does not lie after", "0\t0\n1\t0\n");
  ExpectProblem(content, "line 1, '0', is no \"key\\toffset\"", "0\n");
  ExpectProblem(content, "line 1, '0\\t0\\t7', is no \"key\\toffset\"", "0\t0\t7\n");
  ExpectProblem(content, "line 1, '0\\t-1', is no \"key\\toffset\"", "0\t-1\n");
  ExpectProblem(content, "the record at byte 16: the index does not have it", "0\t0\n");
  ExpectProblem(content, "the record at byte 16: the index does not have it", "0\t0\n1\t12\n");
  ExpectProblem(MxnetRecords({"a", "b", "c"}), "the record at byte 12: the index does not have it",
                "0\t0\n1\t24\n");
  ExpectProblem(Gzipped(content), "its index cannot tell where records begin", "0\t0\n");
  EXPECT_EQ(ProblemOf(content, "first image\t0\r\n77\t16"), "");
}

TEST(Mxnet, JoinsRecordsBeforeADamagedOne) {
  const Strings records = {"abcd" + Magic() + "e", "f"};
  const TempFile file("a.rec", MxnetRecords(records) + "damaged.");
  const TempFile index("a.idx", MxnetIndex({records[0], records[1], ""}));
  for (const BufferType type : {BufferType::kMemory, BufferType::kMmap}) {
    const auto reader = Reader(file.path(), index.path(), type);
    std::vector<LoDTensor> element;
    ASSERT_TRUE(reader->HasNext());
    reader->ReadNext(&element);
    EXPECT_EQ(TextOf(element), "'" + records[0] + "'");
    ExpectError(ErrorCode::kDataLoss,
                "the record at byte 24: no other record begins after its 1 bytes",
                [&] { reader->ReadNext(&element); });
  }
}

TEST(Mxnet, IsMappedOnlyWithAnIndex) {
  const TempFile file("a.rec", MxnetRecords(Sample()));
  ExpectError(ErrorCode::kInvalidArgument, "buffer_type \"mmap\" needs index files",
              [&] { Reader(file.path(), "", BufferType::kMmap); });
}

// ---- The real file. ----

TEST(Mxnet, ReadsTheFileOfDmlcAsTheTruthSays) {
  const std::string folder = TestData();
  if (folder.empty()) GTEST_SKIP() << kNoTestData;
  const Strings records = RecordsOf(Reader(folder + "/recordio_mxnet/dmlc_core/sample.rec").get());
  ASSERT_EQ(records.size(), 10u);
  std::string all;
  size_t longest = 0;
  for (const std::string& record : records) {
    all += record;
    longest += record.size() == 44 ? 0 : record.size();
  }
  EXPECT_EQ(longest, 54u);
  Sha256 digest;
  digest.Add(all.data(), all.size());
  EXPECT_EQ(ToHex(digest.Value()),
            "62e24dacd172de36c82df0c44c548aa4425d37cf21a41fff6be03e816407ee3c");
}

}  // namespace
}  // namespace millhopper
