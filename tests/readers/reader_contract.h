// SPDX-License-Identifier: Apache-2.0
// What every reader promises, as tests. A reader is registered by a factory:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, ReaderContract, WithPools({{"my_reader", MakeMyReader}}),
//                            NameOfCase);
//
// in any test that includes this header; see readers/contract_test.parser.threaded.cc.
#ifndef MILLHOPPER_TESTS_READERS_READER_CONTRACT_H_
#define MILLHOPPER_TESTS_READERS_READER_CONTRACT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/thread_pool.h"
#include "framework/io/file_system.h"
#include "framework/memory/attempt.h"
#include "framework/memory/memory.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/fakes/fake_device.h"
#include "tests/fakes/memory_files.h"
#include "tests/fakes/sources.h"
#include "tests/file_watch.h"
#include "tests/testing.h"

namespace millhopper {

// Where the source below a reader fails: nowhere, when a record is planned, when it is loaded.
enum class Fault { kNone, kPlan, kLoad };

// Sources of the readers that are tested have so many records, of which this one is faulty.
constexpr int64_t kRecords = 50;
constexpr int64_t kFaulty = 20;

inline SourceSpec SourceWith(Fault fault, bool ragged, uint64_t jitter) {
  SourceSpec spec;
  spec.records = kRecords;
  spec.plan_error = fault == Fault::kPlan ? kFaulty : -1;
  spec.load_error = fault == Fault::kLoad ? kFaulty : -1;
  spec.ragged = ragged;
  spec.jitter = jitter;
  return spec;
}

struct ContractCase {
  std::string name;
  // Makes a new reader at its beginning. Called with kNone and with each of `faults`.
  std::function<std::unique_ptr<ReaderBase>(Fault)> make;
  std::vector<Fault> faults = {};
  // For each of `faults`: how many elements precede the error.
  std::vector<size_t> before_fault = {};
  // The int64 values of the first slot over all elements of a pass, in any order; empty if they are
  // not to be checked.
  std::vector<int64_t> values = {};
  // All elements of a pass, in any order; empty if they are not to be checked.
  std::vector<ElementValue> elements = {};
  // The files that the reader reads; it opens none of them before its first Plan.
  std::function<std::vector<std::string>()> files = nullptr;
  // Whether a pass reads every byte of its files, and not the chunks of one shard only.
  bool reads_all = true;
};

using ContractParam = std::tuple<ContractCase, int>;

inline auto WithPools(const std::vector<ContractCase>& cases) {
  return ::testing::Combine(::testing::ValuesIn(cases), ::testing::Values(0, 1, 2, 7));
}

inline std::string NameOfCase(const ::testing::TestParamInfo<ContractParam>& info) {
  return StrCat(std::get<0>(info.param).name, "_pool_", std::get<1>(info.param));
}

inline void PrintTo(const ContractCase& contract, std::ostream* out) { *out << contract.name; }

// Reads until the error; the elements that precede it are added to *before.
inline std::optional<Thrown> ReadUntilError(ReaderBase* reader, std::vector<ElementValue>* before) {
  return ErrorOf([&] {
    std::vector<LoDTensor> element;
    while (reader->HasNext()) {
      reader->ReadNext(&element);
      before->push_back(ValueOf(element));
    }
  });
}

inline std::vector<std::string> SortedDigests(const std::vector<ElementValue>& elements) {
  std::vector<std::string> digests;
  for (const ElementValue& element : elements) digests.push_back(DigestOf(element));
  std::sort(digests.begin(), digests.end());
  return digests;
}

class ReaderContract : public ::testing::TestWithParam<ContractParam> {
 protected:
  // What a pass yields without any worker. With workers it must be the same.
  static const std::vector<ElementValue>& Reference(const ContractCase& contract, uint64_t pass) {
    static auto* cache = new std::map<std::pair<std::string, uint64_t>, std::vector<ElementValue>>;
    const auto key = std::make_pair(contract.name, pass);
    const auto found = cache->find(key);
    if (found != cache->end()) return found->second;
    const PoolSize none(0);
    const std::unique_ptr<ReaderBase> reader = contract.make(Fault::kNone);
    if (pass > 0) reader->Restart(pass);
    return (*cache)[key] = ReadAll(reader.get());
  }

