// SPDX-License-Identifier: Apache-2.0
// Double buffers, beyond the contract of all readers: how far ahead they load, and devices.
#include "readers/decorate/double_buffer_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/map_reader.h"
#include "tests/fakes/fake_device.h"
#include "tests/fakes/sources.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int64_t kRecords = 100;

std::unique_ptr<ReaderBase> Numbers(std::shared_ptr<Ledger> ledger = nullptr,
                                    int64_t records = kRecords) {
  SourceSpec spec;
  spec.records = records;
  spec.ledger = std::move(ledger);
  return MakePlannedSource(spec);
}

// Calls a function for each number.
std::unique_ptr<ReaderBase> Map(std::unique_ptr<ReaderBase> numbers,
                                const std::function<void(int64_t number)>& function) {
  const std::vector<SlotSpec> slots = numbers->slots();
  return std::make_unique<MapReader>(
      std::move(numbers), slots,
      [=](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        function((*in)[0].data<int64_t>()[0]);
        out->swap(*in);
      });
}

// Elements that take so long to load that they are worth a hand-over.
std::unique_ptr<ReaderBase> Slow(std::unique_ptr<ReaderBase> numbers) {
  return Map(std::move(numbers),
             [](int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
}

int64_t Loaded(const Ledger& ledger) {
  int64_t loaded = 0;
  for (int64_t i = 0; i < kRecords; ++i) loaded += ledger.loads(i);
  return loaded;
}

TEST(DoubleBufferReader, RefusesDepthsBelowOneAndElementsOnADevice) {
  ExpectError(ErrorCode::kInvalidArgument, "depth is 0",
              [] { DoubleBufferReader(Numbers(), Place(), 0); });
  const Place place(FakeDevice::Get());
  ExpectError(ErrorCode::kInvalidArgument, "cannot be buffered again", [&] {
    DoubleBufferReader(std::make_unique<DoubleBufferReader>(Numbers(), place, 1), Place(), 1);
  });
}

// F33
TEST(DoubleBufferReader, LoadsAheadAndNoFurther) {
  const PoolSize pool(2);
  const auto ledger = std::make_shared<Ledger>(kRecords);
  DoubleBufferReader reader(Slow(Numbers(ledger)), Place(), 3);
  EXPECT_EQ(ReadSome(&reader, 10).size(), 10u);
  // Ten were read. The workers load three more by themselves, and then stop; they begin again once
  // half of these are taken.
  for (Backoff backoff; Loaded(*ledger) < 12;) backoff.Pause();
  EXPECT_LE(Loaded(*ledger), 13);
  EXPECT_EQ(ReadSome(&reader, 2).size(), 2u);
  for (Backoff backoff; Loaded(*ledger) < 14;) backoff.Pause();
  EXPECT_LE(Loaded(*ledger), 15);
}

// Even small elements are copied ahead, so that the copy is under way before it is needed.
TEST(DoubleBufferReader, LoadsAheadForADevice) {
  const PoolSize pool(1);
  const auto ledger = std::make_shared<Ledger>(kRecords);
  DoubleBufferReader reader(Numbers(ledger), Place(FakeDevice::Get()), 3);
  EXPECT_EQ(ReadSome(&reader, 50).size(), 50u);
  for (Backoff backoff; Loaded(*ledger) < 52;) backoff.Pause();
}

TEST(DoubleBufferReader, WorksOnTheNextElementInsteadOfWaiting) {
  const PoolSize pool(1);
  Gate begun, next_begun;
  const auto meet = [&](int64_t number) {
    if (number == 2) next_begun.Open();
    if (number == 1) {
      begun.Open();
      next_begun.Wait();
    }
  };
  DoubleBufferReader reader(Map(Slow(Numbers()), meet), Place(), 2);
  ReadSome(&reader, 1);
  begun.Wait();  // by the one worker there is
  EXPECT_EQ(ReadSome(&reader, 2).size(), 2u);
}

// A consumer that helps must not be held up by what it helps with.
TEST(DoubleBufferReader, WhoHelpsLeavesASilentElementWhenItsOwnIsThere) {
  const PoolSize pool(1);
  Gate begun, next_begun, silent;
  const auto meet = [&](int64_t number) {
    if (number == 1) {
      begun.Open();
      next_begun.Wait();
    }
    if (number == 2) {
      next_begun.Open();
      silent.WaitOrLeave();
    }
  };
  DoubleBufferReader reader(Map(Slow(Numbers()), meet), Place(), 2);
  ReadSome(&reader, 1);
  begun.Wait();                                // by the one worker there is
  EXPECT_EQ(ReadSome(&reader, 1).size(), 1u);  // the consumer came to number 2 meanwhile
  silent.Open();
  EXPECT_EQ(ReadAll(&reader).size(), static_cast<size_t>(kRecords) - 2);
}

// Plans the first elements at once, and waits before the others.
class StallsAfter final : public DecoratedReader {
 public:
  StallsAfter(std::unique_ptr<ReaderBase> reader, size_t most, Gate* begun, Gate* gate)
      : DecoratedReader(std::move(reader)), most_(most), begun_(begun), gate_(gate) {}

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    if (planned_ == most_) {
      begun_->Open();
      gate_->WaitOrLeave();
    }
    planned_ += reader().Plan(std::min(n, std::max(most_, planned_ + 1) - planned_), run);
  }
  void Rewind(uint64_t pass) override {
    planned_ = 0;
    DecoratedReader::Rewind(pass);
  }
  void SaveState(ReaderState* state) const override { state->Set("planned", planned_); }
  void RestoreState(const ReaderState& state) override { planned_ = state.Get("planned"); }

  const size_t most_;
  Gate* const begun_;
  Gate* const gate_;
  size_t planned_ = 0;
};

// To save, to begin again and to go away need no more of a worker that plans than that it leaves.
TEST(DoubleBufferReader, WorkersThatWaitHoldUpNobody) {
  for (const int workers : {1, 2, 7}) {
    const PoolSize pool(workers);
    Gate begun, never, open;
    open.Open();
    const auto make = [&](Gate* gate) {
      return std::make_unique<DoubleBufferReader>(
          Slow(std::make_unique<StallsAfter>(Numbers(), 6, &begun, gate)), Place(), 8);
    };
    const std::unique_ptr<ReaderBase> reader = make(&never);
    reader->ExpectSave();
    ReadSome(reader.get(), 3);
    begun.Wait();
    const Position position = reader->Save();
    const std::unique_ptr<ReaderBase> again = make(&open);
    again->Restore(position);
    EXPECT_EQ(ReadAll(again.get()).size(), static_cast<size_t>(kRecords) - 3);
    reader->ReInit();
    EXPECT_EQ(ReadSome(reader.get(), 3).size(), 3u);
  }
}

// A worker that waits for what another one makes, when its pass is over, gives up. A holder of its
// element's ticket can still load the element, including what the worker had loaded of it.
class StoppedWorker : public ::testing::TestWithParam<int64_t> {};

TEST_P(StoppedWorker, LeavesItsElementToWhoeverHasTheTicket) {
  const PoolSize pool(2);
  const int64_t together = GetParam();  // numbers in an element
  const int64_t last = 2 * together - 1;
  Gate last_begun, end;
  const auto meet = [&](int64_t number) {
    if (number == 0) last_begun.Wait();
    if (number == last) {
      last_begun.Open();
      end.Wait();
    }
  };
  std::unique_ptr<ReaderBase> below =
      std::make_unique<DoubleBufferReader>(Map(Slow(Numbers()), meet), Place(), last + 1);
  below = std::make_unique<BatchReader>(std::move(below), together, false, BatchMode::kConcat);
  DoubleBufferReader reader(std::move(below), Place(), 2);
  std::thread other([&] {
    last_begun.Wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    end.Open();
  });
  TicketRun run;
  EXPECT_EQ(reader.Plan(1, &run), 1u);
  // By then one worker waits for the last number of the second element, which the other one makes.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(reader.Plan(1, &run), 1u);
  reader.Restart(1);
  other.join();
  ASSERT_EQ(run.tickets.size(), 2u);
  Rows rows;
  rows.Reset(reader.row_slots());
  reader.Load(run.tickets.data(), 2, &rows);
  std::vector<LoDTensor> elements;
  rows.MoveTo(&elements);
  std::vector<int64_t> numbers(static_cast<size_t>(last + 1));
  std::iota(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(ValuesOf<int64_t>(elements[0]), numbers);
}

INSTANTIATE_TEST_SUITE_P(Numbers, StoppedWorker, ::testing::Values(1, 2, 3));

// A consumer that shares a reader with others leaves its waits for them while it plans (Yields),
// and then continues. What it was making is not lost, nor what that was being made of.
class LeavingConsumer : public ::testing::TestWithParam<int> {};

TEST_P(LeavingConsumer, MakesItsElementLater) {
  const PoolSize pool(GetParam());
  std::atomic<bool> last_begun{false};
  Gate end;
  const auto meet = [&](int64_t number) {
    if (number < 2) return;
    last_begun = true;
    end.WaitOrLeave();
  };
  std::unique_ptr<ReaderBase> below =
      std::make_unique<DoubleBufferReader>(Map(Slow(Numbers()), meet), Place(), 3);
  below = std::make_unique<BatchReader>(std::move(below), 3, false, BatchMode::kConcat);
  DoubleBufferReader reader(std::move(below), Place(), 1);
  TicketRun run;
  const auto is_over = [&] { return last_begun.load(); };
  try {
    const HelpScope scope(is_over);
    reader.Plan(1, &run);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
  }
  end.Open();
  if (run.tickets.empty()) reader.Plan(1, &run);
  ASSERT_EQ(run.tickets.size(), 1u);
  Rows rows;
  rows.Reset(reader.row_slots());
  reader.Load(run.tickets.data(), 1, &rows);
  std::vector<LoDTensor> element;
  rows.MoveTo(&element);
  EXPECT_EQ(ValuesOf<int64_t>(element[0]), (std::vector<int64_t>{0, 1, 2}));
}

INSTANTIATE_TEST_SUITE_P(Workers, LeavingConsumer, ::testing::Values(0, 1, 2));

// Whoever makes an element that takes far more time than usual, the worker or the consumer, the
// other one makes the next element meanwhile. (A consumer may come to element 20 before it has all
// that it waits for, and leaves it then.)
TEST(WaitingConsumer, MakesTheNextElementMeanwhile) {
  const PoolSize pool(1);
  Gate begun, next_begun;
  DoubleBufferReader reader(Map(Numbers(nullptr, 40),
                                [&](int64_t number) {
                                  if (number < 20) {
                                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                  } else if (number == 20) {
                                    begun.Open();
                                    next_begun.WaitOrLeave();
                                  } else if (number == 21) {
                                    next_begun.Open();
                                  }
                                }),
                            Place(), 2);
  ReadSome(&reader, 20);
  begun.Wait();
  EXPECT_EQ(ReadSome(&reader, 2).size(), 2u);
}

class ToDevice : public ::testing::TestWithParam<int> {
 protected:
  ~ToDevice() override {
    device_->Drain();
    EXPECT_EQ(device_->TakeViolations(), std::vector<std::string>{});
  }
  FakeDevice* const device_ = FakeDevice::Get();
  const Place place_{device_};
  const PoolSize pool_{GetParam()};
};

// F36
TEST_P(ToDevice, AFailedCopyTakesTheElementsPlace) {
  ReadAll(std::make_unique<DoubleBufferReader>(Numbers(), place_, 1).get());
  const int64_t sixth = 5;
  device_->FailCopyOf(std::string(reinterpret_cast<const char*>(&sixth), sizeof(sixth)));
  DoubleBufferReader reader(Numbers(), place_, 1);
  std::vector<LoDTensor> element;
  int64_t read = 0;
  const std::optional<Thrown> error = ErrorOf([&] {
    for (;; ++read) reader.ReadNext(&element);
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kIo);
  EXPECT_EQ(read, 5);
  EXPECT_EQ(ErrorOf([&] { reader.HasNext(); }), error);
  reader.ReInit();
  EXPECT_EQ(ReadAll(&reader).size(), static_cast<size_t>(kRecords));
}

// What a consumer queues on the device may read an element long after the consumer has released it.
TEST_P(ToDevice, AnElementIsNotOverwrittenWhileTheDeviceReadsIt) {
  DoubleBufferReader reader(Numbers(), place_, 2);
  std::vector<LoDTensor> element;
  for (int64_t i = 0; i < kRecords; ++i) {
    reader.ReadNext(&element);
    device_->BeginRead(element[0].buffer()->data());
    if (i % 3 == 2) device_->EndReads();
  }
  device_->EndReads();
  EXPECT_FALSE(reader.HasNext());
}

// F36
TEST_P(ToDevice, MissingMemoryIsAnErrorUntilThereIsSome) {
  DoubleBufferReader reader(Numbers(), place_, 1);
  device_->FailAllocations(true);
  BufferPool::At(place_).set_idle_limit(0);
  std::vector<LoDTensor> element;
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kResourceLimit, "no memory", [&] { reader.ReadNext(&element); });
  }
  device_->FailAllocations(false);
  BufferPool::At(place_).set_idle_limit(size_t{1} << 30);
  reader.ReInit();
  EXPECT_EQ(ReadAll(&reader).size(), static_cast<size_t>(kRecords));
}

// F37: they wait for no copy, and leave its memory alone until it is done.
TEST_P(ToDevice, ResetAndDestructionLeaveCopiesThatAreUnderWay) {
  device_->Pause();
  {
    // Each HasNext has two elements copied at most. A request for a fifth waits for the device.
    DoubleBufferReader reader(
        std::make_unique<BatchReader>(Numbers(), 7, false, BatchMode::kConcat), place_, 1);
    reader.HasNext();
    reader.ReInit();
    reader.HasNext();
  }
  device_->Resume();
  for (int round = 0; round < 30; ++round) {
    DoubleBufferReader reader(
        std::make_unique<BatchReader>(Numbers(), 7, false, BatchMode::kConcat), place_, 3);
    ReadSome(&reader, static_cast<size_t>(round % 5));
    if (round % 2 == 0) reader.ReInit();
    if (round % 3 == 0) reader.HasNext();
  }
  device_->Settle();
  EXPECT_EQ(BufferPool::At(place_).in_use_bytes(), 0u);
  EXPECT_EQ(BufferPool::PinnedFor(place_).in_use_bytes(), 0u);
}

TEST_P(ToDevice, UsesItsMemoryAgain) {
  DoubleBufferReader reader(Numbers(), place_, 2);
  ReadAll(&reader);
  const size_t allocations = device_->allocations() + device_->host_allocations();
  for (int pass = 0; pass < 3; ++pass) {
    reader.ReInit();
    EXPECT_EQ(ReadAll(&reader).size(), static_cast<size_t>(kRecords));
  }
  // Timing decides how many are under way at once, never how many there are in all.
  EXPECT_LE(device_->allocations() + device_->host_allocations(), allocations + 16);
}

INSTANTIATE_TEST_SUITE_P(Workers, ToDevice, ::testing::Values(0, 1, 2),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace millhopper
