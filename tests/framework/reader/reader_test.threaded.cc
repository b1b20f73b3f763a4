// SPDX-License-Identifier: Apache-2.0
// What ReaderBase does for every reader. reader_contract.h tests what all readers promise.
#include "framework/reader/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/thread_pool.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Record i has dims [1, widths[i]] and the value i everywhere, if the declaration leaves the width
// open; planned in portions of at most `most`.
class WideSource final : public ReaderBase {
 public:
  WideSource(std::vector<int64_t> widths, int64_t bad, size_t most = SIZE_MAX)
      : ReaderBase({Slot()}), widths_(std::move(widths)), bad_(bad), most_(most) {}

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      Dawdle(1, tickets[i].id.sample);
      const auto record = static_cast<int64_t>(tickets[i].id.sample);
      if (record == bad_) Throw(ErrorCode::kDataLoss, "record ", record, " is bad");
      const int64_t width = widths_[tickets[i].id.sample];
      auto* values = reinterpret_cast<int64_t*>(rows->Append(0, DataType::kInt64, {1, width}));
      std::fill_n(values, width, record);
    }
  }

  bool rewind_fails = false;
  std::vector<uint64_t> passes;
  int plans = 0;

 private:
  static SlotSpec Slot() {
    SlotSpec slot;
    slot.dtype = DataType::kInt64;
    slot.dims = {1, -1};
    return slot;
  }

  void PlanNext(size_t n, TicketRun* run) override {
    ++plans;
    for (n = std::min(n, most_); n > 0 && next_ < widths_.size(); --n) {
      Ticket ticket;
      ticket.id.sample = next_++;
      run->Add(ticket);
    }
  }
  void Rewind(uint64_t pass) override {
    passes.push_back(pass);
    next_ = 0;
    if (rewind_fails) Throw(ErrorCode::kIo, "cannot rewind");
  }

  const std::vector<int64_t> widths_;
  const int64_t bad_;
  const size_t most_;
  size_t next_ = 0;
};

TEST(ReaderBase, TellsItsShapes) {
  WideSource reader({1}, -1);
  EXPECT_EQ(reader.shapes(), std::vector<Dims>{(Dims{1, -1})});
  EXPECT_EQ(reader.shape(0), (Dims{1, -1}));
  ExpectError(ErrorCode::kInvalidArgument, "slot 1 of a reader with 1 slots",
              [&] { reader.shape(1); });
}

TEST(ReaderBase, TakesSlotsBeforeTheFirstPlanOnly) {
  WideSource reader({1, 1}, -1);
  std::vector<SlotSpec> slots = reader.slots();
  slots[0].dims = {1, 1};
  reader.set_slots(slots);
  EXPECT_EQ(reader.shape(0), (Dims{1, 1}));
  slots.push_back(slots[0]);
  ExpectError(ErrorCode::kInvalidArgument, "2", [&] { reader.set_slots(slots); });
  slots.resize(1);
  slots[0].dims = {};
  ExpectError(ErrorCode::kInvalidArgument, "no axis", [&] { reader.set_slots(slots); });
  reader.HasNext();
  slots[0].dims = {1, 1};
  ExpectError(ErrorCode::kInvalidArgument, "before", [&] { reader.set_slots(slots); });
}

TEST(ReaderBase, AsksAgainAfterAShortPlan) {
  WideSource reader({1, 1, 1, 1, 1}, -1, 2);
  TicketRun run;
  EXPECT_EQ(reader.Plan(100, &run), 2u);
  EXPECT_EQ(reader.Plan(100, &run), 2u);
  EXPECT_EQ(reader.Plan(100, &run), 1u);
  EXPECT_EQ(reader.Plan(100, &run), 0u);
  const int plans = reader.plans;
  EXPECT_EQ(reader.Plan(100, &run), 0u);
  EXPECT_EQ(reader.plans, plans);  // the end is not asked for again
}

TEST(ReaderBase, CountsItsPassesWhateverWasRead) {
  WideSource reader({1, 1}, -1);
  reader.ReInit();
  reader.HasNext();
  reader.ReInit();
  ReadAll(&reader);
  reader.ReInit();
  EXPECT_EQ(reader.passes, (std::vector<uint64_t>{1, 2, 3}));
}