  void SetUp() override {
    Reference(contract_, 0);
    pool_.emplace(std::get<1>(GetParam()));
    // Files, threads and pooled objects that are made only once are made here, before anything is
    // counted. A sanitizer starts its own thread with the first thread of the process.
    std::thread([] {}).join();
    StartPoolThreads();
    ReadAll(contract_.make(Fault::kNone).get());
    held_ = CurrentHoldings();
  }

  void TearDown() override {
    FakeDevice* device = FakeDevice::Get();
    device->Settle();
    EXPECT_TRUE(HoldingsReturnTo(held_));
    EXPECT_EQ(LiveSourceBlocks(), 0);
    EXPECT_EQ(device->TakeViolations(), std::vector<std::string>{});
    EXPECT_EQ(BufferPool::At(Place(device)).in_use_bytes(), 0u);
    EXPECT_EQ(BufferPool::PinnedFor(Place(device)).in_use_bytes(), 0u);
  }

  std::unique_ptr<ReaderBase> Make(Fault fault = Fault::kNone) const {
    return contract_.make(fault);
  }

  const ContractCase contract_ = std::get<0>(GetParam());
  std::optional<PoolSize> pool_;
  Holdings held_;
};

TEST_P(ReaderContract, YieldsEachRecordOnce) {
  const std::unique_ptr<ReaderBase> reader = Make();
  const std::vector<ElementValue> stream = ReadAll(reader.get());
  EXPECT_EQ(stream, Reference(contract_, 0));
  ASSERT_FALSE(stream.empty());
  if (!contract_.elements.empty()) {
    EXPECT_EQ(SortedDigests(stream), SortedDigests(contract_.elements));
  }
  if (contract_.values.empty()) return;
  std::vector<int64_t> values;
  for (const ElementValue& element : stream) {
    const std::string& bytes = element.at(0).bytes;
    const size_t before = values.size();
    values.resize(before + bytes.size() / 8);
    bytes.copy(reinterpret_cast<char*>(values.data() + before), bytes.size());
  }
  std::vector<int64_t> wanted = contract_.values;
  std::sort(values.begin(), values.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(values, wanted);
}

TEST_P(ReaderContract, YieldsWhatItsSlotsDeclare) {
  const std::unique_ptr<ReaderBase> reader = Make();
  const std::vector<Dims> shapes = reader->shapes();
  ASSERT_EQ(shapes.size(), reader->slots().size());
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    ASSERT_EQ(element.size(), shapes.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      EXPECT_EQ(reader->shape(i), shapes[i]);
      EXPECT_TRUE(
          Fits(reader->slots()[i], element[i].dtype(), element[i].dims(), element[i].lod().size()))
          << Describe(element[i]);
      EXPECT_EQ(element[i].place(), reader->place());
    }
  }
}

TEST_P(ReaderContract, KnowsHowLongAPassIsOrSaysNothing) {
  const size_t length = Reference(contract_, 0).size();
  const std::unique_ptr<ReaderBase> reader = Make();
  for (const size_t read : {size_t{0}, length / 2, length}) {
    EXPECT_EQ(reader->PassLength().value_or(length), length);
    EXPECT_EQ(ReadSome(reader.get(), read).size(), read);
    EXPECT_EQ(reader->PassLength().value_or(length), length) << "after " << read;
    reader->ReInit();
  }
}

TEST_P(ReaderContract, HasNextChangesNothing) {
  const std::unique_ptr<ReaderBase> reader = Make();
  std::vector<ElementValue> stream;
  std::vector<LoDTensor> element;
  while (reader->HasNext() && reader->HasNext() && reader->HasNext()) {
    reader->ReadNext(&element);
    stream.push_back(ValueOf(element));
  }
  EXPECT_EQ(stream, Reference(contract_, 0));
}

TEST_P(ReaderContract, NeedsNoHasNext) {
  const std::unique_ptr<ReaderBase> reader = Make();
  std::vector<LoDTensor> element;
  for (const ElementValue& wanted : Reference(contract_, 0)) {
    reader->ReadNext(&element);
    EXPECT_EQ(ValueOf(element), wanted);
  }
  EXPECT_FALSE(reader->HasNext());
}

TEST_P(ReaderContract, ThrowsEndOfDataAgainAndAgain) {
  const std::unique_ptr<ReaderBase> reader = Make();
  ReadAll(reader.get());
  std::vector<LoDTensor> element;
  for (int i = 0; i < 2; ++i) {
    const std::optional<Thrown> end = ErrorOf([&] { reader->ReadNext(&element); });
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->is_end) << *end;
    EXPECT_FALSE(reader->HasNext());
  }
}

