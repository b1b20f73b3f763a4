// SPDX-License-Identifier: Apache-2.0
// RecordIO as bytes: what is written, and the errors of damaged chunks.
#include "readers/formats/recordio/recordio_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/formats/recordio/recordio_file.h"
#include "tests/bytes.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

using Records = std::vector<std::string>;

std::string Written(const Records& records, const RecordIOOptions& options) {
  const std::string path = TempName("written.recordio");
  RecordIOWriter writer(path, options);
  for (const std::string& record : records) writer.Write(record);
  writer.Close();
  std::string bytes = ReadFile(path);
  EXPECT_EQ(bytes.size(), writer.bytes());
  EXPECT_EQ(records.size(), writer.records());
  ::unlink(path.c_str());
  return bytes;
}

std::string Expanded(RecordIODialect dialect, RecordIOCompressor compressor,
                     const std::string& payload) {
  // A copy of exactly this size, so that a sanitizer sees a read past its end.
  const std::vector<char> exact(payload.begin(), payload.end());
  size_t size = 0;
  const Ref<Buffer> buffer = ExpandRecordIO(dialect, compressor, exact.data(), exact.size(), &size);
  return std::string(buffer->data(), size);
}

RecordIOOptions Options(RecordIODialect dialect, RecordIOCompressor compressor) {
  RecordIOOptions options;
  options.dialect = dialect;
  options.compressor = compressor;
  return options;
}

TEST(RecordIOWriter, WritesTheBytesOfTheLineage) {
  const Records letters = {"ABC", "BCD", "CDE"};
  EXPECT_EQ(Written(letters, {}), FromHex("0403020103000000cb3cd3ef0000000015000000"
                                          "03000000414243 03000000424344 03000000434445"));
  EXPECT_EQ(Written({"", "a", ""}, {}),
            FromHex("04030201030000003c0c5dbc000000000d000000 00000000 01000000 61 00000000"));
  const RecordIOOptions snappy = Options(RecordIODialect::kFluid, RecordIOCompressor::kSnappy);
  EXPECT_EQ(Written(letters, snappy),
            FromHex("040302010300000056ab05090100000023000000 736e6170707900 00 0015 b3f18a3c"
                    "030000004142430300000042434403000000434445"));
  EXPECT_EQ(Written({std::string(100, 'x')}, snappy),
            FromHex("0403020101000000b5bc04f6010000001b000000 736e6170707900 01 000d 6f2c4aa5"
                    "68106400000078fe01008a0100"));
  RecordIOOptions pairs;
  pairs.chunk_records = 2;
  EXPECT_EQ(Written(letters, pairs),
            FromHex("04030201020000007104c763000000000e000000 03000000414243 03000000424344"
                    "040302010100000064c9fb4c0000000007000000 03000000434445"));
}

TEST(RecordIOWriter, WritesTheBytesOfTheGoPackage) {
  // Its own writer's file of two records, from its tests.
  EXPECT_EQ(
      Written({"(I1\nI2\nI3\ntp1\n.", "(I4\nI5\nI6\ntp1\n."},
              Options(RecordIODialect::kGo, RecordIOCompressor::kSnappy)),
      FromHex("040302019362159b010000003800000002000000ff060000734e61507059012a0000585d4c3c"
              "0f0000002849310a49320a49330a7470310a2e0f0000002849340a49350a49360a7470310a2e"));
}

TEST(RecordIOWriter, CutsChunksByBytesAndNeverWritesAnEmptyOne) {
  RecordIOOptions options;
  options.chunk_bytes = 20;
  // Two of 10 bytes with their lengths; a record larger than a chunk becomes its own chunk.
  const std::string bytes = Written({"123456", "123456", "1", std::string(50, 'x'), "1"}, options);
  std::vector<uint32_t> records;
  for (size_t at = 0; at < bytes.size();) {
    const RecordIOHeader header = ReadRecordIOHeader(bytes.data() + at, options.dialect);
    records.push_back(header.records);
    at += kRecordIOHeaderBytes + header.payload_bytes;
  }
  EXPECT_EQ(records, (std::vector<uint32_t>{2, 1, 1, 1}));
  EXPECT_EQ(Written({}, options), "");
}

TEST(RecordIOWriter, RefusesLimitsThatMakeNoChunks) {
  for (const uint64_t bytes : {uint64_t{0}, kMaxChunkBytes + 1}) {
    RecordIOOptions options;
    options.chunk_bytes = bytes;
    ExpectError(ErrorCode::kInvalidArgument, "are possible",
                [&] { RecordIOWriter writer(TempName("never"), options); });
  }
  EXPECT_THROW(RecordIODialectFromName("rust"), Error);
  EXPECT_THROW(RecordIOCompressorFromName("zstd"), Error);
}

