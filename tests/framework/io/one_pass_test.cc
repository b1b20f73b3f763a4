// SPDX-License-Identifier: Apache-2.0
// Files that can be read once only: what is looked at is not lost, what is read is not kept, and
// they are not read twice.
#include "framework/io/one_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/command.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/file_system.h"
#include "tests/bytes.h"
#include "tests/fifo.h"
#include "tests/files/compressed.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

class OnePass : public ::testing::Test {
 protected:
  OnePass() { AllowExec(); }
  ~OnePass() override { AllowExec(false); }
};

// Gives a content in pieces of odd sizes, then an error, if there is one.
class Script final : public OnePassInput {
 public:
  explicit Script(std::string content, std::optional<Error> error = std::nullopt)
      : content_(std::move(content)), error_(std::move(error)) {}

  size_t Read(char* out, size_t size) override {
    if (StopRequested()) ThrowStopped();
    const size_t got = std::min({size, 1 + at_ % 7, content_.size() - at_});
    if (got == 0 && error_) throw Error(*error_);
    std::memcpy(out, content_.data() + at_, got);
    at_ += got;
    return got;
  }
  bool IsReady(std::chrono::steady_clock::time_point) override { return true; }

 private:
  const std::string content_;
  const std::optional<Error> error_;
  size_t at_ = 0;
};

OnePassStream StreamOf(const std::string& content, std::optional<Error> error = std::nullopt) {
  return OnePassStream("name", std::make_unique<Script>(content, std::move(error)));
}

std::string ReadAt(OnePassStream* stream, uint64_t offset, size_t size) {
  std::string content(size, '\0');
  content.resize(stream->Read(offset, content.data(), size));
  return content;
}

TEST_F(OnePass, IsReadInOrder) {
  OnePassStream stream = StreamOf("abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(ReadAt(&stream, 0, 10), "abcdefghij");
  EXPECT_EQ(ReadAt(&stream, 10, 3), "klm");
  EXPECT_EQ(stream.Has(13, 5), 5u);
  EXPECT_EQ(stream.Has(13, 100), 13u);
  EXPECT_EQ(ReadAt(&stream, 13, 2), "no");
  EXPECT_EQ(ReadAt(&stream, 15, 100), "pqrstuvwxyz");
  EXPECT_EQ(ReadAt(&stream, 26, 1), "");
  EXPECT_EQ(stream.Has(26, 1), 0u);
  ExpectError(ErrorCode::kInternal, "name: byte 3 is read again", [&] { ReadAt(&stream, 3, 1); });
}

TEST_F(OnePass, KeepsWhatItIsTold) {
  OnePassStream stream = StreamOf("abcdefghijklm");
  stream.set_keeps(true);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ReadAt(&stream, 0, 4), "abcd");
    EXPECT_EQ(ReadAt(&stream, 4, 2), "ef");
  }
  stream.set_keeps(false);
  EXPECT_EQ(ReadAt(&stream, 0, 8), "abcdefgh");
  EXPECT_EQ(stream.Has(8, 4), 4u);
  stream.Forget(10);
  EXPECT_EQ(ReadAt(&stream, 10, 8), "klm");
}

TEST_F(OnePass, AnErrorComesBehindWhatPrecedesIt) {
  OnePassStream stream = StreamOf("abcdef", Error(ErrorCode::kIo, "it broke"));
  EXPECT_EQ(stream.Has(0, 100), 6u);
  EXPECT_EQ(ReadAt(&stream, 0, 4), "abcd");
  EXPECT_EQ(ReadAt(&stream, 4, 4), "ef");
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kIo, "name: it broke", [&] { ReadAt(&stream, 6, 1); });
    ExpectError(ErrorCode::kIo, "name: it broke", [&] { stream.CheckNoError(); });
  }
  try {
    ReadAt(&stream, 6, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.offset(), 6);
  }
}

TEST_F(OnePass, GoesOnAfterAStop) {
  OnePassStream stream = StreamOf("abcdef");
  EXPECT_EQ(ReadAt(&stream, 0, 1), "a");
  RequestStop();
  EXPECT_EQ(ErrorOf([&] { ReadAt(&stream, 1, 1); })->code, ErrorCode::kCancelled);
  EXPECT_EQ(ErrorOf([&] { stream.Has(1, 1); })->code, ErrorCode::kCancelled);
  ClearStop();
  EXPECT_EQ(ReadAt(&stream, 1, 100), "bcdef");
}

TEST_F(OnePass, IsOpenedAgainUntilItIsRead) {
  OnePassFiles files;
  const std::string path = "pipe:seq 10";
  files.Add(path, FileId());
  const OnePassScope scope(&files);
  const std::string content = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ReadStream(path, 5).content, content);
  ByteStream stream(path);
  files.Seal();
  char byte;
  EXPECT_EQ(stream.Read(&byte, 1), 1u);
  ExpectError(ErrorCode::kInvalidArgument,
              "pipe:seq 10: can be read once only, because it is a pipe; for a second pass, copy "
              "it to a file",
              [&] { ByteStream{path}; });
  // What was no such file when the reader was made is refused.
  ExpectError(ErrorCode::kIo, "pipe:seq 2: is not a regular file",
              [] { ByteStream{"pipe:seq 2"}; });
}

TEST_F(OnePass, WhatWasLookedAtIsHandedOver) {
  OnePassLook look;
  const std::string path = "pipe:sh -c 'echo $$'";
  std::string looked;
  {
    const OnePassScope scope(look.files());
    looked = ReadStream(path, 5).content;
    EXPECT_EQ(ReadStream(path, 5).content, looked);
  }
  OnePassFiles files;
  files.Add(path, FileId());
  const OnePassScope scope(&files);
  EXPECT_EQ(ReadStream(path, 5).content, looked);
  OnePassFiles others;
  others.Add(path, FileId());
  const OnePassScope inner(&others);
  EXPECT_NE(ReadStream(path, 5).content, looked);
}

