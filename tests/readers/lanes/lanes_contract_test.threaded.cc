// SPDX-License-Identifier: Apache-2.0
// Tests chains of lanes against the contract of readers, and against the order that lanes promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/file_format.h"
#include "framework/reader/position.h"
#include "readers/combine/mix_reader.h"
#include "readers/combine/zip_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/filter_reader.h"
#include "readers/decorate/map_reader.h"
#include "readers/decorate/resample_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/decorate/take_reader.h"
#include "readers/decorate/unbatch_reader.h"
#include "readers/gather/bucket_reader.h"
#include "readers/gather/dedupe_reader.h"
#include "readers/gather/pack_reader.h"
#include "readers/gather/partners_reader.h"
#include "readers/gather/window_reader.h"
#include "readers/lanes/joined_source.h"
#include "readers/lanes/lane_batch_reader.h"
#include "readers/lanes/lane_stretch.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/lanes/record_lanes.h"
#include "readers/sources/file_lanes.h"
#include "tests/bytes.h"
#include "tests/files/index_files.h"
#include "tests/files/number_files.h"
#include "tests/readers/reader_contract.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;
using Decorator = std::function<ReaderPtr(ReaderPtr, size_t lane)>;

// Lane v of V has the records v, v + V, ... of a source.
LaneSet DealtRecords(size_t lanes, Fault fault, bool ragged = false, uint64_t jitter = 0) {
  LaneSet dealt;
  for (size_t v = 0; v < lanes; ++v) {
    dealt.lanes.push_back(std::make_unique<ShardReader>(
        MakePlannedSource(SourceWith(fault, ragged, jitter)), static_cast<int64_t>(lanes),
        static_cast<int64_t>(v), ShardBy::kRecord));
  }
  return dealt;
}

// The same, dealt out of one source.
LaneSet RecordLanes(size_t lanes, Fault fault, bool ragged = false, uint64_t jitter = 0) {
  return MakeRecordLanes(MakePlannedSource(SourceWith(fault, ragged, jitter)), lanes);
}