TEST_P(ReaderContract, BeginsAnewFromAnywhere) {
  const size_t all = Reference(contract_, 0).size();
  for (const size_t read : {size_t{0}, size_t{1}, all / 2, all - 1, all}) {
    for (const bool look_ahead : {false, true}) {
      SCOPED_TRACE(StrCat("after ", read, look_ahead ? " and HasNext" : ""));
      const std::unique_ptr<ReaderBase> reader = Make();
      ReadSome(reader.get(), read);
      if (look_ahead) reader->HasNext();
      reader->ReInit();
      EXPECT_EQ(ReadAll(reader.get()), Reference(contract_, 1));
      reader->ReInit();
      EXPECT_EQ(ReadAll(reader.get()), Reference(contract_, 2));
    }
  }
}

TEST_P(ReaderContract, BeginsAnewFiftyTimesInTheMiddle) {
  const std::unique_ptr<ReaderBase> reader = Make();
  for (uint64_t i = 0; i < 50; ++i) {
    ReadSome(reader.get(), i % 4);
    if (i % 3 == 0) reader->HasNext();
    reader->ReInit();
  }
  EXPECT_EQ(ReadAll(reader.get()), Reference(contract_, 50));
}

TEST_P(ReaderContract, MayBeDestroyedAnywhere) {
  Make();
  Make()->HasNext();
  Make()->ReInit();
  const size_t all = Reference(contract_, 0).size();
  for (const size_t read : {size_t{1}, all / 2, all}) {
    ReadSome(Make().get(), read);
    const std::unique_ptr<ReaderBase> reader = Make();
    ReadSome(reader.get(), read);
    reader->ReInit();
    reader->HasNext();
  }
}

TEST_P(ReaderContract, LeavesAloneWhatWasRead) {
  std::vector<std::vector<LoDTensor>> elements;
  {
    const std::unique_ptr<ReaderBase> reader = Make();
    while (reader->HasNext()) {
      elements.emplace_back();
      reader->ReadNext(&elements.back());
    }
    reader->ReInit();
    ReadSome(reader.get(), 3);
  }
  const std::vector<ElementValue>& wanted = Reference(contract_, 0);
  ASSERT_EQ(elements.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(ValueOf(elements[i]), wanted[i]) << i;
}

TEST_P(ReaderContract, PlansInPortionsOfAnySize) {
  for (const size_t portion : {1, 3, 1000}) {
    const std::unique_ptr<ReaderBase> reader = Make();
    TicketRun run;
    while (reader->Plan(portion, &run) > 0) {
    }
    EXPECT_EQ(reader->Plan(portion, &run), 0u);
    std::vector<ElementValue> stream;
    std::vector<LoDTensor> element;
    for (const Ticket& ticket : run.tickets) {
      Rows rows(reader->row_slots());
      reader->Load(&ticket, 1, &rows);
      rows.MoveTo(&element);
      stream.push_back(ValueOf(element));
    }
    EXPECT_EQ(stream, Reference(contract_, 0)) << "in portions of " << portion;
  }
}

TEST_P(ReaderContract, TicketsOutliveTheirPass) {
  const std::unique_ptr<ReaderBase> reader = Make();
  TicketRun run;
  reader->Plan(3, &run);
  const size_t planned = run.tickets.size();
  reader->Restart(1);
  EXPECT_EQ(ReadAll(reader.get()), Reference(contract_, 1));
  std::vector<LoDTensor> element;
  for (size_t i = 0; i < planned; ++i) {
    Rows rows(reader->row_slots());
    reader->Load(&run.tickets[i], 1, &rows);
    rows.MoveTo(&element);
    EXPECT_EQ(ValueOf(element), Reference(contract_, 0).at(i));
  }
}

// Plans and loads each element ahead of need, first with room for almost nothing, then with more.
// After a refusal the reader continues where it was. What is refused even with all the room is done
// as needed.
TEST_P(ReaderContract, LosesNothingWhereMemoryIsRefused) {
  const LimitInForce limit(size_t{64} << 20);
  for (const size_t step : {size_t{1}, size_t{3}}) {
    const std::unique_ptr<ReaderBase> reader = Make();
    std::vector<ElementValue> stream;
    TicketRun run;
    const auto read = [&](MemoryScope::Need need, size_t n) {
      const MemoryScope scope(nullptr, need);
      if (run.tickets.empty() && reader->Plan(n, &run) == 0) return false;
      for (; !run.tickets.empty(); run.tickets.erase(run.tickets.begin())) {
        Rows rows(reader->row_slots());
        reader->LoadInParallel(&run.tickets[0], 1, &rows);
        std::vector<LoDTensor> element;
        rows.MoveTo(&element);
        stream.push_back(ValueOf(element));
      }
      run.Clear();
      return true;
    };
    size_t room = 0;
    for (bool more = true; more;) {
      room = room > (size_t{16} << 20) ? 0 : 4 * room + 64 * step;
      const LittleRoomAhead little(room);
      if (TryAhead([&] { more = read(MemoryScope::Need::kAhead, 1 + room % 7); })) continue;
      if (room > (size_t{16} << 20)) more = read(MemoryScope::Need::kNow, 2);
    }
    EXPECT_EQ(stream, Reference(contract_, 0));
  }
}

TEST_P(ReaderContract, KeepsAnErrorUntilReInit) {
  for (size_t i = 0; i < contract_.faults.size(); ++i) {
    SCOPED_TRACE(contract_.faults[i] == Fault::kPlan ? "planning fails" : "loading fails");
    const std::unique_ptr<ReaderBase> reader = Make(contract_.faults[i]);
    std::optional<Thrown> first;
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<ElementValue> before;
      const std::optional<Thrown> error = ReadUntilError(reader.get(), &before);
      ASSERT_TRUE(error);
      EXPECT_FALSE(error->is_end);
      EXPECT_EQ(before.size(), contract_.before_fault[i]);
      std::vector<LoDTensor> element;
      for (int again = 0; again < 3; ++again) {
        EXPECT_EQ(ErrorOf([&] { reader->HasNext(); }), error);
        EXPECT_EQ(ErrorOf([&] { reader->ReadNext(&element); }), error);
      }
      if (!first) first = error;
      EXPECT_EQ(error, first);
      reader->ReInit();
    }
  }
}

