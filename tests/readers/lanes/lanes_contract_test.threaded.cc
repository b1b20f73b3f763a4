// SPDX-License-Identifier: Apache-2.0
// Tests chains of lanes against the contract of readers, and against the order that lanes promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/file_format.h"
#include "framework/reader/position.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/filter_reader.h"
#include "readers/decorate/map_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/decorate/take_reader.h"
#include "readers/decorate/unbatch_reader.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/lanes/lane_batch_reader.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/sources/file_lanes.h"
#include "tests/bytes.h"
#include "tests/readers/reader_contract.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;
using Decorator = std::function<ReaderPtr(ReaderPtr, size_t lane)>;

// Lane v of V has the records v, v + V, ... of a source.
Lanes DealtRecords(size_t lanes, Fault fault, bool ragged = false, uint64_t jitter = 0) {
  Lanes dealt;
  for (size_t v = 0; v < lanes; ++v) {
    dealt.push_back(std::make_unique<ShardReader>(
        MakePlannedSource(SourceWith(fault, ragged, jitter)), static_cast<int64_t>(lanes),
        static_cast<int64_t>(v), ShardBy::kRecord));
  }
  return dealt;
}

Lanes Each(Lanes lanes, const Decorator& decorator) {
  for (size_t v = 0; v < lanes.size(); ++v) lanes[v] = decorator(std::move(lanes[v]), v);
  return lanes;
}

ReaderPtr Shuffled(ReaderPtr reader, size_t lane) {
  return std::make_unique<ShuffleReader>(std::move(reader), 3, RandomKey(1, 2, "s").OfPart(lane));
}

ReaderPtr Mapped(ReaderPtr reader, size_t) {
  const std::vector<SlotSpec> slots = reader->slots();
  return std::make_unique<MapReader>(
      std::move(reader), slots,
      [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        std::swap(*in, *out);
      });
}

// Without the records whose sample is a multiple of 7.
ReaderPtr Filtered(ReaderPtr reader, size_t) {
  return std::make_unique<FilterReader>(
      std::move(reader), [](const RecordId& id, const auto&) { return id.sample % 7 != 0; });
}

ReaderPtr Rebatched(ReaderPtr reader, size_t) {
  return std::make_unique<UnbatchReader>(
      std::make_unique<BatchReader>(std::move(reader), 4, false, BatchMode::kConcat),
      BatchMode::kConcat);
}

ReaderPtr Merged(Lanes lanes, size_t stripe) {
  return std::make_unique<LanesReader>(LaneSet{std::move(lanes), stripe});
}

ReaderPtr Batches(Lanes lanes, size_t stripe, int64_t size, int64_t depth,
                  BatchMode mode = BatchMode::kConcat, bool discard_leftover = false) {
  return std::make_unique<LaneBatchReader>(
      std::make_unique<LanesReader>(LaneSet{std::move(lanes), stripe}), size, discard_leftover,
      mode, depth);
}

std::vector<int64_t> Values(const std::function<bool(int64_t)>& keeps = nullptr) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < kRecords; ++i) {
    if (!keeps || keeps(i)) values.push_back(i);
  }
  return values;
}

std::vector<int64_t> RaggedValues() {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < kRecords; ++i) values.insert(values.end(), i % 4, i);
  return values;
}

// ---- Files of small chunks. ----

std::string NumbersFile(int64_t first, int64_t count) {
  const std::string path = TempName(StrCat("numbers-", first, ".recordio"));
  RecordIOOptions options;
  options.chunk_records = 3;
  RecordIOWriter writer(path, options);
  for (int64_t i = first; i < first + count; ++i) {
    std::string record(4, '\0');
    record[0] = 1;
    AppendTensor(MakeTensor<int64_t>({1, 1}, {i}), &record);
    writer.Write(record);
  }
  writer.Close();
  return path;
}

// Three files of chunks of three records, of which the last is shorter.
const std::vector<std::string>& Paths() {
  static const auto* const paths =
      new std::vector<std::string>{NumbersFile(0, 23), NumbersFile(23, 19), NumbersFile(42, 8)};
  return *paths;
}

Lanes LanesOf(const std::vector<std::string>& paths, size_t lanes, uint64_t passes) {
  FormatArguments arguments;
  arguments.declared = SlotsOf(SourceSpec());
  std::vector<FileEntry> files;
  for (const std::string& path : paths) files.push_back({path, "", BufferType::kMemory});
  MultiFileOptions options;
  options.cycle_length = 2;
  options.pass_num = passes;
  return MakeFileLanes(std::make_unique<MultiFileReader>(
                           FindFileFormat("recordio")->Make(arguments), std::move(files), options),
                       lanes);
}

