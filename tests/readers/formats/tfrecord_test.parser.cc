// SPDX-License-Identifier: Apache-2.0
// TFRecord files: framing, compressions, index files, limits, and the real files with known truth.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "readers/support/byte_records.h"
#include "tests/bytes.h"
#include "tests/files/compressed.h"
#include "tests/files/tfrecords.h"
#include "tests/testing.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

using Records = std::vector<std::string>;

std::unique_ptr<ReaderBase> Reader(const std::string& path, const std::string& index = "",
                                   BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  arguments.buffer_type = buffer_type;
  arguments.declared = {BytesSlot()};  // Examples, too
  return OpenFile(*FindFileFormat("tfrecord"), path, index, arguments);
}

Records RecordsOf(ReaderBase* reader) {
  Records records;
  for (const ElementValue& element : ReadAll(reader)) records.push_back(element[0].bytes);
  return records;
}

Records RecordsIn(const std::string& content) {
  const TempFile file("a.tfrecord", content);
  return RecordsOf(Reader(file.path()).get());
}

std::string Zlib(const std::string& content) {
  std::string out(compressBound(content.size()), '\0');
  uLongf size = out.size();
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                      reinterpret_cast<const Bytef*>(content.data()), content.size(), 9),
            Z_OK);
  return out.substr(0, size);
}

const Records& Sample() {
  static const auto* records = new Records{"one", "", std::string(1000, 'x'), "four"};
  return *records;
}

TEST(TFRecord, HasTheBytesThatTensorFlowWrites) {
  // The first record of a file that TensorFlow has written: "1".
  EXPECT_EQ(TFRecords({"1"}).size(), 17u);
  EXPECT_EQ(TFRecords({""}), FromHex("0000000000000000 29039807 d8ea82a2"));
}

TEST(TFRecord, GivesRecordsAsBytes) {
  EXPECT_EQ(RecordsIn(TFRecords(Sample())), Sample());
  EXPECT_EQ(RecordsIn(""), Records{});
  EXPECT_EQ(RecordsIn(TFRecords({""})), Records{""});
}

TEST(TFRecord, IsReadThroughEveryCompression) {
  const std::string content = TFRecords(Sample());
  for (const std::string& stored : {Gzipped(content), Zlib(content), Zstd(content), Lz4(content)}) {
    EXPECT_EQ(RecordsIn(stored), Sample());
  }
}

// 0x0178 and 0x9c78 are lengths whose bytes zlib could begin with, too.
TEST(TFRecord, IsNotTakenForZlibByALength) {
  for (const size_t length : {0x0178, 0x5e78, 0x9c78, 0xda78}) {
    const Records records{std::string(length, 'z'), "end"};
    EXPECT_EQ(RecordsIn(TFRecords(records)), records) << length;
  }
}

TEST(TFRecord, IsKnownByItsNameAndByItsFirstBytes) {
  for (const char* name : {"a.tfrecord", "a.tfrecords", "a.tfrecord.gz", "a"}) {
    const std::string content = TFRecords(Sample());
    const TempFile file(name, std::string(name) == "a.tfrecord.gz" ? Gzipped(content) : content);
    SlotSpec bytes;
    bytes.dtype = DataType::kUint8;
    bytes.dims = {-1};
    bytes.lod_level = 1;
    FormatArguments arguments;
    arguments.declared = {bytes};
    EXPECT_EQ(RecordsOf(OpenFiles({file.path()}, {}, arguments, {}).get()), Sample()) << name;
  }
}

// Records of all sizes, over many chunks, some of which are larger than a block of the file.
TEST(TFRecord, KeepsTheOrderForAnyNumberOfThreads) {
  Records records;
  for (size_t i = 0; i < 3000; ++i) {
    records.push_back(std::string(i * 7919 % 3001, static_cast<char>('a' + i % 26)));
  }
  records[1000] = std::string(3 * kReadBlockBytes + 17, 'L');
  const TempFile plain("a.tfrecord", TFRecords(records));
  const TempFile packed("b.tfrecord", Gzipped(TFRecords(records)));
  const TempFile index("a.index", TFRecordIndex(records));
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    EXPECT_TRUE(RecordsOf(Reader(plain.path()).get()) == records) << threads;
    EXPECT_TRUE(RecordsOf(Reader(packed.path()).get()) == records) << threads;
    EXPECT_TRUE(RecordsOf(Reader(plain.path(), index.path()).get()) == records) << threads;
    EXPECT_TRUE(RecordsOf(Reader(plain.path(), index.path(), BufferType::kMmap).get()) == records);
  }
}