TEST_F(OnePass, HasOneReader) {
  const Fifo made("fifo");
  const std::string& fifo = made.path();
  const FileId id = FileSystemOf(fifo).Stat(fifo).id;
  {
    OnePassFiles first, second;
    first.Add(fifo, id);
    const std::string words = "can be read once only, because it is a FIFO; another reader";
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { second.Add(fifo, id); });
    first.Add("pipe:true", FileId());
    second.Add("pipe:true", FileId());
    ExpectError(ErrorCode::kInvalidArgument, "pipe:true: can be read once only",
                [&] { first.Add("pipe:true", FileId()); });
  }
  OnePassFiles third;
  third.Add(fifo, id);
}

TEST_F(OnePass, IsDecompressedByItsFirstBytes) {
  const std::string content = Sample(3000000);
  for (const std::string& stored : {content, Gzipped(content), Zstd(content), Lz4(content),
                                    Skippable("1234") + Zstd(content), std::string()}) {
    const TempFile file("stored", stored);
    for (const size_t piece : {size_t{1000}, size_t{1} << 20}) {
      const StreamOutcome outcome = ReadStream("pipe:cat " + file.path(), piece);
      EXPECT_FALSE(outcome.error) << outcome.error->what();
      EXPECT_EQ(outcome.content == content, !stored.empty());
    }
  }
  // The extension is that of a word of the command.
  const TempFile packed("packed.gz", Gzipped(content));
  EXPECT_TRUE(ReadStream("pipe:zcat " + packed.path(), 1000).content == content);
}

TEST_F(OnePass, ErrorsHaveFileAndByte) {
  const std::string content = Sample(100000);
  for (const std::string& stored : {content, Gzipped(content)}) {
    const TempFile file("stored", stored);
    const std::string path = "pipe:sh -c 'cat " + file.path() + "; echo bad >&2; exit 9'";
    const StreamOutcome outcome = ReadStream(path, 1000);
    EXPECT_TRUE(outcome.content == content);
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), ErrorCode::kIo);
    EXPECT_EQ(outcome.error->file(), path);
    EXPECT_EQ(outcome.error->offset(), static_cast<int64_t>(stored.size()));
    EXPECT_THAT(outcome.error->what(), HasSubstr("'sh' ended with the status 9; the last line of "
                                                 "its standard error: bad"));
  }
  // A stream that is cut off is damaged, and that its command has failed is why.
  const TempFile file("cut", Gzipped(content).substr(0, 1000));
  const StreamOutcome cut = ReadStream("pipe:sh -c 'cat " + file.path() + "; exit 9'", 1000);
  ASSERT_TRUE(cut.error);
  EXPECT_THAT(cut.error->what(), HasSubstr("the status 9"));
}

TEST_F(OnePass, AFifoWaitsForItsWriter) {
  const Fifo fifo("fifo");
  const std::string content = Sample(300000);
  std::thread writer([&] {
    ::usleep(20000);  // usually the reader waits for its first byte by now
    WriteFile(fifo.path(), content);
  });
  EXPECT_TRUE(ReadStream(fifo.path(), 1000).content == content);
  writer.join();
}

TEST_F(OnePass, IsNoFileOfAnyPlace) {
  const Fifo fifo("fifo");
  for (const auto& [path, kind] : {std::pair<std::string, std::string>{fifo.path(), "a FIFO"},
                                   {"pipe:true", "a pipe"},
                                   {"-", "standard input"}}) {
    const std::string words =
        path + ": can be read once only, because it is " + kind + "; here any place of a file";
    ExpectError(ErrorCode::kInvalidArgument, words, [&, name = path] { File::Open(name); });
    EXPECT_TRUE(CanBeReadOnceOnly(path));
    EXPECT_EQ(FileSystemOf(path).Stat(path).kind, FileStatus::Kind::kOnce);
  }
  ExpectError(ErrorCode::kInvalidArgument, "buffer_type \"mmap\"",
              [&] { ByteStream("pipe:true", BufferType::kMmap); });
  const TempFile file("file", "");
  EXPECT_FALSE(CanBeReadOnceOnly(file.path()));
  EXPECT_FALSE(CanBeReadOnceOnly("./-"));
  EXPECT_FALSE(CanBeReadOnceOnly("http://host/pipe:"));
}

TEST_F(OnePass, CommandsNeedToBeAllowed) {
  AllowExec(false);
  const FileStatus status = FileSystemOf("pipe:true").Stat("pipe:true");
  EXPECT_FALSE(status.exists());
  EXPECT_THAT(status.problem, HasSubstr("--allow_exec"));
  ExpectError(ErrorCode::kInvalidArgument, "pipe:true: commands are run with --allow_exec only",
              [] { ByteStream("pipe:true"); });
}

TEST_F(OnePass, ReadsStandardInputOnce) {
  const TempFile file("file", "first\na\nb\n");
  const int before = ::dup(STDIN_FILENO);
  ASSERT_NE(::freopen(file.path().c_str(), "r", stdin), nullptr);
  EXPECT_EQ(ReadStream("-", 5).content, "first\na\nb\n");
  ExpectError(ErrorCode::kInvalidArgument, "standard input can be read only once",
              [] { ByteStream("-"); });
  ::dup2(before, STDIN_FILENO);
  ::close(before);
}

}  // namespace
}  // namespace millhopper