Lanes FileLanes(size_t lanes, uint64_t passes = 1) { return LanesOf(Paths(), lanes, passes); }

ContractCase Case(std::string name, std::function<ReaderPtr(Fault)> make,
                  std::vector<int64_t> values, std::vector<size_t> before_fault = {}) {
  ContractCase contract;
  contract.name = std::move(name);
  contract.make = std::move(make);
  contract.values = std::move(values);
  if (!before_fault.empty()) contract.faults = {Fault::kPlan, Fault::kLoad};
  contract.before_fault = std::move(before_fault);
  return contract;
}

ContractCase OfFiles(std::string name, std::function<ReaderPtr(Fault)> make,
                     std::vector<int64_t> values) {
  ContractCase contract = Case(std::move(name), std::move(make), std::move(values));
  contract.files = [] { return Paths(); };
  return contract;
}

// The faulty record is number 20, the seventh of lane 2 of 3. With stripes of 2 it comes after 22
// others, if it cannot be loaded. A source that cannot plan it ends there for all lanes, of which
// lane 0 comes to its end first, after 19.
std::vector<ContractCase> Cases() {
  return {
      Case("one_lane", [](Fault f) { return Merged(DealtRecords(1, f), 2); }, Values(), {20, 20}),
      Case("three_lanes", [](Fault f) { return Merged(DealtRecords(3, f, false, 5), 2); }, Values(),
           {19, 22}),
      Case("sixteen_lanes", [](Fault f) { return Merged(DealtRecords(16, f), 1); }, Values(),
           {20, 20}),
      Case(
          "more_lanes_than_records", [](Fault) { return Merged(DealtRecords(64, {}), 1); },
          Values()),
      Case(
          "shuffled_lanes",
          [](Fault) { return Merged(Each(DealtRecords(3, {}, false, 5), Shuffled), 1); }, Values()),
      Case("mapped_lanes", [](Fault f) { return Merged(Each(DealtRecords(3, f), Mapped), 2); },
           Values(), {19, 22}),
      Case("taken_from_lanes",
           [](Fault) { return std::make_unique<TakeReader>(Merged(DealtRecords(3, {}), 2), 11); },
           {}),
      Case("batches_of_one_lane",
           [](Fault f) { return Batches(DealtRecords(1, f, false, 5), 4, 4, 2); }, Values(),
           {5, 5}),
      Case("batches_of_three_lanes",
           [](Fault f) { return Batches(DealtRecords(3, f, false, 5), 2, 6, 3); }, Values(),
           {3, 3}),
      Case("batches_of_sixteen_lanes",
           [](Fault f) { return Batches(DealtRecords(16, f, false, 5), 1, 16, 8); }, Values(),
           {1, 1}),
      Case("ragged_batches", [](Fault f) { return Batches(DealtRecords(3, f, true, 5), 2, 6, 5); },
           RaggedValues(), {3, 3}),
      Case("stacked_batches",
           [](Fault f) { return Batches(DealtRecords(3, f), 1, 3, 4, BatchMode::kStack); },
           Values(), {6, 6}),
      // Batches that are no round are made of the stream.
      Case("batches_of_other_sizes",
           [](Fault f) { return Batches(DealtRecords(3, f, false, 5), 2, 5, 3); }, Values(),
           {3, 4}),
      Case("whole_batches",
           [](Fault) { return Batches(DealtRecords(3, {}), 2, 6, 3, BatchMode::kConcat, true); },
           {}),
      Case(
          "batches_of_decorated_lanes",
          [](Fault) {
            Lanes lanes = Each(Each(DealtRecords(3, {}, false, 5), Filtered), Shuffled);
            return Batches(Each(Each(std::move(lanes), Rebatched), Mapped), 2, 6, 9);
          },
          Values([](int64_t i) { return i % 7 != 0; })),
      Case("batches_buffered",
           [](Fault f) {
             return std::make_unique<DoubleBufferReader>(
                 Batches(DealtRecords(3, f, false, 5), 2, 6, 2), Place(), 3);
           },
           Values(), {3, 3}),
      Case(
          "shuffled_batches",
          [](Fault) { return Shuffled(Batches(DealtRecords(3, {}, true, 5), 2, 6, 2), 0); },
          RaggedValues()),
      OfFiles(
          "file_lanes", [](Fault) { return Merged(FileLanes(3), 2); }, Values()),
      OfFiles(
          "batches_of_file_lanes",
          [](Fault) { return Batches(Each(FileLanes(3), Shuffled), 2, 6, 4); }, Values()),
      OfFiles("files_read_twice", [](Fault) { return Batches(FileLanes(4, 2), 1, 4, 4); }, {}),
  };
}