TEST(TFRecord, WithAnIndexKnowsItsLengthAndLeavesChunksOut) {
  Records records;
  for (size_t i = 0; i < 5000; ++i) records.push_back(std::string(1000, static_cast<char>(i)));
  const TempFile file("a.tfrecord", TFRecords(records));
  const TempFile index("a.index", TFRecordIndex(records));
  EXPECT_EQ(Reader(file.path())->PassLength(), std::nullopt);
  EXPECT_EQ(Reader(file.path(), index.path())->PassLength(), 5000u);
  Records shared;
  for (int64_t shard = 0; shard < 2; ++shard) {
    ShardReader reader(Reader(file.path(), index.path()), 2, shard, ShardBy::kChunk);
    const Records some = RecordsOf(&reader);
    EXPECT_LT(some.size(), records.size());
    shared.insert(shared.end(), some.begin(), some.end());
  }
  EXPECT_EQ(shared.size(), records.size());
}

// ---- Errors. ----

std::string ProblemOf(const std::string& content, const std::string& index = "") {
  const TempFile file("a.tfrecord", content);
  const TempFile second("a.index", index);
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

TEST(TFRecord, SaysWhatIsDamagedAndWhere) {
  const std::string content = TFRecords({"first", "second"});
  const size_t second = 5 + 16;
  ExpectProblem(FlipBit(content, 8 * second), "the record at byte 21: the checksum of its length");
  ExpectProblem(FlipBit(content, 8 * (second + 12)),
                "the record at byte 21: the checksum of its 6 bytes is");
  ExpectProblem(content.substr(0, second + 7), "the file ends 7 bytes into its header of 12");
  ExpectProblem(content.substr(0, second + 20),
                "it has 6 bytes, but the file ends 2 bytes too early");
  ExpectProblem(Gzipped(content.substr(0, second + 20)),
                "the record at byte 21 of the decompressed content");
  ExpectProblem("plain text, which is no record file", "the checksum of its length");
}

TEST(TFRecord, BelievesNoLength) {
  for (const uint64_t length :
       {kMaxRecordBytes + 1, uint64_t{1} << 62, ~uint64_t{0}, uint64_t{1} << 63}) {
    const std::string problem = ProblemOf(TFRecords({"first"}) + TFRecordHeader(length));
    EXPECT_NE(problem.find(StrCat("it has ", length, " bytes; the limit is")), std::string::npos)
        << problem;
  }
  ExpectProblem(TFRecords({"first"}) + TFRecordHeader(uint64_t{1} << 30),
                "it has 1073741824 bytes, but the file ends");
}

TEST(TFRecord, RefusesAnIndexOfAnotherFile) {
  const std::string content = TFRecords({"first", "second"});
  ExpectProblem(content, "the index ends at byte 21 of a file of 43", "0 21\n");
  ExpectProblem(content, "line 2, '21 23', goes beyond the end", "0 21\n21 23\n");
  ExpectProblem(content, "line 2, '20 23', does not follow", "0 21\n20 23\n");
  ExpectProblem(content, "line 1, '0 15', has a record without room", "0 15\n");
  ExpectProblem(content, "line 1, '0', is no \"offset size\"", "0\n");
  ExpectProblem(content, "line 1, '0 21 7', is no \"offset size\"", "0 21 7\n");
  ExpectProblem(content, "line 1, '-1 21', is no \"offset size\"", "-1 21\n");
  ExpectProblem(content, "line 1, '0 99999999999999999999', is no", "0 99999999999999999999\n");
  ExpectProblem(content, "1 records are here by the index, but the file has 2", "0 43\n");
  ExpectProblem(Gzipped(content), "its index cannot tell where records begin", "0 43\n");
  EXPECT_EQ(ProblemOf(content, "0 21\r\n21 22"), "");
}

TEST(TFRecord, IsMappedOnlyWithAnIndex) {
  const TempFile file("a.tfrecord", TFRecords(Sample()));
  ExpectError(ErrorCode::kInvalidArgument, "buffer_type \"mmap\" needs index files",
              [&] { Reader(file.path(), "", BufferType::kMmap); });
}

// ---- Real files. ----

TEST(TFRecord, ReadsTheFilesOfOthersAsTheTruthSays) {
  const std::string folder = TestData();
  if (folder.empty()) GTEST_SKIP() << kNoTestData;
  std::ifstream truth(folder + "/truth/tfrecord_truth.tsv");
  std::string line;
  std::getline(truth, line);
  int files = 0;
  while (std::getline(truth, line)) {
    std::istringstream fields(line);
    std::string name, gzip, records, bad, state, bytes, sha256;
    fields >> name >> gzip >> records >> bad >> state >> bytes >> sha256;
    std::string all;
    const Records found = RecordsOf(Reader(StrCat(folder, "/", name)).get());
    for (const std::string& record : found) all += record;
    EXPECT_EQ(std::to_string(found.size()), records) << name;
    EXPECT_EQ(std::to_string(all.size()), bytes) << name;
    Sha256 digest;
    digest.Add(all.data(), all.size());
    EXPECT_EQ(ToHex(digest.Value()), sha256) << name;
    ++files;
  }
  EXPECT_EQ(files, 9);
}

}  // namespace
}  // namespace millhopper
