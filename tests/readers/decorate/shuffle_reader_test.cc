// SPDX-License-Identifier: Apache-2.0
// Shuffles, beyond the contract of all readers and order_test.cc.
#include "readers/decorate/shuffle_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"
#include "framework/reader/position.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/lanes/lane_batch_reader.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/sources/open_files.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers(int64_t records, int64_t plan_error = -1) {
  SourceSpec spec;
  spec.records = records;
  spec.plan_error = plan_error;
  return MakePlannedSource(spec);
}

std::vector<int64_t> Read(ReaderBase* reader) {
  std::vector<int64_t> values;
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    values.push_back(element[0].scalar<int64_t>());
  }
  return values;
}

TEST(ShuffleReader, RefusesWindowsBelowOne) {
  for (const int64_t window : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    ExpectError(ErrorCode::kInvalidArgument, "it must be at least 1",
                [&] { ShuffleReader(Numbers(3), window, RandomKey(0, 0, "")); });
  }
}

TEST(ShuffleReader, TakesAWindowFarLargerThanTheData) {
  ShuffleReader reader(Numbers(10), INT64_MAX, RandomKey(0, 0, ""));
  EXPECT_EQ(Read(&reader).size(), 10u);
}

TEST(ShuffleReader, NeverYieldsARecordBeforeItIsInTheWindow) {
  ShuffleReader reader(Numbers(500), 10, RandomKey(3, 0, ""));
  const std::vector<int64_t> order = Read(&reader);
  ASSERT_EQ(order.size(), 500u);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_LT(order[i], static_cast<int64_t>(i) + 10);
}

TEST(ShuffleReader, DeliversItsWindowBeforeTheError) {
  ShuffleReader reader(Numbers(50, 30), 10, RandomKey(0, 0, ""));
  std::vector<int64_t> values;
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kDataLoss, "record 30 cannot be planned", [&] {
    for (;;) {
      reader.ReadNext(&element);
      values.push_back(element[0].scalar<int64_t>());
    }
  });
  std::sort(values.begin(), values.end());
  ASSERT_EQ(values.size(), 30u);
  for (int64_t i = 0; i < 30; ++i) EXPECT_EQ(values[i], i);
}

// A source that is interrupted at one of its records, for a reason that is not in the data.
class InterruptedSource final : public ReaderBase {
 public:
  InterruptedSource(uint64_t at, std::function<void()> interrupt)
      : ReaderBase({SlotSpec{DataType::kInt64, {1, 1}, 0}}),
        at_(at),
        interrupt_(std::move(interrupt)) {}

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const auto value = static_cast<int64_t>(tickets[i].id.sample);
      __builtin_memcpy(rows->Append(0, DataType::kInt64, {1, 1}), &value, sizeof(value));
    }
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    for (; n > 0; --n) {
      if (next_ == at_) interrupt_();
      Ticket ticket;
      ticket.id.sample = next_;
      run->Add(ticket);
      ++next_;
    }
  }
  void Rewind(uint64_t) override { next_ = 0; }

  const uint64_t at_;
  const std::function<void()> interrupt_;
  uint64_t next_ = 0;
};

// Otherwise the first elements would be drawn from a window that is not full, in another order.
TEST(ShuffleReader, DeliversNothingBeforeAnInterruption) {
  const std::function<void()> interruptions[] = {
      [] { ThrowStopped(); },
      [] { throw std::bad_alloc(); },
      [] { BufferPool::At(Place()).Take(size_t{13} << 20); },
  };
  for (const auto& interruption : interruptions) {
    const LimitInForce limit(size_t{16} << 20);
    ShuffleReader reader(std::make_unique<InterruptedSource>(30, interruption), 100,
                         RandomKey(0, 0, ""));
    EXPECT_ANY_THROW(reader.HasNext());
    std::vector<LoDTensor> element;
    EXPECT_ANY_THROW(reader.ReadNext(&element));
    reader.ReInit();
    EXPECT_ANY_THROW(reader.HasNext());
  }
}

// The limit has room for few of a million elements. Each takes 64 bytes in the window and 24 bytes
// in tables. The advised limit holds what was asked for then, 88 MB and 2 * 14 MB, and a third
// more.
TEST(ShuffleReader, SaysWhatTheWholeWindowWouldTake) {
  const LimitInForce limit(size_t{16} << 20);
  ShuffleReader reader(std::make_unique<InterruptedSource>(
                           30, [] { BufferPool::At(Place()).Take(size_t{13} << 20); }),
                       1000000, RandomKey(0, 0, ""));
  const std::optional<Thrown> thrown = ErrorOf([&] { reader.HasNext(); });
  ASSERT_TRUE(thrown.has_value());
  const std::string advice = "raise the limit to ";
  const size_t place = thrown->text.find(advice);
  ASSERT_NE(place, std::string::npos) << thrown->text;
  const int megabytes = std::stoi(thrown->text.substr(place + advice.size()));
  EXPECT_GT(megabytes, 165) << thrown->text;
  EXPECT_LT(megabytes, 185) << thrown->text;
}