// F12
TEST(RecordIOWriter, GivesTheFileItsNameOnlyWhenItIsWhole) {
  const std::string path = TempName("abandoned.recordio");
  WriteFile(path, "what was there before");
  {
    RecordIOWriter writer(path, {});
    writer.Write("a record");
  }
  EXPECT_EQ(ReadFile(path), "what was there before");
  EXPECT_NE(::access((path + ".partial").c_str(), F_OK), 0);
  RecordIOWriter writer(path, {});
  writer.Write("a record");
  writer.Close();
  EXPECT_EQ(ReadFile(path).size(), kRecordIOHeaderBytes + 4 + 8);
  EXPECT_NE(::access((path + ".partial").c_str(), F_OK), 0);
}

// F12
TEST(RecordIOWriter, ReportsWhatTheSystemRefuses) {
  ExpectError(ErrorCode::kIo, "No such file or directory",
              [] { RecordIOWriter writer(TempName("no folder") + "/file", {}); });
  const std::string fifo = TempName("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ExpectError(ErrorCode::kIo, "is not a regular file", [&] { RecordIOWriter writer(fifo, {}); });
  ::unlink(fifo.c_str());
  // A file that may not grow beyond 1,000 bytes.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string path = TempName("too large.recordio");
  ExpectError(ErrorCode::kIo, "cannot write: File too large", [&] {
    RecordIOWriter writer(path, {});
    writer.Write(std::string(2000, 'x'));
    writer.Close();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_NE(::access((path + ".partial").c_str(), F_OK), 0);
}

TEST(RecordIOChunk, ExpandsWhatItCompresses) {
  std::string mixed;
  for (int i = 0; i < 200000; ++i)
    mixed += static_cast<char>(i < 100000 ? i / 1000 : (i % 4096) * i >> 3);
  for (const auto dialect :
       {RecordIODialect::kFluid, RecordIODialect::kGo, RecordIODialect::kCrc32c}) {
    for (const auto compressor : {RecordIOCompressor::kSnappy, RecordIOCompressor::kGzip}) {
      for (const size_t size : {0, 1, 32767, 32768, 32769, 65536, 65537, 200000}) {
        const std::string payload = mixed.substr(0, size);
        const std::string stored = CompressRecordIO(dialect, compressor, payload);
        EXPECT_EQ(Expanded(dialect, compressor, stored), payload)
            << ToString(dialect) << " " << ToString(compressor) << " " << size;
      }
    }
  }
}

TEST(RecordIOChunk, ReadsBothFramingsInBothOrders) {
  const std::string payload = "03 a payload that either could have written";
  const std::string old_framing =
      CompressRecordIO(RecordIODialect::kFluid, RecordIOCompressor::kSnappy, payload);
  const std::string framing =
      CompressRecordIO(RecordIODialect::kGo, RecordIOCompressor::kSnappy, payload);
  EXPECT_NE(framing, old_framing);
  EXPECT_EQ(Expanded(RecordIODialect::kGo, RecordIOCompressor::kSnappy, old_framing), payload);
  EXPECT_EQ(Expanded(RecordIODialect::kFluid, RecordIOCompressor::kSnappy, framing), payload);
}

TEST(RecordIOChunk, ToleratesWhatTheFramingsAllow) {
  const std::string payload(100, 'x');
  const std::string old_framing =
      CompressRecordIO(RecordIODialect::kFluid, RecordIOCompressor::kSnappy, payload);
  // The marker again, before a block and at the end.
  const std::string marker("snappy\0", 7);
  EXPECT_EQ(Expanded(RecordIODialect::kFluid, RecordIOCompressor::kSnappy,
                     old_framing + marker + old_framing + marker),
            payload + payload);
  const std::string framing =
      CompressRecordIO(RecordIODialect::kGo, RecordIOCompressor::kSnappy, payload);
  EXPECT_EQ(Expanded(RecordIODialect::kGo, RecordIOCompressor::kSnappy,
                     framing + FromHex("fe020000 0000 80010000 ff") + framing),
            payload + payload);
  // gzip in two members, as `cat a.gz b.gz` makes it; the last says only its own size.
  const std::string large(300000, 'y');
  EXPECT_EQ(Expanded(RecordIODialect::kGo, RecordIOCompressor::kGzip,
                     CompressRecordIO(RecordIODialect::kGo, RecordIOCompressor::kGzip, large) +
                         CompressRecordIO(RecordIODialect::kGo, RecordIOCompressor::kGzip, "z")),
            large + "z");
}

struct Bomb {
  const char* what;
  RecordIODialect dialect;
  RecordIOCompressor compressor;
  std::string payload;
};

// F16, F44
TEST(RecordIOChunk, RefusesSizesThatCannotBeBeforeTakingMemory) {
  const std::string marker = FromHex("736e6170707900");
  const std::string framed = FromHex("ff060000734e61507059");
  std::string gzip =
      CompressRecordIO(RecordIODialect::kGo, RecordIOCompressor::kGzip, std::string(1000, 'x'));
  gzip.replace(gzip.size() - 4, 4, FromHex("ffffffff"));
  const Bomb bombs[] = {
      {"raw", RecordIODialect::kCrc32c, RecordIOCompressor::kSnappy, FromHex("ffffffff0f 00 61")},
      {"old", RecordIODialect::kFluid, RecordIOCompressor::kSnappy,
       marker + FromHex("01 0007 00000000 ffffffff0f 00 61")},
      {"framed", RecordIODialect::kGo, RecordIOCompressor::kSnappy,
       framed + FromHex("00 0b0000 00000000 ffffffff0f 00 61")},
      {"gzip", RecordIODialect::kGo, RecordIOCompressor::kGzip, gzip},
  };
  const size_t before = BufferPool::At(Place()).idle_bytes();
  for (const Bomb& bomb : bombs) {
    ExpectError(ErrorCode::kDataLoss, "says it expands to 4294967295",
                [&] { Expanded(bomb.dialect, bomb.compressor, bomb.payload); });
  }
  EXPECT_LE(BufferPool::At(Place()).idle_bytes(), before + 4096);
}

TEST(RecordIOChunk, RefusesDamagedCompressedData) {
  const std::string payload = std::string(5000, 'x') + "some more that is not so even";
  for (const auto dialect :
       {RecordIODialect::kFluid, RecordIODialect::kGo, RecordIODialect::kCrc32c}) {
    for (const auto compressor : {RecordIOCompressor::kSnappy, RecordIOCompressor::kGzip}) {
      const std::string stored = CompressRecordIO(dialect, compressor, payload);
      for (size_t size = 0; size < stored.size(); ++size) {
        // Cut after the marker, before the first block, it is the payload of no record.
        try {
          EXPECT_EQ(Expanded(dialect, compressor, stored.substr(0, size)), "");
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
        }
      }
      for (size_t bit = 0; bit < stored.size() * 8; ++bit) {
        try {  // plain snappy has no checksum, gzip's header has bits without meaning
          Expanded(dialect, compressor, FlipBit(stored, bit));
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
        }
      }
    }
  }
}

TEST(RecordIOChunk, ComparesTheChecksumsOfSnappyBlocks) {
  const std::string payload(100, 'x');
  // The first bit of the first block's checksum, in the old framing and in the official one.
  for (const auto& [dialect, byte] : {std::make_pair(RecordIODialect::kFluid, size_t{7 + 3}),
                                      std::make_pair(RecordIODialect::kGo, size_t{10 + 4})}) {
    const std::string stored = CompressRecordIO(dialect, RecordIOCompressor::kSnappy, payload);
    ExpectError(ErrorCode::kDataLoss, "snappy block checksum", [&, dialect = dialect, byte = byte] {
      Expanded(dialect, RecordIOCompressor::kSnappy, FlipBit(stored, 8 * byte));
    });
  }
}

TEST(RecordIOChunk, ListsTheRecordsBeforeADamagedOne) {
  const std::string payload = FromHex("01000000 61 02000000 6262 00000000");
  const auto list = [](const std::string& bytes, uint32_t records, std::string* error) {
    const std::vector<char> exact(bytes.begin(), bytes.end());
    PooledVector<Piece> pieces;
    try {
      ListRecords(exact.data(), exact.size(), 20, records, &pieces);
      error->clear();
    } catch (const Error& thrown) {
      *error = thrown.what();
    }
    return pieces;
  };
  std::string error;
  const PooledVector<Piece> pieces = list(payload, 3, &error);
  EXPECT_EQ(error, "");
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].offset, 24u);
  EXPECT_EQ(pieces[1].offset, 29u);
  EXPECT_EQ(pieces[1].size, 2u);
  EXPECT_EQ(pieces[2].size, 0u);
  EXPECT_EQ(list(payload, 2, &error).size(), 2u);
  EXPECT_THAT(error, HasSubstr("4 bytes are left in the payload"));
  EXPECT_EQ(list(payload, 4, &error).size(), 3u);
  EXPECT_THAT(error, HasSubstr("ends within the length of record 3"));
  EXPECT_EQ(list(payload.substr(0, 10), 3, &error).size(), 1u);
  EXPECT_THAT(error, HasSubstr("record 1 of 3 says it has 2 bytes, but 1 are left"));
  EXPECT_EQ(list(payload, UINT32_MAX, &error).size(), 3u);
  EXPECT_THAT(error, HasSubstr("the header says 4294967295 records"));
}

}  // namespace
}  // namespace millhopper