INSTANTIATE_TEST_SUITE_P(Lanes, ReaderContract, WithPools(Cases()), NameOfCase);

// What the stream of lanes is, said without lanes: stripes of each in turn, and one that has ended
// is passed over.
std::vector<int64_t> Expected(std::vector<std::vector<int64_t>> lanes, size_t stripe) {
  std::vector<int64_t> stream;
  for (size_t taken = 0; std::any_of(lanes.begin(), lanes.end(),
                                     [&](const auto& lane) { return lane.size() > taken; });
       taken += stripe) {
    for (const std::vector<int64_t>& lane : lanes) {
      for (size_t i = taken; i < std::min(lane.size(), taken + stripe); ++i) {
        stream.push_back(lane[i]);
      }
    }
  }
  return stream;
}

std::vector<int64_t> NumbersOf(ReaderBase* reader) {
  std::vector<int64_t> numbers;
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    const auto* values = element[0].data<int64_t>();
    numbers.insert(numbers.end(), values, values + element[0].numel());
  }
  return numbers;
}

// Lanes of different lengths, of which some are empty.
Lanes UnequalLanes(const std::vector<int64_t>& lengths) {
  Lanes lanes = DealtRecords(lengths.size(), Fault::kNone, false, 7);
  return Each(std::move(lanes), [&](ReaderPtr reader, size_t v) {
    return std::make_unique<TakeReader>(std::move(reader), lengths[v]);
  });
}

TEST(Lanes, AreMergedByStripesWhateverThreadsRunThem) {
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>{5, 5, 5}, {0, 7, 3}, {12, 0, 0}, {1, 2, 9}, {0, 0, 0}}) {
    for (const size_t stripe : {1, 2, 3}) {
      std::vector<std::vector<int64_t>> lanes(lengths.size());
      for (size_t v = 0; v < lengths.size(); ++v) {
        for (int64_t k = 0; k < lengths[v]; ++k) {
          lanes[v].push_back(k * static_cast<int64_t>(lengths.size()) + static_cast<int64_t>(v));
        }
      }
      const std::vector<int64_t> expected = Expected(lanes, stripe);
      for (const int workers : {0, 1, 2, 7}) {
        const PoolSize pool(workers);
        EXPECT_EQ(NumbersOf(Merged(UnequalLanes(lengths), stripe).get()), expected);
        const auto size = static_cast<int64_t>(3 * stripe);
        for (const int64_t depth : {1, 3, 8}) {
          EXPECT_EQ(NumbersOf(Batches(UnequalLanes(lengths), stripe, size, depth).get()), expected);
        }
      }
    }
  }
}

// Two chains of the same lanes, of which one makes rounds and the other is read record by record,
// go on from each other's lanes: what was loaded ahead is no part of a position.
TEST(Lanes, HaveOnePositionHoweverFarTheyAreAhead) {
  const auto position_after = [](int workers, int64_t depth, size_t read) {
    const PoolSize pool(workers);
    const ReaderPtr reader = Batches(DealtRecords(3, Fault::kNone, false, 5), 2, 6, depth);
    reader->ExpectSave();
    ReadSome(reader.get(), read);
    return Position::Parse(reader->Save().Serialize());
  };
  for (const size_t read : {size_t{0}, size_t{1}, size_t{4}, size_t{8}}) {
    const Position position = position_after(7, 5, read);
    for (const int64_t depth : {1, 2, 9}) {
      const ReaderPtr reader = Batches(DealtRecords(3, Fault::kNone), 2, 6, depth);
      reader->Restore(position);
      const ReaderPtr whole = Batches(DealtRecords(3, Fault::kNone), 2, 6, depth);
      ReadSome(whole.get(), read);
      EXPECT_EQ(NumbersOf(reader.get()), NumbersOf(whole.get())) << read << " " << depth;
    }
  }
}

