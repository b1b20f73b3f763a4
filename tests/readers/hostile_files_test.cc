// SPDX-License-Identifier: Apache-2.0
// Files that lie about their size, change while they are read, may not be read, are no files, or
// are too many. The labels are those of tests/faults.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMiB = size_t{1} << 20;

FormatArguments Bytes() {
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("bytes"));
  return arguments;
}

std::unique_ptr<ReaderBase> Reader(const std::string& name, const std::string& format,
                                   const FormatArguments& arguments = Bytes()) {
  auto reader = OpenFile(*FindFileFormat(format), name, "", arguments);
  reader->set_origin("reader 'files'");
  return reader;
}

FormatArguments Declared(const std::vector<SlotSpec>& slots) {
  FormatArguments arguments;
  arguments.declared = slots;
  return arguments;
}

// A file of these records, `chunk_records` a chunk.
std::string FileOf(const std::vector<std::string>& records, uint32_t chunk_records = 1) {
  const std::string path = TempName("made.recordio");
  RecordIOOptions options;
  options.chunk_records = chunk_records;
  RecordIOWriter writer(path, options);
  for (const std::string& record : records) writer.Write(record);
  writer.Close();
  std::string bytes = ReadFile(path);
  ::unlink(path.c_str());
  return bytes;
}

// How many right records ("0", "1", ...) come before the end or the error.
struct Outcome {
  size_t records = 0;
  std::optional<Error> error;
};

Outcome ReadNumbers(ReaderBase* reader, size_t first = 0) {
  Outcome outcome;
  std::vector<LoDTensor> element;
  try {
    for (; reader->HasNext(); ++outcome.records) {
      reader->ReadNext(&element);
      EXPECT_EQ(ValueOf(element)[0].bytes, std::to_string(first + outcome.records));
    }
  } catch (const Error& error) {
    outcome.error = error;
  }
  return outcome;
}

std::vector<std::string> Numbers(size_t n) {
  std::vector<std::string> records(n);
  for (size_t i = 0; i < n; ++i) records[i] = std::to_string(i);
  return records;
}

size_t PooledBytes() {
  const BufferPool& pool = BufferPool::At(Place());
  return pool.in_use_bytes() + pool.idle_bytes();
}

// ---- F06, F08, F09: files that change while they are read ----

// A file changes in one of a thousand ways while it is read. The reader gives records that the file
// had, and then an error unless it has given all of them.
void ChangeWhileReading(uint64_t seed, bool other_thread) {
  SCOPED_TRACE(StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  constexpr size_t kRecords = 40;
  const std::string content = FileOf(Numbers(kRecords), 1 + static_cast<uint32_t>(below(4)));
  const TempFile file("changes.recordio", content);
  const auto reader = Reader(file.path(), "recordio");
  ASSERT_TRUE(reader->HasNext());  // opens the file
  const size_t before = other_thread ? 0 : below(kRecords);
  const size_t kind = below(3);
  const size_t place = below(content.size());
  const auto change = [&] {
    if (kind == 0) {  // F06
      ASSERT_EQ(::truncate(file.path().c_str(), static_cast<off_t>(place)), 0);
      return;
    }
    std::FILE* out = std::fopen(file.path().c_str(), kind == 1 ? "r+b" : "ab");
    ASSERT_NE(out, nullptr);
    if (kind == 1) {  // F08: the size stays
      std::fseek(out, static_cast<long>(place), SEEK_SET);
      std::fputc(content[place] ^ 0x55, out);
    } else {  // F09: a whole file more
      std::fwrite(content.data(), 1, content.size(), out);
    }
    std::fclose(out);
  };
  std::thread thread;
  if (other_thread) thread = std::thread(change);
  EXPECT_EQ(ReadSome(reader.get(), before).size(), before);
  if (!other_thread) change();
  const Outcome outcome = ReadNumbers(reader.get(), before);
  if (other_thread) thread.join();
  if (outcome.error.has_value()) {
    EXPECT_NE(kind, 2u) << "what is appended is not seen";
    EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << outcome.error->what();
    EXPECT_EQ(outcome.error->file(), file.path());
    EXPECT_GE(outcome.error->offset(), 0);
  } else {
    EXPECT_EQ(before + outcome.records, kRecords) << "an early end";
  }
}

TEST(HostileFiles, ThatShrinkGrowOrChangeGiveRightRecordsThenAnError) {
  constexpr uint64_t kSeeds = 500;
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    for (uint64_t seed = 0; seed < kSeeds; ++seed) ChangeWhileReading(seed, workers > 0);
  }
}

