// SPDX-License-Identifier: Apache-2.0
// Shuffles, beyond the contract of all readers and order_test.cc.
#include "readers/decorate/shuffle_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
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
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/multi_pass_reader.h"
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

}  // namespace
}  // namespace millhopper