LaneSet Each(LaneSet set, const Decorator& decorator) {
  for (size_t v = 0; v < set.lanes.size(); ++v) {
    set.lanes[v] = decorator(std::move(set.lanes[v]), v);
  }
  return set;
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
// Each once.
ReaderPtr Resampled(ReaderPtr reader, size_t) {
  return std::make_unique<ResampleReader>(
      std::move(reader), ElementWeights::OfClasses(0, {"4"}, {1}, 1), RandomKey(1, 2, "resampled"));
}

ReaderPtr Filtered(ReaderPtr reader, size_t) {
  return std::make_unique<FilterReader>(
      std::move(reader), [](const RecordId& id, const auto&) { return id.sample % 7 != 0; });
}

ReaderPtr Rebatched(ReaderPtr reader, size_t) {
  return std::make_unique<UnbatchReader>(
      std::make_unique<BatchReader>(std::move(reader), 4, false, BatchMode::kConcat),
      BatchMode::kConcat);
}

std::unique_ptr<LanesReader> Merged(LaneSet lanes, size_t stripe) {
  lanes.stripe = stripe;
  return std::make_unique<LanesReader>(std::move(lanes));
}

ReaderPtr Batches(LaneSet lanes, size_t stripe, int64_t size, int64_t depth,
                  BatchMode mode = BatchMode::kConcat, bool discard_leftover = false) {
  return std::make_unique<LaneBatchReader>(Merged(std::move(lanes), stripe), size, discard_leftover,
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

// Three files of chunks of three records, of which the last is shorter.
const std::vector<std::string>& Paths() {
  static const auto* const paths =
      new std::vector<std::string>{ChunkedFile(0, 23), ChunkedFile(23, 19), ChunkedFile(42, 8)};
  return *paths;
}

// The same with indexes, so that readers know how many records there are.
const std::vector<std::string>& CountedPaths() {
  static const auto* const paths = [] {
    auto* const counted = new std::vector<std::string>;
    for (const std::string& path : Paths()) {
      counted->push_back(TempName("counted-" + path.substr(path.rfind('/') + 1)));
      WriteFile(counted->back(), ReadFile(path));
      WriteIndex("recordio", counted->back());
    }
    return counted;
  }();
  return *paths;
}

LaneSet LanesOf(const std::vector<std::string>& paths, size_t lanes, uint64_t passes) {
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

LaneSet FileLanes(size_t lanes, uint64_t passes = 1) { return LanesOf(Paths(), lanes, passes); }

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

// Batches of the records of files that are dealt equally to three lanes, of which two have 17 and
// one 16.
ContractCase Counted(std::string name, ShardEven even) {
  ContractCase contract = OfFiles(
      std::move(name),
      [even](Fault) {
        return Batches(LanesOfRank(Each(LanesOf(CountedPaths(), 3, 1), Shuffled), 0, 1, even), 2, 6,
                       4);
      },
      {});
  contract.files = [] { return CountedPaths(); };
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
      Case("record_lanes", [](Fault f) { return Merged(RecordLanes(3, f, false, 5), 2); }, Values(),
           {20, 22}),
      Case("batches_of_record_lanes",
           [](Fault f) { return Batches(RecordLanes(16, f, false, 5), 1, 16, 8); }, Values(),
           {1, 1}),
      Case(
          "shuffled_record_lanes",
          [](Fault) { return Batches(Each(RecordLanes(5, {}, false, 5), Shuffled), 2, 10, 3); },
          Values()),
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
            LaneSet lanes = Each(Each(DealtRecords(3, {}, false, 5), Filtered), Shuffled);
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
      OfFiles(
          "more_lanes_than_chunks",
          [](Fault) { return Batches(Each(FileLanes(20), Shuffled), 1, 20, 4); }, Values()),
      Counted("even_file_lanes", ShardEven::kDrop),
      Counted("padded_file_lanes", ShardEven::kPad),
      OfFiles("files_read_twice", [](Fault) { return Batches(FileLanes(4, 2), 1, 4, 4); }, {}),
  };
}

INSTANTIATE_TEST_SUITE_P(Lanes, ReaderContract, WithPools(Cases()), NameOfCase);

ReaderPtr Packed(ReaderPtr reader, size_t) {
  PackOptions options;
  options.length = 4;
  options.overlong = Overlong::kSplit;
  return std::make_unique<PackReader>(std::move(reader), options);
}

ReaderPtr Bucketed(ReaderPtr reader, size_t) {
  BucketOptions options;
  options.boundaries = {2};
  options.batch_sizes = {3};
  return std::make_unique<BucketReader>(std::move(reader), options);
}

ReaderPtr InWindows(ReaderPtr reader, size_t) {
  WindowOptions options;
  options.size = 2;
  options.shift = 2;
  return std::make_unique<WindowReader>(std::move(reader), options);
}

ReaderPtr Deduped(ReaderPtr reader, size_t) {
  return std::make_unique<DedupeReader>(std::move(reader), std::vector<int64_t>(), 100);
}

ReaderPtr WithPartners(ReaderPtr reader, size_t) {
  PartnersOptions options;
  options.window = 4;
  return std::make_unique<PartnersReader>(std::move(reader), options, RandomKey(1, 2, "partners"));
}

// Each lane of the set combined with that of another one.
LaneSet Combined(LaneSet set, const std::function<ReaderPtr(Readers, size_t lane)>& combine,
                 JoinedSource::Elements elements) {
  const size_t lanes = set.lanes.size();
  LaneSet other = RecordLanes(lanes, Fault::kNone);
  for (size_t v = 0; v < lanes; ++v) {
    Readers below;
    below.push_back(std::move(set.lanes[v]));
    below.push_back(std::move(other.lanes[v]));
    set.lanes[v] = combine(std::move(below), v);
  }
  set.source = std::make_shared<JoinedSource>(
      std::vector<std::shared_ptr<LaneSource>>{set.source, other.source}, elements);
  return set;
}

LaneSet Zipped(LaneSet set) {
  return Combined(
      std::move(set),
      [](Readers below, size_t) { return std::make_unique<ZipReader>(std::move(below), true); },
      JoinedSource::Elements::kSideBySide);
}

LaneSet Mixed(LaneSet set) {
  const size_t lanes = set.lanes.size();
  return Combined(
      std::move(set),
      [lanes](Readers below, size_t lane) {
        MixOptions options;
        options.steps = {{0, {2, 1}}, {30, {1, 1}}};
        options.end = MixEnd::kContinue;
        options.lane = {lane, lanes};
        return std::make_unique<MixReader>(std::move(below), options,
                                           RandomKey(1, 2, "m").OfPart(lane));
      },
      JoinedSource::Elements::kByTurns);
}

LaneSet Stretched(LaneSet set, LaneStretch::Keep keep) {
  const size_t lanes = set.lanes.size();
  return Each(std::move(set), [=](ReaderPtr lane, size_t v) {
    return std::make_unique<LaneStretch>(std::move(lane), LanePart{32, v, lanes, 1, false}, keep);
  });
}

// Every reader that lanes run, in batches of lanes that records are dealt to.
std::vector<ContractCase> LaneWiseCases() {
  struct Reader {
    std::string name;
    std::function<LaneSet(LaneSet)> on_lanes;
    std::vector<int64_t> values;
    bool ragged = false;
  };
  const auto each = [](const Decorator& decorator) {
    return [decorator](LaneSet set) { return Each(std::move(set), decorator); };
  };
  std::vector<int64_t> twice = Values();
  twice.insert(twice.end(), twice.begin(), twice.begin() + kRecords);
  const auto others = [](int64_t i) { return i % 7 != 0; };
  const std::vector<Reader> readers = {
      {"shuffle", each(Shuffled), Values()},
      {"custom", each(Mapped), Values()},
      {"filter", each(Filtered), Values(others)},
      {"resample", each(Resampled), Values()},
      {"unbatch", each(Rebatched), Values()},
      {"pack", each(Packed), {}, true},
      {"bucket", each(Bucketed), RaggedValues(), true},
      {"window", each(InWindows), {}},
      {"dedupe", each(Deduped), Values()},
      {"partners", each(WithPartners), Values()},
      {"zip", Zipped, Values()},
      {"mix", Mixed, twice},
      {"take", [](LaneSet set) { return Stretched(std::move(set), LaneStretch::Keep::kPart); },
       Values([](int64_t i) { return i < 32; })},
      {"skip", [](LaneSet set) { return Stretched(std::move(set), LaneStretch::Keep::kRest); },
       Values([](int64_t i) { return i >= 32; })},
  };
  std::vector<ContractCase> cases;
  for (const size_t lanes : {1, 3, 16}) {
    for (const Reader& reader : readers) {
      cases.push_back(Case(
          StrCat(reader.name, "_on_", lanes, "_lanes"),
          [=](Fault) {
            return Batches(reader.on_lanes(RecordLanes(lanes, Fault::kNone, reader.ragged)), 1,
                           static_cast<int64_t>(lanes), 3);
          },
          reader.values));
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(LaneWise, ReaderContract, WithPools(LaneWiseCases()), NameOfCase);

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
LaneSet UnequalLanes(const std::vector<int64_t>& lengths) {
  LaneSet lanes = DealtRecords(lengths.size(), Fault::kNone, false, 7);
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

// Lanes of files that ranks share, each shuffled.
LaneSet SharedLanes() { return Each(FileLanes(12, 3), Shuffled); }

// What one rank reads: its share of batches of 24.
ReaderPtr OfRank(LaneSet all, size_t rank, size_t ranks, ShardEven even = ShardEven::kNone) {
  constexpr int64_t kBatch = 24;
  return Batches(LanesOfRank(std::move(all), rank, ranks, even), 2,
                 kBatch / static_cast<int64_t>(ranks), 2);
}

void AddValues(const LoDTensor& batch, std::vector<int64_t>* values) {
  const auto* numbers = batch.data<int64_t>();
  values->insert(values->end(), numbers, numbers + batch.numel());
}

// What all ranks together have in each of their batches.
std::vector<std::vector<int64_t>> UnionsOfBatches(size_t ranks) {
  std::vector<std::vector<int64_t>> unions;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const ReaderPtr reader = OfRank(SharedLanes(), rank, ranks);
    std::vector<LoDTensor> batch;
    for (size_t step = 0; reader->HasNext(); ++step) {
      reader->ReadNext(&batch);
      if (step == unions.size()) unions.emplace_back();
      AddValues(batch[0], &unions[step]);
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

// ---- Another number of ranks. ----

// Processes that train together, each with its own chain.
class Ranks {
 public:
  Ranks(size_t ranks, const std::function<ReaderPtr(size_t rank, size_t ranks)>& make) {
    for (size_t rank = 0; rank < ranks; ++rank) readers_.push_back(make(rank, ranks));
    for (const ReaderPtr& reader : readers_) reader->ExpectSave();
  }

  // One step of all; false if none has a batch. Adds what they have read to *values.
  bool Step(std::vector<int64_t>* values) {
    bool any = false;
    std::vector<LoDTensor> batch;
    for (const ReaderPtr& reader : readers_) {
      if (!reader->HasNext()) continue;
      reader->ReadNext(&batch);
      AddValues(batch[0], values);
      any = true;
    }
    return any;
  }
  void ReInit() {
    for (const ReaderPtr& reader : readers_) reader->ReInit();
  }
  std::vector<Position> Positions() const {
    std::vector<Position> positions;
    for (const ReaderPtr& reader : readers_) {
      positions.push_back(Position::Parse(reader->Save().Serialize()));
    }
    return positions;
  }
  void Restore(const Position& position) {
    for (const ReaderPtr& reader : readers_) reader->Restore(position);
  }

 private:
  std::vector<ReaderPtr> readers_;
};

Position OfAll(std::vector<Position> positions, std::mt19937* random) {
  std::shuffle(positions.begin(), positions.end(), *random);
  return Position::Parse(Position::OfAllRanks(std::move(positions)).Serialize());
}

// Two passes of a run that is stopped again and again, and goes on with another number of ranks,
// against one that nothing disturbs: each step has the same records, until a lane cannot fill its
// stripe, and each pass has every record once. Lanes that are even differ nowhere.
void ExpectSameOnAnyRanks(const std::function<LaneSet()>& lanes, size_t whole_steps, uint32_t seed,
                          bool buffered, ShardEven even = ShardEven::kNone) {
  const auto make = [&](size_t rank, size_t ranks) -> ReaderPtr {
    ReaderPtr batches = Mapped(OfRank(lanes(), rank, ranks, even), rank);
    if (!buffered) return batches;
    return std::make_unique<DoubleBufferReader>(std::move(batches), Place(), 3);
  };
  std::mt19937 random(seed);
  const std::vector<size_t> divisors = {1, 2, 3, 4, 6, 12};
  const auto any_number = [&] { return divisors[random() % divisors.size()]; };
  Ranks undisturbed(1, make);
  auto run = std::make_unique<Ranks>(any_number(), make);
  for (int pass = 0; pass < 2; ++pass) {
    if (pass > 0) {
      undisturbed.ReInit();
      run->ReInit();
    }
    std::vector<int64_t> all, all_of_run;
    for (size_t step = 0;; ++step) {
      if (random() % 2 == 0) {
        const Position position = OfAll(run->Positions(), &random);
        run = std::make_unique<Ranks>(any_number(), make);
        run->Restore(position);
      }
      std::vector<int64_t> expected, values;
      const bool more_expected = undisturbed.Step(&expected);
      const bool more = run->Step(&values);
      all.insert(all.end(), expected.begin(), expected.end());
      all_of_run.insert(all_of_run.end(), values.begin(), values.end());
      if (!more && !more_expected) break;
      if (step < whole_steps) {
        EXPECT_EQ(Sorted(values), Sorted(expected)) << "step " << step << ", seed " << seed;
      }
    }
    EXPECT_EQ(Sorted(all_of_run), Sorted(all)) << "pass " << pass << ", seed " << seed;
  }
}

TEST(Lanes, GoOnOnAnotherNumberOfRanks) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    ExpectSameOnAnyRanks(SharedLanes, 4, seed, seed % 2 == 0);
    for (const auto& deal : {DealtRecords, RecordLanes}) {
      ExpectSameOnAnyRanks([&] { return deal(12, Fault::kNone, false, 5); }, 2, seed,
                           seed % 2 == 0);
    }
  }
}

// ---- Lanes that are even. ----

LaneSet CountedLanes(size_t lanes) { return LanesOf(CountedPaths(), lanes, 3); }

LaneSet CountedRecordLanes(size_t lanes) {
  std::vector<FileEntry> files;
  for (const std::string& path : CountedPaths()) files.push_back({path, "", BufferType::kMemory});
  FormatArguments arguments;
  arguments.declared = SlotsOf(SourceSpec());
  return MakeRecordLanes(
      std::make_unique<MultiFileReader>(FindFileFormat("recordio")->Make(arguments),
                                        std::move(files), MultiFileOptions()),
      lanes);
}

// All records of all ranks, which all have equally many batches of equally many records.
std::vector<int64_t> ReadEvenly(const std::function<LaneSet()>& lanes, size_t ranks,
                                ShardEven even) {
  std::vector<int64_t> all;
  std::optional<std::vector<int64_t>> sizes;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const ReaderPtr reader = Batches(LanesOfRank(lanes(), rank, ranks, even), 2, 12, 2);
    const std::optional<uint64_t> length = reader->PassLength();
    std::vector<LoDTensor> batch;
    std::vector<int64_t> own;
    for (; reader->HasNext(); AddValues(batch[0], &all)) {
      reader->ReadNext(&batch);
      own.push_back(batch[0].numel());
    }
    EXPECT_EQ(length, own.size());
    if (!sizes) sizes = own;
    EXPECT_EQ(*sizes, own) << "rank " << rank << " of " << ranks;
  }
  return all;
}

TEST(EvenLanes, HaveEquallyManyElementsOnAllRanks) {
  for (const auto& deal : {CountedLanes, CountedRecordLanes}) {
    for (const size_t lanes : {1, 2, 6, 12, 36, 48}) {
      for (const bool shuffles : {false, true}) {
        const auto make = [&] { return shuffles ? Each(deal(lanes), Shuffled) : deal(lanes); };
        const std::vector<int64_t> records = Sorted(NumbersOf(Merged(deal(lanes), 1).get()));
        const size_t total = records.size();
        for (size_t ranks = 1; ranks <= lanes; ++ranks) {
          if (lanes % ranks != 0) continue;
          std::vector<int64_t> dropped = Sorted(ReadEvenly(make, ranks, ShardEven::kDrop));
          EXPECT_EQ(dropped.size(), total / lanes * lanes);
          EXPECT_TRUE(
              std::includes(records.begin(), records.end(), dropped.begin(), dropped.end()));
          std::vector<int64_t> padded = Sorted(ReadEvenly(make, ranks, ShardEven::kPad));
          EXPECT_EQ(padded.size(), (total + lanes - 1) / lanes * lanes);
          EXPECT_TRUE(std::includes(padded.begin(), padded.end(), records.begin(), records.end()));
        }
      }
    }
  }
}

TEST(EvenLanes, GoOnOnAnotherNumberOfRanks) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    for (const ShardEven even : {ShardEven::kPad, ShardEven::kDrop}) {
      for (const auto& deal : {CountedLanes, CountedRecordLanes}) {
        ExpectSameOnAnyRanks([&] { return Each(deal(12), Shuffled); }, SIZE_MAX, seed,
                             seed % 2 == 0, even);
      }
    }
  }
}

TEST(EvenLanes, NeedToKnowHowManyElementsTheyHave) {
  const auto error_of = [](LaneSet lanes, size_t ranks, ShardEven even) {
    const std::optional<Thrown> error = ErrorOf([&] {
      const ReaderPtr reader = Merged(LanesOfRank(std::move(lanes), 0, ranks, even), 1);
      while (reader->HasNext()) ReadSome(reader.get(), 1);
    });
    return error ? error->text : "";
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(error_of(FileLanes(4), 2, ShardEven::kDrop), "the files do not tell how many records");
  expect(error_of(Each(CountedLanes(4), Filtered), 2, ShardEven::kPad),
         "a reader of each lane leaves elements out");
  expect(error_of(CountedLanes(300), 1, ShardEven::kPad), "150 elements are fewer than the 300");
  expect(ErrorOf([] { LanesOfRank(DealtRecords(4, {}), 0, 2, ShardEven::kPad); })->text,
         "no common source");
}

// What a lane is said to have, which may be wrong.
class Told final : public DecoratedReader {
 public:
  Told(ReaderPtr reader, uint64_t length) : DecoratedReader(std::move(reader)), length_(length) {}
  std::optional<uint64_t> PassLength() const override { return length_; }

 private:
  const uint64_t length_;
};

// Lanes have 17, 17 and 16 records. If the first has lost one, that is not the one which the last
// repeats; if it is to leave one out, it has to lose two.
TEST(EvenLanes, ThatEndEarlyAreErrors) {
  for (const auto& [even, lost] : {std::pair(ShardEven::kPad, 1), std::pair(ShardEven::kDrop, 2)}) {
    LaneSet lanes = CountedRecordLanes(3);
    ASSERT_EQ(lanes.lanes[0]->PassLength(), 17u);
    lanes.lanes[0] = std::make_unique<Told>(
        std::make_unique<TakeReader>(std::move(lanes.lanes[0]), 17 - lost), 17);
    const ReaderPtr reader = Merged(LanesOfRank(std::move(lanes), 0, 1, even), 1);
    const std::optional<Thrown> error = ErrorOf([&] { NumbersOf(reader.get()); });
    ASSERT_TRUE(error);
    EXPECT_NE(error->text.find("a lane ends after"), std::string::npos) << *error;
  }
}

// The records are counted when the pass begins.
TEST(EvenLanes, SayThatAFileHasGrown) {
  const int64_t numbers[8] = {};
  std::vector<FileEntry> files;
  for (int i = 0; i < 100; ++i) {
    files.push_back({TempName(StrCat("numbers-", i, ".fixed")), "", BufferType::kMemory});
    WriteFile(files.back().path, {reinterpret_cast<const char*>(numbers), sizeof(numbers)});
  }
  const std::string last = files.back().path;
  FormatArguments arguments;
  arguments.declared = SlotsOf(SourceSpec());
  MultiFileOptions options;
  options.cycle_length = 1;
  const PoolSize pool(0);
  const ReaderPtr reader = Merged(
      LanesOfRank(MakeFileLanes(std::make_unique<MultiFileReader>(
                                    FindFileFormat("fixed")->Make(arguments), files, options),
                                4),
                  0, 1, ShardEven::kDrop),
      1);
  ReadSome(reader.get(), 1);
  WriteFile(last, std::string(10 * sizeof(numbers), '\0'));
  const std::optional<Thrown> error = ErrorOf([&] { NumbersOf(reader.get()); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->text.find("there are more records than the 800"), std::string::npos) << *error;
  EXPECT_NE(error->text.find(last), std::string::npos) << *error;
}

TEST(Lanes, OfAnyPlaceInARoundAreDividedAmongRanks) {
  const auto stream = [](size_t rank, size_t ranks) {
    return Merged(LanesOfRank(SharedLanes(), rank, ranks), 2);
  };
  const std::vector<int64_t> all = NumbersOf(stream(0, 1).get());
  for (size_t read = 0; read < 60; ++read) {
    const ReaderPtr whole = stream(0, 1);
    whole->ExpectSave();
    ReadSome(whole.get(), read);
    const Position position = whole->Save();
    std::vector<std::vector<int64_t>> of_rank;
    for (size_t rank = 0; rank < 4; ++rank) {
      const ReaderPtr own = stream(rank, 4);
      own->Restore(position);
      of_rank.push_back(NumbersOf(own.get()));
    }
    std::vector<int64_t> rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(read));
    for (const auto& one : of_rank) rest.insert(rest.end(), one.begin(), one.end());
    EXPECT_EQ(Sorted(rest), Sorted(all)) << read;
    const size_t first_lane = read % 24 / 2 % 12;
    const std::vector<int64_t>& next = of_rank[first_lane % 4];
    EXPECT_EQ(next[0], all[read]) << read;
  }
}

TEST(Lanes, GoOnOnlyFromThePositionsOfAllRanksAtOneStep) {
  const auto make = [](size_t rank, size_t ranks) { return OfRank(SharedLanes(), rank, ranks); };
  std::vector<int64_t> values;
  Ranks two(2, make);
  two.Step(&values);
  const std::vector<Position> first = two.Positions();
  two.Step(&values);
  const std::vector<Position> second = two.Positions();
  const auto error_of = [](std::vector<Position> positions) {
    return ErrorOf([&] { Position::OfAllRanks(std::move(positions)); })->text;
  };
  EXPECT_EQ(error_of({}), "there is no position of any rank");
  EXPECT_EQ(error_of({first[1]}),
            "these are 1 positions, one of rank 1 of 2; there must be one of each rank");
  EXPECT_EQ(error_of({first[0], first[0]}),
            "these are 2 positions, one of rank 0 of 2; there must be one of each rank");
  EXPECT_EQ(error_of({first[0], second[1]}),
            "one rank has read 1 elements of the pass, another one 2; the positions must be those "
            "after one step");
  const Position all = Position::OfAllRanks(first);
  EXPECT_EQ(error_of({all}), "one of the positions is of all ranks already");
  // Ranks that were all restored and have not read have the position that they went to.
  EXPECT_EQ(Position::OfAllRanks({all, all}).Serialize(), all.Serialize());
  EXPECT_EQ(error_of({all, Position::OfAllRanks(second)}),
            "the ranks have gone to different positions of all ranks");
  const std::optional<Thrown> alone = ErrorOf([&] { make(0, 3)->Restore(first[0]); });
  ASSERT_TRUE(alone);
  EXPECT_NE(alone->text.find("it was saved by rank 0 of 2, this is rank 0 of 3"), std::string::npos)
      << *alone;
  const std::optional<Thrown> windowed = ErrorOf([&] { Shuffled(make(0, 3), 0)->Restore(all); });
  ASSERT_TRUE(windowed);
  EXPECT_NE(windowed->text.find("can resume only on as many as before"), std::string::npos)
      << *windowed;
}

// Such as readers of validation data, which each rank reads as a whole.
TEST(Lanes, MayBeBesideReadersThatRanksDoNotShare) {
  const auto save = [](int64_t ahead, size_t read) {
    const ReaderPtr reader = std::make_unique<DoubleBufferReader>(
        Batches(Each(FileLanes(4), Shuffled), 1, 4, ahead), Place(), ahead);
    reader->ExpectSave();
    ReadSome(reader.get(), read);
    return reader->Save();
  };
  // How far threads are ahead may differ.
  EXPECT_NO_THROW(Position::OfAllRanks({save(2, 3), save(7, 3), save(2, 3)}));
  EXPECT_TRUE(ErrorOf([&] { Position::OfAllRanks({save(2, 3), save(2, 4)}); }));
}

TEST(Lanes, AreSharedOnlyByNumbersOfRanksThatDivideTheirs) {
  const auto share = [](size_t rank, size_t ranks) {
    return LanesOfRank(DealtRecords(12, Fault::kNone), rank, ranks).lanes.size();
  };
  EXPECT_EQ(share(3, 4), 3u);
  EXPECT_EQ(ErrorOf([&] { share(0, 5); })->text,
            "12 lanes cannot be shared by 5 ranks; the number of ranks can be 1, 2, 3, 4, 6, 12");
  EXPECT_TRUE(ErrorOf([&] { share(4, 4); }));
}

// ---- Fewer chunks than lanes. ----

// The numbers of each lane.
std::vector<std::vector<int64_t>> NumbersOfLanes(LaneSet set) {
  std::vector<std::vector<int64_t>> lanes;
  for (const ReaderPtr& lane : set.lanes) lanes.push_back(NumbersOf(lane.get()));
  return lanes;
}

uint64_t BytesReadBy(const ChainStats& stats) {
  uint64_t bytes = stats.bytes_read;
  for (const ChainStats& below : stats.below) bytes += BytesReadBy(below);
  return bytes;
}

TEST(FewChunks, AreCutSoThatEachLaneHasItsShare) {
  // The last file has chunks of 3, 3 and 2 records.
  using Lanes = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(NumbersOfLanes(LanesOf({Paths()[2]}, 4, 1)),
            (Lanes{{42, 46}, {43, 47}, {44, 48}, {45, 49}}));
  EXPECT_EQ(NumbersOfLanes(LanesOf({Paths()[2]}, 3, 1)),
            (Lanes{{42, 45, 48}, {43, 46, 49}, {44, 47}}));
  // A file that is read twice has twice as many.
  EXPECT_EQ(NumbersOfLanes(LanesOf({Paths()[2]}, 6, 2)),
            (Lanes{{42, 48, 46}, {43, 49, 47}, {44, 42, 48}, {45, 43, 49}, {46, 44}, {47, 45}}));
  // All files have 18 chunks.
  for (const size_t lanes : {19, 36, 48, 64}) {
    std::vector<int64_t> all;
    for (const std::vector<int64_t>& lane : NumbersOfLanes(LanesOf(Paths(), lanes, 1))) {
      EXPECT_GE(lane.size(), Values().size() / lanes) << lanes;
      EXPECT_LE(lane.size(), Values().size() / lanes + 1) << lanes;
      all.insert(all.end(), lane.begin(), lane.end());
    }
    EXPECT_EQ(Sorted(all), Values());
  }
}

// Whichever ranks run them: a lane has the same records, and the same names.
TEST(FewChunks, AreCutAlikeOnAnyNumberOfRanks) {
  const std::vector<std::vector<int64_t>> all = NumbersOfLanes(LanesOf(Paths(), 24, 1));
  for (const size_t ranks : {2, 3, 8, 24}) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::vector<int64_t>> own =
          NumbersOfLanes(LanesOfRank(LanesOf(Paths(), 24, 1), rank, ranks));
      for (size_t i = 0; i < own.size(); ++i) EXPECT_EQ(own[i], all[rank + i * ranks]);
    }
  }
}

TEST(FewChunks, GoOnOnAnotherNumberOfRanks) {
  const auto few = [] { return Each(LanesOf({Paths()[0], Paths()[2]}, 12, 1), Shuffled); };
  for (uint32_t seed = 0; seed < 20; ++seed) ExpectSameOnAnyRanks(few, 1, seed, seed % 2 == 0);
}

// Lanes of a table of 1,000 rows, of which nothing tells how many there are.
LaneSet TableLanes() {
  static const auto* const path = [] {
    std::string table = "x\n";
    for (int i = 0; i < 1000; ++i) table += StrCat(i, "\n");
    auto* const name = new std::string(TempName("table.csv"));
    WriteFile(*name, table);
    return name;
  }();
  FormatArguments arguments;
  arguments.attributes.Set("fields", std::vector<std::string>{"x int64[1]"});
  return MakeFileLanes(
      std::make_unique<MultiFileReader>(FindFileFormat("csv")->Make(arguments),
                                        std::vector<FileEntry>{{*path, "", BufferType::kMemory}},
                                        MultiFileOptions()),
      12);
}

TEST(FewChunks, ThatDoNotTellAreCountedFirst) {
  const std::vector<std::vector<int64_t>> lanes = NumbersOfLanes(TableLanes());
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    std::vector<int64_t> numbers;
    for (size_t i = lane; i < 1000; i += lanes.size()) numbers.push_back(static_cast<int64_t>(i));
    EXPECT_EQ(lanes[lane], numbers);
  }
  for (uint32_t seed = 0; seed < 5; ++seed) {
    ExpectSameOnAnyRanks([] { return Each(TableLanes(), Shuffled); }, 40, seed, seed % 2 == 0);
  }
}

// All lanes have records of one chunk, which is read once.
TEST(FewChunks, AreReadOnce) {
  const int64_t numbers[1000] = {};
  const std::string path = TempName("one_chunk.fixed");
  WriteFile(path, {reinterpret_cast<const char*>(numbers), sizeof(numbers)});
  FormatArguments arguments;
  arguments.declared = SlotsOf(SourceSpec());
  for (const int workers : {0, 7}) {
    const PoolSize pool(workers);
    const auto lanes = [&] {
      return MakeFileLanes(
          std::make_unique<MultiFileReader>(FindFileFormat("fixed")->Make(arguments),
                                            std::vector<FileEntry>{{path, "", BufferType::kMemory}},
                                            MultiFileOptions()),
          16);
    };
    const ReaderPtr reader = Batches(lanes(), 2, 32, 4);
    reader->ExpectSave();
    ReadSome(reader.get(), 3);
    const Position position = reader->Save();
    EXPECT_EQ(NumbersOf(reader.get()).size(), 1000u - 96);
    EXPECT_LT(BytesReadBy(reader->Stats()), 2 * sizeof(numbers));
    const ReaderPtr again = Batches(lanes(), 2, 32, 4);
    again->Restore(position);
    EXPECT_EQ(NumbersOf(again.get()).size(), 1000u - 96);
  }
}

// A file that is cut off fails in the place of its chunk, in a lane that one rank runs. The other
// rank must not take that for the end.
TEST(Lanes, OfNoRankEndWhereAFileFails) {
  const std::string whole = ReadFile(Paths()[0]);
  const std::string cut = TempName("cut.recordio");
  WriteFile(cut, whole.substr(0, whole.size() / 2));
  for (const size_t ranks : {1, 2, 4}) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      const ReaderPtr reader =
          Merged(LanesOfRank(LanesOf({cut, Paths()[1]}, 4, 1), rank, ranks), 1);
      std::vector<ElementValue> before;
      const std::optional<Thrown> error = ReadUntilError(reader.get(), &before);
      ASSERT_TRUE(error) << "rank " << rank << " of " << ranks;
      EXPECT_NE(error->text.find(cut), std::string::npos) << *error;
    }
  }
}