TEST_P(ReaderContract, FailsAlikeWithoutWorkers) {
  for (const Fault fault : contract_.faults) {
    std::vector<ElementValue> before, without_before;
    const std::optional<Thrown> error = ReadUntilError(Make(fault).get(), &before);
    pool_.reset();
    pool_.emplace(0);
    const std::optional<Thrown> without = ReadUntilError(Make(fault).get(), &without_before);
    EXPECT_EQ(error, without);
    EXPECT_EQ(before, without_before);
    pool_.reset();
    pool_.emplace(std::get<1>(GetParam()));
  }
  held_.threads = CurrentHoldings().threads;  // the pool starts its threads on first need
}

// The position after it was stored and read, as another process would.
inline Position Stored(const Position& position) { return Position::Parse(position.Serialize()); }

// Saves, and has a new reader continue from there.
inline std::unique_ptr<ReaderBase> GoneOn(const ContractCase& contract, ReaderBase* reader,
                                          Fault fault = Fault::kNone) {
  std::unique_ptr<ReaderBase> next = contract.make(fault);
  next->Restore(Stored(reader->Save()));
  return next;
}

// Up to 25 numbers of elements from 0 to `all`, both included.
inline std::vector<size_t> PlacesIn(size_t all) {
  std::vector<size_t> places;
  for (size_t i = 0; i < all; i += 1 + all / 24) places.push_back(i);
  places.push_back(all);
  return places;
}

inline std::vector<ElementValue> From(size_t first, const std::vector<ElementValue>& stream) {
  return {stream.begin() + static_cast<std::ptrdiff_t>(first), stream.end()};
}

TEST_P(ReaderContract, GoesOnFromEverywhere) {
  const std::vector<ElementValue>& wanted = Reference(contract_, 0);
  const std::unique_ptr<ReaderBase> reader = Make();
  reader->ExpectSave();
  size_t read = 0;
  for (const size_t place : PlacesIn(wanted.size())) {
    for (; read < place; ++read) EXPECT_EQ(ReadSome(reader.get(), 1).at(0), wanted[read]);
    for (const bool look_ahead : {false, true}) {
      SCOPED_TRACE(StrCat("after ", place, look_ahead ? " and HasNext" : ""));
      if (look_ahead) reader->HasNext();
      const std::unique_ptr<ReaderBase> next = GoneOn(contract_, reader.get());
      ASSERT_EQ(ReadAll(next.get()), From(place, wanted));
      if (place % 2 == 0) continue;
      next->ReInit();
      ASSERT_EQ(ReadAll(next.get()), Reference(contract_, 1));
    }
  }
  reader->ReInit();
  EXPECT_EQ(ReadAll(reader.get()), Reference(contract_, 1)) << "of the reader that was saved";
}

