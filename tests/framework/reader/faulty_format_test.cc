// SPDX-License-Identifier: Apache-2.0
// F18: a format, as a plugin's author may write it, that fails in every possible way. Each failure
// is an error at its record and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/batch_reader.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kChunks = 4;
constexpr size_t kRecords = 2;  // of each chunk; in all 8 records of one byte
constexpr uint32_t kBad = 5;    // the record that fails, in chunk 2

// Where and how it fails.
enum class Step { kOpen, kClaim, kFetch, kLoad };
using Failure = std::function<void()>;

class FaultyFormat final : public FileFormat {
 public:
  FaultyFormat(Step step, Failure failure)
      : FileFormat({{DataType::kUint8, {1, 1}, 0, true}}),
        step_(step),
        failure_(std::move(failure)) {}

  std::unique_ptr<FileSource> Open(const FileEntry&) override {
    if (step_ != Step::kOpen) return std::make_unique<Source>(*this);
    failure_();
    return nullptr;
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (const Ticket* ticket = tickets; ticket < tickets + n; ++ticket) {
      const char value = *ticket->bytes;
      if (step_ == Step::kLoad && value == static_cast<char>(kBad)) {
        failure_();
        if (bad_load) {
          bad_load(rows);
          continue;
        }
      }
      *rows->Append(0, DataType::kUint8, {1, 1}) = value;
    }
  }

  std::function<void(Rows* rows)> bad_load;  // instead of an exception

 private:
  class Source final : public FileSource {
   public:
    explicit Source(const FaultyFormat& format) : format_(format) {}
    bool Claim(Chunk* chunk) override {
      if (format_.step_ == Step::kClaim && next_ == kBad / kRecords) format_.failure_();
      if (next_ == kChunks) return false;
      chunk->offset = next_ * kRecords;
      chunk->length = kRecords;
      ++next_;
      return true;
    }
    void Fetch(Chunk* chunk) const override {
      chunk->bytes = BufferPool::At(Place()).Take(kRecords);
      for (uint32_t i = 0; i < kRecords; ++i) {
        const auto value = static_cast<char>(chunk->offset + i);
        if (format_.step_ == Step::kFetch && value == static_cast<char>(kBad)) format_.failure_();
        chunk->bytes->data()[i] = value;
        chunk->pieces.push_back({i, 1});
      }
    }

   private:
    const FaultyFormat& format_;
    uint64_t next_ = 0;
  };

  const Step step_;
  const Failure failure_;
};

class FaultyFormatTest : public ::testing::TestWithParam<int> {
 protected:
  // Expects `before` elements of the reader, then an error with these words, again and again.
  static void Expect(ReaderBase* reader, size_t before, ErrorCode code, const std::string& words) {
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_EQ(ReadSome(reader, before).size(), before);
      std::vector<LoDTensor> element;
      const std::optional<Thrown> error = ErrorOf([&] { reader->ReadNext(&element); });
      ASSERT_TRUE(error.has_value());
      EXPECT_EQ(error->code, code) << error->text;
      EXPECT_THAT(error->text, HasSubstr(words));
      EXPECT_THAT(error->text, HasSubstr("while reading record "));
      EXPECT_THAT(error->text, HasSubstr("of reader 'mine'"));
      EXPECT_EQ(ErrorOf([&] { reader->HasNext(); }), error);
      reader->ReInit();
    }
  }

  std::unique_ptr<FileReader> Make(std::unique_ptr<FileFormat> format) const {
    auto reader = std::make_unique<FileReader>(std::move(format), FileEntry{file_.path(), ""});
    reader->set_origin("reader 'mine'");
    return reader;
  }

  const PoolSize pool_{GetParam()};
  const TempFile file_{"some.file", "content"};
};