TEST(ReaderBase, KeepsTheErrorOfAFailedRewind) {
  WideSource reader({1, 1}, -1);
  reader.rewind_fails = true;
  ExpectError(ErrorCode::kIo, "cannot rewind", [&] { reader.ReInit(); });
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kIo, "cannot rewind", [&] { reader.HasNext(); });
  }
  reader.rewind_fails = false;
  reader.ReInit();
  EXPECT_EQ(ReadAll(&reader).size(), 2u);
}

// Loads `n` elements at once, several times, because measurements decide the sizes of parts.
std::string LoadAll(const WideSource& reader, const TicketRun& run, size_t n, Rows* rows) {
  try {
    rows->Reset(reader.row_slots());
    reader.LoadInParallel(run.tickets.data(), n, rows);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class LoadInParallel : public ::testing::TestWithParam<int> {
 protected:
  const PoolSize pool_{GetParam()};
};

TEST_P(LoadInParallel, KeepsTheOrder) {
  constexpr size_t kRecords = 400;
  WideSource reader(std::vector<int64_t>(kRecords, 3), -1);
  TicketRun run;
  reader.Plan(kRecords, &run);
  std::vector<int64_t> wanted;
  for (int64_t i = 0; i < static_cast<int64_t>(kRecords); ++i) wanted.insert(wanted.end(), 3, i);
  for (int round = 0; round < 20; ++round) {
    Rows rows;
    std::vector<LoDTensor> out;
    ASSERT_EQ(LoadAll(reader, run, kRecords, &rows), "");
    rows.MoveTo(&out);
    EXPECT_EQ(out[0].dims(), (Dims{kRecords, 3}));
    EXPECT_EQ(ValuesOf<int64_t>(out[0]), wanted);
  }
}

// The error is the same as when records are loaded one after another: that of the first record that
// fails, whether by itself or because its dims differ from those before it.
TEST_P(LoadInParallel, ThrowsTheErrorOfTheFirstElementThatFails) {
  constexpr size_t kRecords = 400;
  for (const size_t wider : {1, 15, 16, 17, 100, 399}) {
    for (const int64_t bad : {-1, 10, 99, 100, 101, 300}) {
      std::vector<int64_t> widths(kRecords, 3);
      for (size_t i = wider; i < kRecords; ++i) widths[i] = 4;
      WideSource reader(widths, bad);
      TicketRun run;
      reader.Plan(kRecords, &run);
      const bool is_bad_first = bad >= 0 && bad <= static_cast<int64_t>(wider);
      const std::string wanted =
          is_bad_first
              ? StrCat("record ", bad, " is bad")
              : "slot 0: an element of dims [1, 4] cannot follow others of dims [-1, 3] in a "
                "batch: only the leading axis may differ; resize, crop or pad before; sequences of "
                "any length need a level of detail, as in slots={\"x\": (\"int64\", [-1], 1)} of "
                "Python";
      for (int round = 0; round < 3; ++round) {
        Rows rows;
        ASSERT_EQ(LoadAll(reader, run, kRecords, &rows), wanted) << wider << " " << bad;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, LoadInParallel, ::testing::Values(0, 1, 2, 7),
                         ::testing::PrintToStringParamName());

// Says that its elements are one step each, and leaves some out.
class LyingSource final : public ReaderBase {
 public:
  LyingSource() : ReaderBase(SlotsOf(SourceSpec())) {}
  void LoadRows(const Ticket*, size_t n, Rows* rows) const override {
    std::fill_n(rows->Append(0, n - 1), (n - 1) * sizeof(int64_t), 'x');
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override { run->tickets.resize(n); }
  void Rewind(uint64_t) override {}
};

TEST(ReaderBase, NoticesElementsThatAreNotOneStep) {
  const PoolSize pool(2);
  const LyingSource reader;
  const std::vector<Ticket> tickets(100);
  Rows rows(reader.row_slots());
  ExpectError(ErrorCode::kInternal, "one step each",
              [&] { reader.LoadInParallel(tickets.data(), tickets.size(), &rows); });
}

}  // namespace
}  // namespace millhopper