// A filter gives out what it has loaded once: the error of a later lane must not have elements of
// earlier ones loaded again.
TEST(Lanes, OfElementsThatAreLoadedOnceFailByTheirOwnError) {
  const auto failing = [](ReaderPtr reader, size_t) -> ReaderPtr {
    const std::vector<SlotSpec> slots = reader->slots();
    return std::make_unique<MapReader>(
        std::move(reader), slots,
        [](const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
          Require(id.sample != 5, "record five fails");
          std::swap(*in, *out);
        });
  };
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    // Of the first batch, record 5 is in the last lane.
    const ReaderPtr reader =
        Batches(Each(Each(DealtRecords(3, {}, true), Filtered), failing), 2, 6, 2);
    const std::optional<Thrown> error = ErrorOf([&] { ReadSome(reader.get(), 1); });
    ASSERT_TRUE(error);
    EXPECT_NE(error->text.find("record five fails"), std::string::npos) << *error;
  }
}

// Records are dealt to all lanes when one has none, so that others need never run out of theirs.
TEST(Lanes, OfRecordsHoldNothingThatWasRead) {
  const PoolSize pool(0);
  SourceSpec spec = SourceSpec();
  spec.records = 20000;
  const auto most_blocks = [&](ReaderPtr reader) {
    int64_t most = 0;
    while (reader->HasNext()) {
      ReadSome(reader.get(), 1);
      most = std::max(most, LiveSourceBlocks());
    }
    return most;
  };
  const int64_t without = most_blocks(
      std::make_unique<BatchReader>(MakePlannedSource(spec), 32, false, BatchMode::kConcat));
  const int64_t with = most_blocks(Batches(MakeRecordLanes(MakePlannedSource(spec), 4), 8, 32, 4));
  EXPECT_LE(with, 10 * without + 100);
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