// F07: what is read is the file that was opened.
TEST(HostileFiles, ThatAreReplacedAreReadToTheirEnd) {
  const PoolSize pool(0);
  const std::string other = FileOf({"another"});
  for (size_t before = 1; before <= 10; ++before) {
    const TempFile file("renamed.recordio", FileOf(Numbers(10)));
    const auto reader = Reader(file.path(), "recordio");
    EXPECT_EQ(ReadSome(reader.get(), before).size(), before);
    WriteFile(file.path() + ".new", other);
    ASSERT_EQ(std::rename((file.path() + ".new").c_str(), file.path().c_str()), 0);
    const Outcome outcome = ReadNumbers(reader.get(), before);
    EXPECT_FALSE(outcome.error.has_value());
    EXPECT_EQ(before + outcome.records, 10u);
    reader->ReInit();
    EXPECT_EQ(ReadSome(reader.get(), 2).size(), 1u) << "the next pass opens it anew";
  }
}

// ---- F05, F10, F46: names that are no files or may not be opened ----

// This thread lacks root's right to read everything while one of these lives.
class NoOverride {
 public:
  NoOverride() {
    EXPECT_EQ(::syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct fewer[] = {before_[0], before_[1]};
    fewer[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(::syscall(SYS_capset, &header_, fewer), 0);
  }
  ~NoOverride() { ::syscall(SYS_capset, &header_, before_); }
  NoOverride(const NoOverride&) = delete;
  NoOverride& operator=(const NoOverride&) = delete;

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2] = {};
};

TEST(HostileFiles, ThatMayNotBeReadAreNamed) {
  const PoolSize pool(0);  // all on this thread, which has fewer rights for a while
  const std::string content = FileOf({"secret"});
  const TempFile file("secret.recordio", content);
  ASSERT_EQ(::chmod(file.path().c_str(), 0), 0);
  const auto reader = Reader(file.path(), "recordio");
  {
    const NoOverride no_override;
    ExpectError(ErrorCode::kIo, file.path() + ": cannot open: Permission denied",
                [&] { reader->HasNext(); });
  }
  ASSERT_EQ(::chmod(file.path().c_str(), 0600), 0);
  reader->ReInit();
  EXPECT_EQ(ReadSome(reader.get(), 2).size(), 1u);
}

// What is a FIFO from the beginning is read, see read_once_test.threaded.cc.
TEST(HostileFiles, ThatAreNoFilesAreRefusedWithoutWaiting) {
  const std::string folder = NewFolder("kinds");
  const std::string loop = folder + "/loop.recordio";
  const std::string file = folder + "/file.recordio";
  ASSERT_EQ(::symlink("loop.recordio", loop.c_str()), 0);
  const auto expect = [](const std::string& path, const std::string& words) {
    ExpectError(ErrorCode::kIo, Escaped(path) + words, [&] { Reader(path, "recordio"); });
  };
  expect(folder, ": is a directory");
  expect(loop, ": Too many levels of symbolic links");
  expect("/dev/zero", ": is not a regular file");
  expect(folder + "/" + std::string(5000, 'x'), ": File name too long");
  expect(file + "/under.recordio", ": No such file");
  expect(std::string("a\0b", 3), ": a name with a zero byte");
  expect("", ": No such file");
  // A file that becomes a FIFO or a folder after the reader was made.
  WriteFile(file, FileOf({"0"}));
  const auto reader = Reader(file, "recordio");
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  ExpectError(ErrorCode::kIo, file + ": is not a regular file", [&] { reader->HasNext(); });
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::mkdir(file.c_str(), 0700), 0);
  reader->ReInit();
  ExpectError(ErrorCode::kIo, file + ": is not a regular file", [&] { reader->HasNext(); });
}

// The same if the first bytes of the file decide its format.
TEST(HostileFiles, WhoseFormatIsNotKnownAreRefusedWithoutWaiting) {
  const std::string file = NewFolder("unnamed") + "/file";
  WriteFile(file, FileOf({"0"}));
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("bytes"));
  arguments.declared = {{DataType::kUint8, {-1}, 1, true}};
  FileReader reader(MakeFormatByContent(arguments), FileEntry{file, ""});
  ASSERT_EQ(::unlink(file.c_str()), 0);
  const auto expect = [&](const std::string& words) {
    ExpectError(ErrorCode::kIo, file + words, [&] { reader.HasNext(); });
    reader.ReInit();
  };
  expect(": cannot open: No such file");
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  expect(": is not a regular file");
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::mkdir(file.c_str(), 0700), 0);
  expect(": is not a regular file");
  ASSERT_EQ(::rmdir(file.c_str()), 0);
  WriteFile(file, FileOf({"0"}));
  EXPECT_EQ(ReadAll(&reader).size(), 1u);
}