TEST_P(FaultyFormatTest, F18WhateverItThrowsIsAnErrorAtItsRecord) {
  const std::map<std::string, std::pair<ErrorCode, Failure>> failures = {
      {"no such key", {ErrorCode::kInternal, [] { throw std::out_of_range("no such key"); }}},
      {"", {ErrorCode::kInternal, [] { throw 42; }}},
      {"out of memory", {ErrorCode::kResourceLimit, [] { throw std::bad_alloc(); }}},
      {"a bad record", {ErrorCode::kDataLoss, [] { Throw(ErrorCode::kDataLoss, "a bad record"); }}},
      {"no more", {ErrorCode::kInternal, [] { throw EndOfData("no more"); }}},
  };
  ReadAll(Make(std::make_unique<FaultyFormat>(Step::kLoad, [] {})).get());
  const std::map<Step, size_t> before = {
      {Step::kOpen, 0}, {Step::kClaim, 4}, {Step::kFetch, 5}, {Step::kLoad, 5}};
  for (const auto& [step, records] : before) {
    for (const auto& [words, failure] : failures) {
      SCOPED_TRACE(StrCat("step ", static_cast<int>(step), ": ", words));
      // A format that throws its own EndOfData has not ended ours; that is no bug of ours either.
      const bool end = words == "no more";
      const auto reader = Make(std::make_unique<FaultyFormat>(step, failure.second));
      Expect(reader.get(), records, end ? ErrorCode::kInvalidArgument : failure.first, words);
      BatchReader batches(Make(std::make_unique<FaultyFormat>(step, failure.second)), 4, false,
                          BatchMode::kConcat);
      EXPECT_EQ(ReadSome(&batches, records / 4).size(), records / 4);
      EXPECT_FALSE(ErrorOf([&] { ReadAll(&batches); })->is_end);
    }
  }
}

TEST_P(FaultyFormatTest, F18WhatItLoadsIsChecked) {
  const std::vector<std::pair<std::string, std::function<void(Rows*)>>> loads = {
      {"float32 [1, 1] was found",
       [](Rows* rows) {
         rows->Append(0, DataType::kFp32, {1, 1});
       }},
      {"uint8 [1, 2] was found",
       [](Rows* rows) {
         rows->Append(0, DataType::kUint8, {1, 2});
       }},
      {"uint8 [2, 1] was found",
       [](Rows* rows) {
         rows->Append(0, DataType::kUint8, {2, 1});
       }},
      {"uint8 [1] was found", [](Rows* rows) { rows->Append(0, DataType::kUint8, {1}); }},
      {"uint8 [1, -1]",
       [](Rows* rows) {
         rows->Append(0, DataType::kUint8, {1, -1});
       }},
      {"loaded 0 elements of slot 0 instead of 1", [](Rows*) {}},
  };
  for (const auto& [words, load] : loads) {
    SCOPED_TRACE(words);
    auto format = std::make_unique<FaultyFormat>(Step::kLoad, [] {});
    format->bad_load = load;
    const auto reader = Make(std::move(format));
    EXPECT_EQ(ReadSome(reader.get(), kBad).size(), kBad);
    std::vector<LoDTensor> element;
    const std::optional<Thrown> error = ErrorOf([&] { reader->ReadNext(&element); });
    ASSERT_TRUE(error.has_value());
    EXPECT_FALSE(error->is_end);
    EXPECT_THAT(error->text, HasSubstr(words));
  }
}

TEST_P(FaultyFormatTest, F18AFormatThatOpensNothingIsAnError) {
  const auto reader = Make(std::make_unique<FaultyFormat>(Step::kOpen, [] {}));
  Expect(reader.get(), 0, ErrorCode::kInternal, "its format has opened nothing");
}

// Records of several chunks are loaded at once, so the crash could be in any of these chunks.
TEST(FaultyFormatDeathTest, F19ACrashNamesEveryChunkThatItMayBeIn) {
  const PoolSize pool(0);
  const TempFile file("some.file", "content");
  const auto crash = [&] {
    InstallCrashLines([] {});
    auto format = std::make_unique<FaultyFormat>(Step::kLoad, [] { std::abort(); });
    BatchReader batches(std::make_unique<FileReader>(std::move(format), FileEntry{file.path(), ""}),
                        6, false, BatchMode::kConcat);
    ReadAll(&batches);
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT),
              "  while reading .*some.file, the chunk at byte 0\n"
              "  or .*some.file, the chunk at byte 2\n"
              "  or .*some.file, the chunk at byte 4\n$");
}

INSTANTIATE_TEST_SUITE_P(Pools, FaultyFormatTest, ::testing::Values(0, 1, 2, 7));

}  // namespace
}  // namespace millhopper