TEST(ShuffleReader, ShufflesEveryPassOfAMultiPassAnew) {
  MultiPassReader reader(std::make_unique<ShuffleReader>(Numbers(100), 100, RandomKey(0, 0, "")),
                         3);
  const std::vector<int64_t> all = Read(&reader);
  ASSERT_EQ(all.size(), 300u);
  const std::vector<int64_t> passes[] = {{all.begin(), all.begin() + 100},
                                         {all.begin() + 100, all.begin() + 200},
                                         {all.begin() + 200, all.end()}};
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_NE(passes[1], passes[2]);
  EXPECT_NE(passes[0], passes[2]);
}

// A window of copies keeps none of the blocks that its records came from.
TEST(ShuffleReader, KeepsNoBlockOfItsSource) {
  ShuffleReader reader(Numbers(2000), 1000, RandomKey(0, 0, ""));
  std::vector<LoDTensor> element;
  for (int i = 0; i < 10; ++i) reader.ReadNext(&element);
  // What is planned and not yet copied is 256 records at most, of 16 a block.
  EXPECT_LE(LiveSourceBlocks(), 256 / 16 + 1);
}

// Wherever memory runs out: while the window is filled, or between a draw and its hand-over.
TEST(ShuffleReader, GivesBackItsRecordsWhenThereIsNoMemoryForMore) {
  const PoolSize pool(0);
  constexpr size_t kRecord = 40000;  // too large for a slot of the window
  const TempFile file("large", std::string(100 * kRecord, 'x'));
  FormatArguments arguments;
  arguments.declared.resize(1);
  arguments.declared[0].dtype = DataType::kUint8;
  arguments.declared[0].dims = {1, kRecord};
  const size_t before = BufferPool::At(Place()).in_use_bytes();
  size_t errors = 0;
  size_t ends = 0;
  for (size_t limit = size_t{1} << 20; limit < size_t{10} << 20; limit += kRecord) {
    MemoryLimit::Set(limit);
    try {
      BatchReader reader(std::make_unique<ShuffleReader>(
                             OpenFile(*FindFileFormat("fixed"), file.path(), "", arguments), 16,
                             RandomKey(0, 0, "")),
                         32, false, BatchMode::kConcat);
      std::vector<LoDTensor> batch;
      while (reader.HasNext()) reader.ReadNext(&batch);
      ++ends;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kResourceLimit);
      ++errors;
    }
    EXPECT_EQ(BufferPool::At(Place()).in_use_bytes(), before) << "with a limit of " << limit;
  }
  MemoryLimit::Set(SIZE_MAX);
  EXPECT_GT(errors, 10u);
  EXPECT_GT(ends, 0u);
}

// A window of batches holds runs of tickets. It must not keep more of them than it needs.
TEST(ShuffleReader, PlansNoFurtherThanAWindowOfBatchesNeeds) {
  ShuffleReader reader(std::make_unique<BatchReader>(Numbers(4000), 16, false, BatchMode::kConcat),
                       4, RandomKey(0, 0, ""));
  std::vector<LoDTensor> element;
  for (int i = 0; i < 10; ++i) reader.ReadNext(&element);
  EXPECT_LE(LiveSourceBlocks(), 2 * 4 + 2);
}

// ---- Lanes of records that are large enough to be copied a chunk at a time. ----

constexpr size_t kLargeRecord = 4096;
constexpr int64_t kLargeRecords = 3000;

// Records that begin with their numbers.
std::string LargeRecords() {
  std::string bytes(kLargeRecords * kLargeRecord, '\0');
  for (int64_t i = 0; i < kLargeRecords; ++i) {
    std::memcpy(&bytes[static_cast<size_t>(i) * kLargeRecord], &i, sizeof(i));
  }
  return bytes;
}