// Each reader resumes from the place of the one before it, which was resumed itself; all of them
// are the same stream.
TEST_P(ReaderContract, GoesOnAgainAndAgain) {
  for (const uint64_t pass : {0, 2}) {
    const std::vector<ElementValue>& wanted = Reference(contract_, pass);
    std::unique_ptr<ReaderBase> reader = Make();
    reader->ExpectSave();
    for (uint64_t i = 0; i < pass; ++i) reader->ReInit();
    size_t read = 0;
    for (size_t step = 0; read < wanted.size(); step = step % 5 + 1) {
      if (std::get<1>(GetParam()) == 0) {  // no thread works ahead meanwhile
        EXPECT_EQ(reader->Save().Serialize(), reader->Save().Serialize()) << "at " << read;
      }
      reader = GoneOn(contract_, reader.get());
      for (size_t i = 0; i < step && read < wanted.size(); ++i, ++read) {
        ASSERT_EQ(ReadSome(reader.get(), 1).at(0), wanted[read]) << "in pass " << pass;
      }
    }
    reader = GoneOn(contract_, reader.get());
    EXPECT_FALSE(reader->HasNext());
    reader->ReInit();
    EXPECT_EQ(ReadAll(reader.get()), Reference(contract_, pass + 1));
  }
}

TEST_P(ReaderContract, MeetsItsErrorAgainWhereItGoesOn) {
  for (size_t i = 0; i < contract_.faults.size(); ++i) {
    const Fault fault = contract_.faults[i];
    SCOPED_TRACE(fault == Fault::kPlan ? "planning fails" : "loading fails");
    const std::unique_ptr<ReaderBase> reader = Make(fault);
    reader->ExpectSave();
    const size_t half = contract_.before_fault[i] / 2;
    ReadSome(reader.get(), half);
    const std::unique_ptr<ReaderBase> before = GoneOn(contract_, reader.get(), fault);
    std::vector<ElementValue> elements;
    const std::optional<Thrown> error = ReadUntilError(reader.get(), &elements);
    ASSERT_TRUE(error);
    std::vector<ElementValue> again;
    EXPECT_EQ(ReadUntilError(before.get(), &again), error) << "saved before it";
    EXPECT_EQ(again, elements);
    for (int resumed = 0; resumed < 2; ++resumed) {
      const std::unique_ptr<ReaderBase> behind = GoneOn(contract_, reader.get(), fault);
      std::vector<ElementValue> none;
      EXPECT_EQ(ReadUntilError(behind.get(), &none), error) << "saved behind it";
      EXPECT_EQ(none, std::vector<ElementValue>{});
      const std::unique_ptr<ReaderBase> once_more = GoneOn(contract_, behind.get(), fault);
      EXPECT_EQ(ReadUntilError(once_more.get(), &none), error);
      EXPECT_EQ(none, std::vector<ElementValue>{});
    }
  }
}

// The counts of a reader and of all readers below it.
inline std::vector<ChainStats> ReadersOf(const ChainStats& top) {
  std::vector<ChainStats> readers = {top};
  for (const ChainStats& below : top.below) {
    for (ChainStats& reader : ReadersOf(below)) readers.push_back(std::move(reader));
  }
  return readers;
}

// Checks a reader's counts against what is true of all readers: it delivered `elements`, and the
// files of its chain gave as many bytes as the file system in memory has given since
// `bytes_before`.
inline void ExpectCounts(const ContractCase& contract, const ReaderBase& reader, uint64_t elements,
                         uint64_t bytes_before) {
  const std::vector<ChainStats> readers = ReadersOf(reader.Stats());
  EXPECT_EQ(readers.size(), static_cast<size_t>(reader.readers()));
  EXPECT_EQ(readers.front().elements, elements);
  uint64_t bytes = 0;
  for (const ChainStats& one : readers) {
    EXPECT_GE(one.load_seconds, 0);
    EXPECT_GE(one.wait_seconds, 0);
    EXPECT_TRUE(one.below.empty() || one.bytes_read == 0);
    bytes += one.bytes_read;
  }
  if (!contract.files) {
    EXPECT_EQ(bytes, 0u);
  } else if (MemoryFiles::IsIn(contract.files().front())) {
    EXPECT_EQ(bytes, MemoryFiles::Get().bytes_read() - bytes_before);
  }
}

