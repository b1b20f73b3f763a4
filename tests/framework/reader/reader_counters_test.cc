// SPDX-License-Identifier: Apache-2.0
// The counters of readers: alone, and in chains whose work the test knows.
#include "framework/reader/reader_counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/io/counted_reads.h"
#include "framework/io/file.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "framework/reader/sequential_reader.h"
#include "framework/reader/stage_reader.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr std::chrono::milliseconds kHeld(20);

double Seconds(CounterClock::duration time) { return std::chrono::duration<double>(time).count(); }

// Keeps the calling thread busy for that long, by the clock of the timers.
void HoldUp() {
  const auto end = CounterClock::now() + kHeld;
  while (CounterClock::now() < end) std::this_thread::yield();
}

TEST(ReaderCounters, AddUpWhatManyThreadsLoad) {
  ReaderCounters counters;
  constexpr size_t kThreads = 40;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {  // more threads than there are places
    threads.emplace_back([&counters] {
      for (int k = 0; k < 1000; ++k) counters.AddLoaded(2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters.loaded(), 80000u);
  // In the place of a thread that has ended.
  std::thread([&counters] { counters.AddLoaded(1); }).join();
  EXPECT_EQ(counters.loaded(), 80001u);
}

TEST(WaitTimer, CountsNestedTimersOfOneReaderOnce) {
  ReaderCounters top, below;
  const auto begin = CounterClock::now();
  {
    const WaitTimer outer(&top);
    const WaitTimer between(&below);
    const WaitTimer again(&top);
    HoldUp();
  }
  const double all = Seconds(CounterClock::now() - begin);
  EXPECT_GE(top.wait_seconds(), Seconds(kHeld));
  EXPECT_LE(top.wait_seconds(), all);
  EXPECT_GE(below.wait_seconds(), Seconds(kHeld));
  EXPECT_LE(below.wait_seconds(), top.wait_seconds());
}

TEST(LoadTimer, LeavesOutWhatIsWaited) {
  ReaderCounters loads, waits;
  const auto begin = CounterClock::now();
  {
    const LoadTimer timer(&loads);
    HoldUp();
    const WaitTimer outer(&waits);
    const WaitTimer inner(nullptr);
    HoldUp();
  }
  const double all = Seconds(CounterClock::now() - begin);
  EXPECT_GE(loads.load_seconds(), Seconds(kHeld));
  EXPECT_GE(waits.wait_seconds(), Seconds(kHeld));
  EXPECT_LE(loads.load_seconds() + waits.wait_seconds(), all);
}

TEST(CountedReads, CountsWhatFilesGiveToThisThread) {
  const TempFile file("counted", std::string(1000, 'x'));
  const std::unique_ptr<const File> opened = File::Open(file.path());
  char bytes[1000];
  std::atomic<uint64_t> sum{0}, inner{0};
  opened->Read(0, bytes, 10);
  {
    const CountedReads reads(&sum);
    opened->Read(0, bytes, 100);
    opened->ReadApart(100, bytes, 10, 20, 7);
    {
      const CountedReads others(&inner);
      opened->Read(0, bytes, 5);
      const CountedReads nobody(nullptr);
      opened->Read(0, bytes, 3);
    }
    std::thread([&] { opened->Read(0, bytes, 1000); }).join();
    ErrorOf([&] { opened->Read(990, bytes, 11); });
  }
  opened->Read(0, bytes, 10);
  EXPECT_EQ(sum.load(), 180u);
  EXPECT_EQ(inner.load(), 5u);
}

// Holds up the thread that works on the element with this number.
class HeldStage final : public Stage {
 public:
  explicit HeldStage(uint64_t held) : held_(held) {}
  size_t Work(StagedElement* element) const override {
    if (element->id.sample == held_) HoldUp();
    return 1;
  }
  bool keeps_count() const override { return true; }

 private:
  const uint64_t held_;
};

std::unique_ptr<ReaderBase> Held(int64_t records, uint64_t held) {
  SourceSpec spec;
  spec.records = records;
  std::unique_ptr<ReaderBase> source = MakePlannedSource(spec);
  std::vector<SlotSpec> slots = source->slots();
  return std::make_unique<StageReader>(std::move(source), std::move(slots),
                                       std::make_unique<HeldStage>(held), 2);
}

class CountedChain : public ::testing::TestWithParam<int> {};

// The first element is held up. The consumer waits for it or works on it, so its waiting time
// contains that span, and so does the loading time of all threads.
TEST_P(CountedChain, SeesTheTimeOfWorkThatIsHeldUp) {
  const PoolSize pool(GetParam());
  const auto begin = CounterClock::now();
  const std::unique_ptr<ReaderBase> reader = Held(10, 0);
  EXPECT_EQ(ReadAll(reader.get()).size(), 10u);
  const double all = Seconds(CounterClock::now() - begin);
  const ChainStats stats = reader->Stats();
  EXPECT_GE(stats.load_seconds, Seconds(kHeld));
  EXPECT_LE(stats.wait_seconds, all);
  EXPECT_EQ(stats.elements, 10u);
  EXPECT_EQ(stats.below.at(0).elements, 10u);
  EXPECT_EQ(stats.below.at(0).planned, 10u);
  EXPECT_TRUE(GetParam() > 0 || stats.wait_seconds >= Seconds(kHeld)) << "the consumer did it";
}

// All time that the caller of a holder spends in reading counts as waiting.
TEST_P(CountedChain, SeesTheTimeOfItsConsumer) {
  const PoolSize pool(GetParam());
  ReaderHolder holder;
  holder.Reset(Held(1, 0));
  std::vector<LoDTensor> element;
  const auto begin = CounterClock::now();
  holder.ReadNext(&element);
  const double all = Seconds(CounterClock::now() - begin);
  const ChainStats stats = holder.Chain();
  EXPECT_GE(stats.wait_seconds, Seconds(kHeld)) << "nothing can be ready before it is asked for";
  EXPECT_LE(stats.wait_seconds, all);
  EXPECT_NEAR(stats.wait_seconds, holder.stats().wait_seconds, 1e-6) << "each span once";
}

INSTANTIATE_TEST_SUITE_P(Pools, CountedChain, ::testing::Values(0, 1, 2, 7));

// A source that holds up the thread that plans it.
class HeldSource final : public SequentialReader {
 public:
  HeldSource() : SequentialReader(SlotsOf(SourceSpec())) {}

 private:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override {
    if (done_) return false;
    HoldUp();
    *out = {MakeTensor<int64_t>({1, 1}, {7})};
    done_ = true;
    return true;
  }
  void ReInitImpl() override { done_ = false; }

  bool done_ = false;
};

TEST(CountedSource, SeesHowLongItsElementsTakeToCome) {
  HeldSource source;
  EXPECT_EQ(ReadAll(&source).size(), 1u);
  EXPECT_GE(source.Stats().wait_seconds, Seconds(kHeld));
  source.ReInit();
  EXPECT_EQ(ReadAll(&source).size(), 1u);
  EXPECT_GE(source.Stats().wait_seconds, 2 * Seconds(kHeld)) << "counts are those of all passes";
  EXPECT_EQ(source.Stats().elements, 2u);
}

TEST(CountedMemory, IsThatOfBuffersTakenForTheReader) {
  const PoolSize none(0);
  SourceSpec spec;
  spec.records = 3;
  ReaderHolder holder;
  holder.Reset(MakePlannedSource(spec));
  std::vector<LoDTensor> element;
  EXPECT_EQ(holder.Chain().memory_bytes, 0u);
  holder.ReadNext(&element);
  EXPECT_EQ(holder.Chain().memory_bytes, element[0].buffer()->capacity());
  element.clear();
  EXPECT_EQ(holder.Chain().memory_bytes, 0u);
}

}  // namespace
}  // namespace millhopper