TEST(HostileFiles, OfAnyNameCannotForgeALineOfALog) {
  const std::string folder = NewFolder("names");
  const std::string name = folder + "/a\nerror: forged\r\x1b[31m\xff.recordio";
  const auto check = [](const auto& function) {
    const std::optional<Thrown> thrown = ErrorOf(function);
    ASSERT_TRUE(thrown.has_value());
    EXPECT_THAT(thrown->text, HasSubstr("a\\nerror: forged\\r\\x1b[31m\\xff"));
    EXPECT_THAT(thrown->text, Not(HasSubstr("\nerror:")));
    EXPECT_THAT(thrown->text, Not(HasSubstr("\x1b")));
  };
  check([&] { Reader(name, "recordio"); });
  check([&] { OpenFiles({name + "*"}, {}, Bytes(), {}); });
  check([&] { OpenFiles({name, name + ".txt"}, {}, Bytes(), {}); });
  WriteFile(name, "damage");
  check([&] { Reader(name, "recordio")->HasNext(); });
  check([&] { OpenFiles({name}, {}, Bytes(), {})->HasNext(); });
  check([&] { Reader(name, "idx", {})->HasNext(); });
  check([&] {
    Reader(name, "fixed", Declared({{DataType::kUint8, {4}, 0, true}}))->Restart(0),
        ReadAll(Reader(name, "fixed", Declared({{DataType::kUint8, {4}, 0, true}})).get());
  });
  WriteFile(name, "");
  WriteFile(name + ".manifest.json", "nothing");
  check([&] { Reader(name, "recordio")->HasNext(); });
}

// ---- F46: a hundred thousand files ----

TEST(HostileFiles, OfAnyNumberTakeBoundedMemoryAndDescriptors) {
  constexpr size_t kFiles = 100000;
  const std::string folder = NewFolder("many");
  WriteFile(folder + "/target", FileOf({"0"}));
  for (size_t i = 0; i < kFiles; ++i) {
    ASSERT_EQ(::symlink("target", StrCat(folder, "/s-", 100000 + i, ".recordio").c_str()), 0);
  }
  const PoolSize pool(2);
  const Holdings before = CurrentHoldings();
  const size_t pooled = PooledBytes();
  const auto reader = OpenFiles({folder + "/s-*.recordio"}, {}, Bytes(), {});
  size_t records = 0;
  for (std::vector<LoDTensor> element; reader->HasNext(); ++records) {
    reader->ReadNext(&element);
    if (records % 10000 > 0) continue;
    const Holdings now = CurrentHoldings();
    EXPECT_LE(now.descriptors, before.descriptors + 40);
    EXPECT_LE(now.chunks, before.chunks + 600);
  }
  EXPECT_EQ(records, kFiles);
  EXPECT_LE(PooledBytes(), pooled + 16 * kMiB);
  std::filesystem::remove_all(folder);
}

// ---- F16, F44: bombs ----