std::vector<int64_t> Sorted(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// What all ranks together have in each of their batches, of which each rank makes its share.
std::vector<std::vector<int64_t>> UnionsOfBatches(size_t ranks) {
  constexpr int64_t kBatch = 24;
  std::vector<std::vector<int64_t>> unions;
  for (size_t rank = 0; rank < ranks; ++rank) {
    LaneSet lanes = LanesOfRank({Each(FileLanes(12, 3), Shuffled), 2}, rank, ranks);
    const ReaderPtr reader = std::make_unique<LaneBatchReader>(
        std::make_unique<LanesReader>(std::move(lanes)), kBatch / static_cast<int64_t>(ranks),
        false, BatchMode::kConcat, 2);
    std::vector<LoDTensor> batch;
    for (size_t step = 0; reader->HasNext(); ++step) {
      reader->ReadNext(&batch);
      const auto* values = batch[0].data<int64_t>();
      if (step == unions.size()) unions.emplace_back();
      unions[step].insert(unions[step].end(), values, values + batch[0].numel());
    }
  }
  for (std::vector<int64_t>& step : unions) step = Sorted(std::move(step));
  return unions;
}

TEST(Lanes, GiveAllRanksTogetherTheSameBatches) {
  const std::vector<std::vector<int64_t>> of_one = UnionsOfBatches(1);
  // Lanes have 9 to 18 records: after four rounds of two, some cannot fill one.
  constexpr size_t kWhole = 4;
  for (const size_t ranks : {2, 3, 4, 6, 12}) {
    const std::vector<std::vector<int64_t>> unions = UnionsOfBatches(ranks);
    ASSERT_GE(unions.size(), kWhole);
    for (size_t step = 0; step < kWhole; ++step) {
      EXPECT_EQ(unions[step], of_one[step]) << "step " << step << " of " << ranks << " ranks";
    }
    std::vector<int64_t> all, all_of_one;
    for (const auto& step : unions) all.insert(all.end(), step.begin(), step.end());
    for (const auto& step : of_one) all_of_one.insert(all_of_one.end(), step.begin(), step.end());
    EXPECT_EQ(Sorted(all), Sorted(all_of_one));
  }
}

TEST(Lanes, AreSharedOnlyByNumbersOfRanksThatDivideTheirs) {
  const auto share = [](size_t rank, size_t ranks) {
    return LanesOfRank({DealtRecords(12, Fault::kNone), 0}, rank, ranks).lanes.size();
  };
  EXPECT_EQ(share(3, 4), 3u);
  EXPECT_EQ(ErrorOf([&] { share(0, 5); })->text,
            "12 lanes cannot be shared by 5 ranks; the number of ranks can be 1, 2, 3, 4, 6, 12");
  EXPECT_TRUE(ErrorOf([&] { share(4, 4); }));
}

// A file that is cut off fails in the place of its chunk, in a lane that one rank runs. The other
// rank must not take that for the end.
TEST(Lanes, OfNoRankEndWhereAFileFails) {
  const std::string whole = ReadFile(Paths()[0]);
  const std::string cut = TempName("cut.recordio");
  WriteFile(cut, whole.substr(0, whole.size() / 2));
  for (const size_t ranks : {1, 2, 4}) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      const ReaderPtr reader = std::make_unique<LanesReader>(
          LanesOfRank({LanesOf({cut, Paths()[1]}, 4, 1), 1}, rank, ranks));
      std::vector<ElementValue> before;
      const std::optional<Thrown> error = ReadUntilError(reader.get(), &before);
      ASSERT_TRUE(error) << "rank " << rank << " of " << ranks;
      EXPECT_NE(error->text.find(cut), std::string::npos) << *error;
    }
  }
}

TEST(Lanes, CanBeTakenOnceAndBeforeTheyAreRead) {
  const ReaderPtr reader = Merged(DealtRecords(3, Fault::kNone), 2);
  const std::optional<LaneSet> lanes = reader->TakeLanes();
  ASSERT_TRUE(lanes);
  EXPECT_EQ(lanes->lanes.size(), 3u);
  EXPECT_EQ(lanes->stripe, 2u);
  EXPECT_FALSE(reader->TakeLanes());
  const ReaderPtr read = Merged(DealtRecords(3, Fault::kNone), 2);
  read->HasNext();
  const std::optional<Thrown> error = ErrorOf([&] { read->TakeLanes(); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->text.find("has been read already"), std::string::npos) << *error;
}

TEST(Lanes, AreNeitherNoneNorTooMany) {
  for (const size_t lanes : {size_t{0}, kMaxLanes + 1}) {
    const std::optional<Thrown> error = ErrorOf([&] { Merged(DealtRecords(lanes, {}), 1); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->text, StrCat(lanes, " lanes; there must be 1 to 1024"));
  }
}

}  // namespace
}  // namespace millhopper
