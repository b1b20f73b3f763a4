// SPDX-License-Identifier: Apache-2.0
// Each record is loaded once per pass, and nothing is left behind by a reset or a destruction at
// any moment. The labels are those of tests/faults.md.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "framework/memory/memory.h"
#include "framework/program/executor.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/chains/chain_generator.h"
#include "tests/chains/chain_model.h"
#include "tests/chains/chain_runner.h"
#include "tests/chains/dice.h"
#include "tests/chains/number_source.h"
#include "tests/chains/schedule.h"
#include "tests/fakes/fake_device.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// The readers of a program that no other reader reads, with the scope that they are in.
class Chain {
 public:
  explicit Chain(const std::string& text) : program_(LoadChain(text)) {
    Executor().Run(program_, ProgramRole::kStartup, &scope_);
    for (const std::string& top : ChainModel(program_->desc()).Tops()) {
      tops_.push_back(scope_.Var(top)->GetMutable<ReaderHolder>());
    }
  }
  const std::vector<ReaderHolder*>& tops() const { return tops_; }

  // How often a pass of the chain yields each record of its source.
  int times() const {
    int times = 1;
    for (const proto::OpDesc& op : program_->desc().blocks(0).ops()) {
      if (op.type() == "create_multi_pass_reader") times *= op.attrs(0).i();
    }
    return times;
  }

 private:
  const std::shared_ptr<const Program> program_;
  Scope scope_;
  std::vector<ReaderHolder*> tops_;
};

// Reads up to `most` elements, or fewer if an error or the end comes before.
void Read(ReaderHolder* reader, int64_t most) {
  std::vector<LoDTensor> element;
  try {
    for (; most > 0 && reader->HasNext(); --most) reader->ReadNext(&element);
  } catch (const Error&) {  // an error that the drawn chain is meant to have
  }
}

void ReadOnThreads(const std::vector<ReaderHolder*>& readers, int64_t most) {
  std::vector<std::thread> threads;
  threads.reserve(readers.size());
  for (ReaderHolder* reader : readers) threads.emplace_back([=] { Read(reader, most); });
  for (std::thread& thread : threads) thread.join();
}

class Leftovers : public ::testing::TestWithParam<Schedule> {
 protected:
  ~Leftovers() override { CountLoads(nullptr); }

  const ScheduleInForce schedule_{GetParam()};
  // All schedules together have ten thousand cases.
  const uint64_t cases_ =
      NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / 2 / kSchedules.size() + 1;
  const uint64_t first_ =
      NumberFromEnvironment("MILLHOPPER_CHAIN_SEED", 1) + GetParam().index * cases_;
};

TEST_P(Leftovers, EachRecordIsLoadedOncePerPass) {
  constexpr int64_t kMostRecords = 1000;
  ChainWishes wishes;
  wishes.counted = true;
  for (uint64_t seed = first_; seed < first_ + cases_ / 4; ++seed) {
    const std::string text = DrawChain(seed, wishes);
    const auto ledger = std::make_shared<Ledger>(kMostRecords);
    CountLoads(ledger);
    Chain chain(text);
    Dice dice(seed);
    int64_t records = -1;
    for (int pass = 0; pass < 4; ++pass) {
      std::vector<int> before;
      for (int64_t i = 0; i < kMostRecords; ++i) before.push_back(ledger->loads(i));
      const bool whole = pass == 0 || dice.OneIn(2);
      ReadOnThreads(chain.tops(), whole ? INT64_MAX : dice.Between(0, 10));
      for (ReaderHolder* reader : chain.tops()) reader->ReInit();
      int64_t loaded = 0;
      for (int64_t i = 0; i < kMostRecords; ++i) {
        const int times = ledger->loads(i) - before[static_cast<size_t>(i)];
        if (times > 0) ++loaded;
        ASSERT_LE(times, chain.times()) << "record " << i << " in pass " << pass << "\n" << text;
        if (!whole || times == 0) continue;
        ASSERT_EQ(times, chain.times()) << "record " << i << " in pass " << pass << "\n" << text;
      }
      if (pass == 0) records = loaded;
      if (whole) {
        ASSERT_EQ(loaded, records) << "in pass " << pass << "\n" << text;
      }
    }
  }
}

// F22 and F24: the consumer stops, resets and destroys readers at any moment, and nothing remains:
// no thread, no descriptor, no pinned byte, no pooled object.
TEST_P(Leftovers, ResetAndDestructionLeaveNothingBehind) {
  FakeDevice* const device = FakeDevice::Get();
  // Threads that are started only once are started before anything is counted.
  StartPoolThreads();
  for (uint64_t seed = 1; seed < 40; ++seed) ReadOnThreads(Chain(DrawChain(seed)).tops(), 100);
  const Holdings before = CurrentHoldings();
  for (uint64_t seed = first_; seed < first_ + cases_; ++seed) {
    const std::string text = DrawChain(seed);
    {
      const Chain chain(text);
      Dice dice(seed);
      for (int64_t resets = dice.Between(0, 2); resets >= 0; --resets) {
        for (ReaderHolder* reader : chain.tops()) Read(reader, dice.Between(0, 6));
        for (ReaderHolder* reader : chain.tops()) {
          if (resets > 0) reader->ReInit();
        }
      }
    }
    device->Settle();
    ASSERT_TRUE(HoldingsReturnTo(before)) << text;
    ASSERT_EQ(BufferPool::At(Place(device)).in_use_bytes(), 0u) << text;
    ASSERT_EQ(BufferPool::PinnedFor(Place(device)).in_use_bytes(), 0u) << text;
    ASSERT_EQ(LiveSourceBlocks(), 0) << text;
  }
  EXPECT_EQ(device->TakeViolations(), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Under, Leftovers, ::testing::ValuesIn(kSchedules), NameOfSchedule);

// F25: a reader belongs to one thread, but eight threads may share it through a handle each. Then
// each record goes to one of them.
TEST(SharedReader, GivesEachRecordToOneOfEightThreads) {
  for (const int workers : {0, 1, 2, 7}) {
    const PoolSize pool(workers);
    SourceSpec source;
    source.records = 1000;
    source.ledger = std::make_shared<Ledger>(source.records);
    ReaderHolder holder;
    holder.Reset(MakePlannedSource(source));
    std::vector<std::unique_ptr<ReaderBase>> handles;
    handles.reserve(8);
    for (int k = 0; k < 8; ++k) handles.push_back(holder.NewHandle());
    for (int pass = 1; pass <= 5; ++pass) {
      std::vector<std::vector<ElementValue>> got(handles.size());
      std::vector<std::thread> threads;
      threads.reserve(handles.size());
      for (size_t k = 0; k < handles.size(); ++k) {
        threads.emplace_back([&, k] { got[k] = ReadAll(handles[k].get()); });
      }
      for (std::thread& thread : threads) thread.join();
      size_t all = 0;
      for (const auto& elements : got) all += elements.size();
      EXPECT_EQ(all, 1000u);
      for (int64_t i = 0; i < source.records; ++i) ASSERT_EQ(source.ledger->loads(i), pass) << i;
      for (const auto& handle : handles) handle->ReInit();
    }
  }
}

}  // namespace
}  // namespace millhopper