// Three lanes with windows of 1.6 MB, in batches of six records.
std::unique_ptr<ReaderBase> LargeLanes(const TempFile& file) {
  FormatArguments arguments;
  arguments.declared.resize(1);
  arguments.declared[0].dtype = DataType::kUint8;
  arguments.declared[0].dims = {1, kLargeRecord};
  LaneSet set = OpenFileLanes({"fixed:" + file.path()}, {}, arguments, {}, 3);
  for (size_t v = 0; v < set.lanes.size(); ++v) {
    set.lanes[v] = std::make_unique<ShuffleReader>(std::move(set.lanes[v]), 400,
                                                   RandomKey(0, 0, "").OfPart(v));
  }
  set.stripe = 2;
  return std::make_unique<LaneBatchReader>(std::make_unique<LanesReader>(std::move(set)), 6, false,
                                           BatchMode::kConcat, 4);
}

std::vector<int64_t> NumbersOfBatches(ReaderBase* reader, size_t batches) {
  std::vector<int64_t> numbers;
  std::vector<LoDTensor> batch;
  for (; batches > 0 && reader->HasNext(); --batches) {
    reader->ReadNext(&batch);
    for (int64_t row = 0; row < batch[0].dims()[0]; ++row) {
      numbers.emplace_back();
      std::memcpy(
          &numbers.back(),
          static_cast<const char*>(batch[0].raw_data()) + static_cast<size_t>(row) * kLargeRecord,
          sizeof(int64_t));
    }
  }
  return numbers;
}

// Under a limit, which has no room for a chunk and its copies, they keep what they have not copied.
TEST(ShuffleReader, InALaneKeepsNoChunk) {
  const PoolSize pool(0);
  const TempFile file("large", LargeRecords());
  const size_t before = Pool<Chunk>::in_use();
  {
    const std::unique_ptr<ReaderBase> lanes = LargeLanes(file);
    EXPECT_EQ(NumbersOfBatches(lanes.get(), 1).size(), 6u);
    EXPECT_EQ(Pool<Chunk>::in_use(), before);
  }
  const LimitInForce limit(size_t{256} << 20);
  const std::unique_ptr<ReaderBase> lanes = LargeLanes(file);
  EXPECT_EQ(NumbersOfBatches(lanes.get(), 1).size(), 6u);
  EXPECT_EQ(Pool<Chunk>::in_use(), before + 3);
}

TEST(ShuffleReader, InALaneDrawsTheSameHoweverItCopies) {
  const TempFile file("large", LargeRecords());
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    const std::unique_ptr<ReaderBase> whole = LargeLanes(file);
    const std::vector<int64_t> all = NumbersOfBatches(whole.get(), SIZE_MAX);
    std::vector<int64_t> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted.size(), static_cast<size_t>(kLargeRecords));
    for (int64_t i = 0; i < kLargeRecords; ++i) ASSERT_EQ(sorted[static_cast<size_t>(i)], i);
    // In the middle of a chunk, and when windows grow empty; what is resumed copies otherwise.
    for (const size_t read : {0, 1, 77, 250, 440, 499, 500}) {
      const auto saved = [&] {
        const std::unique_ptr<ReaderBase> reader = LargeLanes(file);
        reader->ExpectSave();
        std::vector<int64_t> numbers = NumbersOfBatches(reader.get(), read);
        return std::make_pair(std::move(numbers), Position::Parse(reader->Save().Serialize()));
      };
      const auto check = [&](std::vector<int64_t> numbers, const Position& position) {
        const std::unique_ptr<ReaderBase> reader = LargeLanes(file);
        reader->Restore(position);
        const std::vector<int64_t> rest = NumbersOfBatches(reader.get(), SIZE_MAX);
        numbers.insert(numbers.end(), rest.begin(), rest.end());
        EXPECT_EQ(numbers, all) << read << " batches, " << workers << " workers";
      };
      const auto [numbers, position] = saved();
      check(numbers, position);
      const LimitInForce limit(size_t{256} << 20);
      check(numbers, position);
      const auto [limited_numbers, limited_position] = saved();
      MemoryLimit::Set(SIZE_MAX);
      check(limited_numbers, limited_position);
    }
  }
}

TEST(ShuffleReader, InALaneBeginsAnyPassAnew) {
  const PoolSize pool(0);
  const TempFile file("large", LargeRecords());
  const std::unique_ptr<ReaderBase> reader = LargeLanes(file);
  NumbersOfBatches(reader.get(), 10);
  reader->ReInit();
  std::vector<int64_t> second = NumbersOfBatches(reader.get(), SIZE_MAX);
  std::sort(second.begin(), second.end());
  ASSERT_EQ(second.size(), static_cast<size_t>(kLargeRecords));
  EXPECT_EQ(std::unique(second.begin(), second.end()), second.end());
}

}  // namespace
}  // namespace millhopper