TEST_P(ReaderContract, CountsWhatItHasDone) {
  const uint64_t bytes_before = MemoryFiles::Get().bytes_read();
  const std::unique_ptr<ReaderBase> reader = Make();
  ExpectCounts(contract_, *reader, 0, bytes_before);
  uint64_t elements = 0;
  const size_t all = Reference(contract_, 0).size();
  for (const size_t read : {all, all / 2, size_t{0}, all, size_t{1}, all}) {
    elements += ReadSome(reader.get(), read).size();
    if (read < all) {
      reader->ReInit();  // ends the read-ahead
    } else {
      EXPECT_FALSE(reader->HasNext());
      EXPECT_EQ(reader->Stats().in_store, 0u);
    }
    ExpectCounts(contract_, *reader, elements, bytes_before);
    if (read == all) reader->ReInit();
  }
  // A whole pass loads all that it plans; a pass that was left in the middle may load less.
  const ChainStats stats = reader->Stats();
  for (const ChainStats& one : ReadersOf(stats)) EXPECT_GE(one.planned, one.elements);
  if (!contract_.files) return;
  uint64_t bytes = 0;
  for (const ChainStats& one : ReadersOf(stats)) bytes += one.bytes_read;
  uint64_t size = 0;
  for (const std::string& path : contract_.files()) size += FileSystemOf(path).Stat(path).size;
  EXPECT_GE(bytes, contract_.reads_all ? 3 * size : 1) << "in three whole passes";
}

TEST_P(ReaderContract, CountsWhatPrecedesAnError) {
  for (const Fault fault : contract_.faults) {
    const uint64_t bytes_before = MemoryFiles::Get().bytes_read();
    const std::unique_ptr<ReaderBase> reader = Make(fault);
    uint64_t elements = 0;
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<ElementValue> before;
      ReadUntilError(reader.get(), &before);
      elements += before.size();
      reader->ReInit();
      ExpectCounts(contract_, *reader, elements, bytes_before);
    }
  }
}

TEST_P(ReaderContract, SharesEachElementOutOnce) {
  ReaderHolder holder;
  holder.Reset(Make());
  const std::unique_ptr<ReaderBase> handles[] = {holder.NewHandle(), holder.NewHandle()};
  size_t shared = 0;
  for (uint64_t pass = 0; pass < 3; ++pass) {
    std::vector<ElementValue> streams[2];
    std::thread other([&] { streams[1] = ReadAll(handles[1].get()); });
    streams[0] = ReadAll(handles[0].get());
    other.join();
    std::vector<ElementValue> got = streams[0];
    got.insert(got.end(), streams[1].begin(), streams[1].end());
    EXPECT_EQ(SortedDigests(got), SortedDigests(Reference(contract_, pass))) << "pass " << pass;
    shared += got.size();
    EXPECT_EQ(holder.Chain().elements, shared) << "through both handles together";
    for (const auto& handle : handles) handle->ReInit();
  }
}

TEST_P(ReaderContract, DoesNothingBeforeTheFirstPlan) {
  const std::vector<std::string> files =
      contract_.files ? contract_.files() : std::vector<std::string>{};
  pool_.reset();
  pool_.emplace(std::get<1>(GetParam()));
  const Holdings before = CurrentHoldings();
  {
    const FileWatch watch(files);
    std::unique_ptr<ReaderBase> reader = Make();
    reader->shapes();
    reader->slots();
    reader->ReInit();
    EXPECT_EQ(watch.Opened(), std::vector<std::string>{});
    EXPECT_EQ(ThreadPool::Get().started(), 0);
    reader.reset();
    EXPECT_EQ(watch.Opened(), std::vector<std::string>{});
    reader = Make();
    reader->HasNext();
    EXPECT_EQ(watch.Opened().empty(), files.empty());
  }
  held_.threads = CurrentHoldings().threads;
  EXPECT_EQ(CurrentHoldings().descriptors, before.descriptors);
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_READERS_READER_CONTRACT_H_