// Gzip of `mebibytes` MiB of zeros, without compressing them all: blocks that end with a full flush
// do not depend on what precedes them.
std::string Bomb(const std::string& head, size_t mebibytes) {
  constexpr int kRawDeflate = -MAX_WBITS;
  z_stream zlib = {};
  deflateInit2(&zlib, Z_BEST_COMPRESSION, Z_DEFLATED, kRawDeflate, MAX_MEM_LEVEL,
               Z_DEFAULT_STRATEGY);
  const auto deflated = [&](const std::string& content, int flush) {
    std::string out(content.size() + 1000, '\0');
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    zlib.avail_in = static_cast<uInt>(content.size());
    zlib.next_out = reinterpret_cast<Bytef*>(out.data());
    zlib.avail_out = static_cast<uInt>(out.size());
    deflate(&zlib, flush);
    out.resize(out.size() - zlib.avail_out);
    return out;
  };
  const std::string zeros(kMiB, '\0');
  std::string bomb = FromHex("1f8b0800000000000003") + deflated(head, Z_FULL_FLUSH);
  const std::string block = deflated(zeros, Z_FULL_FLUSH);
  bomb.reserve(bomb.size() + mebibytes * block.size());
  for (size_t i = 0; i < mebibytes; ++i) bomb += block;
  bomb += deflated("", Z_FINISH);
  deflateEnd(&zlib);
  uLong checksum =
      crc32(0, reinterpret_cast<const Bytef*>(head.data()), static_cast<uInt>(head.size()));
  const uLong of_block = crc32(0, reinterpret_cast<const Bytef*>(zeros.data()), kMiB);
  for (size_t i = 0; i < mebibytes; ++i) checksum = crc32_combine(checksum, of_block, kMiB);
  const auto size = static_cast<uint32_t>(head.size() + mebibytes * kMiB);
  for (const uint32_t number : {static_cast<uint32_t>(checksum), size}) {
    bomb.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return bomb;
}

TEST(HostileFiles, ThatExpandToFourGibibytesTakeLittleMemory) {
  const size_t pooled = PooledBytes();
  const std::string bomb = Bomb("first\n", 4096);
  ASSERT_LT(bomb.size(), 6 * kMiB);
  {
    const TempFile file("bomb.txt.gz", bomb);
    const auto reader = Reader(file.path(), "text", {});
    EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
    ExpectError(ErrorCode::kResourceLimit, file.path(), [&] { reader->HasNext(); });
  }
  {
    const TempFile file("bomb.gz", bomb);
    const auto reader =
        Reader(file.path(), "fixed", Declared({{DataType::kUint8, {4096}, 0, true}}));
    EXPECT_EQ(ReadSome(reader.get(), 1000).size(), 1000u);
  }
  {
    const TempFile file("images.gz", Bomb(FromHex("00000802 7fffffff 00001000"), 64));
    const auto reader = Reader(file.path(), "idx", {});
    EXPECT_EQ(ReadSome(reader.get(), 1000).size(), 1000u);
  }
  EXPECT_LE(PooledBytes(), pooled + 100 * kMiB);
}

// A payload of 42 KB expands to at most what deflate can reach, whatever its trailer declares.
TEST(HostileFiles, OfRecordIOExpandOnlyAsFarAsTheirSizeAllows) {
  const size_t pooled = PooledBytes();
  constexpr size_t kMebibytes = 41;
  constexpr size_t kEmptyRecords = kMebibytes * kMiB / 4;  // each is four zeros, its length
  const auto read = [](const std::string& payload, uint32_t records) {
    RecordIOHeader header;
    header.records = records;
    header.compressor_code =
        RecordIOCompressorCode(RecordIODialect::kFluid, RecordIOCompressor::kGzip);
    header.payload_bytes = static_cast<uint32_t>(payload.size());
    header.checksum = RecordIOChecksum(RecordIODialect::kFluid, payload.data(), payload.size());
    char bytes[kRecordIOHeaderBytes];
    WriteRecordIOHeader(header, RecordIODialect::kFluid, bytes);
    const TempFile file("bomb.recordio", std::string(bytes, sizeof(bytes)) + payload);
    const auto reader = Reader(file.path(), "recordio");
    Outcome outcome;
    try {
      for (bool more = true; more;) {
        TicketRun run;
        more = reader->Plan(1 << 16, &run) > 0;
        outcome.records += run.tickets.size();
      }
    } catch (const Error& error) {
      outcome.error = error;
    }
    return outcome;
  };
  const std::string payload = Bomb("", kMebibytes);
  ASSERT_LT(payload.size(), size_t{43} << 10);
  const Outcome all = read(payload, kEmptyRecords);
  EXPECT_EQ(all.records, kEmptyRecords);
  EXPECT_FALSE(all.error.has_value());
  const Outcome more = read(payload, UINT32_MAX);
  EXPECT_EQ(more.error.value().code(), ErrorCode::kDataLoss);
  for (const char* trailer : {"00000000", "ffffff7f", "ffffffff"}) {
    std::string lie = payload;
    lie.replace(lie.size() - 4, 4, FromHex(trailer));
    const Outcome outcome = read(lie, kEmptyRecords);
    EXPECT_EQ(outcome.records, 0u);
    EXPECT_EQ(outcome.error.value().code(), ErrorCode::kDataLoss) << outcome.error->what();
  }
  EXPECT_LE(PooledBytes(), pooled + 250 * kMiB);  // the content, and eight bytes a record
}

}  // namespace
}  // namespace millhopper
