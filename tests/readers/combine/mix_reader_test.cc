// SPDX-License-Identifier: Apache-2.0
// Shares of a mix: on every rank and lane, of lengths, and where weights change.
#include "readers/combine/mix_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/position.h"
#include "framework/reader/ticket.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/split_reader.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;

const RandomKey kKey(1, 2, "mixed");
const std::vector<MixWeights> kWeights = {
    {.5, .3, .15, .05}, {1, 1},    {.95, .05},           {7, 2, 1},
    {3, 5, 7, 1},       {1, 1, 1}, {.6180339, .3819661}, {20, 10, 5, 4, 3, 2, 1, 1, 1, 1}};

Readers Sources(size_t readers, int64_t records, bool ragged = false) {
  Readers sources;
  for (size_t k = 0; k < readers; ++k) sources.push_back(MakePlannedSource(records, ragged));
  return sources;
}

MixOptions Weighed(const MixWeights& weights, MixEnd end = MixEnd::kStop) {
  MixOptions options;
  options.steps = {{0, weights}};
  options.end = end;
  return options;
}

// Which readers the next elements are of, whose names tell it.
std::vector<size_t> PartsOf(ReaderBase* reader, size_t readers, size_t count) {
  std::vector<size_t> parts;
  TicketRun run;
  while (parts.size() < count && reader->Plan(count - parts.size(), &run) > 0) {
    for (const Ticket& ticket : run.tickets) parts.push_back(ticket.id.sample % readers);
    run.Clear();
  }
  return parts;
}

// How far counts are from their shares, over any stretch: of each participant, the highest lead
// less the lowest.
double WorstStretch(const std::vector<size_t>& parts, const MixWeights& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double worst = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    double lead = 0, highest = 0, lowest = 0;
    for (const size_t part : parts) {
      lead += (part == k ? 1 : 0) - weights[k] / sum;
      highest = std::max(highest, lead);
      lowest = std::min(lowest, lead);
    }
    worst = std::max(worst, highest - lowest);
  }
  return worst;
}

// ---- Ranks. ----

TEST(MixReader, SharesHoldOnEveryRankAndForAllTogether) {
  for (const MixWeights& weights : kWeights) {
    for (const int64_t ranks : {1, 2, 3, 4, 8, 64}) {
      double of_ranks = 0;
      std::vector<std::vector<size_t>> parts;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        ShardReader shard(
            std::make_unique<MixReader>(Sources(weights.size(), 100000), Weighed(weights), kKey),
            ranks, rank);
        parts.push_back(PartsOf(&shard, weights.size(), 1000));
        ASSERT_EQ(parts.back().size(), 1000u);
        of_ranks = std::max(of_ranks, WorstStretch(parts.back(), weights));
      }
      std::vector<size_t> all;
      for (size_t i = 0; i < 1000; ++i) {
        for (const std::vector<size_t>& part : parts) all.push_back(part[i]);
      }
      const double of_all = WorstStretch(all, weights);
      EXPECT_LT(of_ranks, 2 + 1e-6) << ranks << " ranks of " << weights.size();
      EXPECT_LT(of_all, 2 + (ranks == 1 ? 0 : 0.8 * static_cast<double>(ranks)))
          << ranks << " ranks of " << weights.size();
    }
  }
}

// Batch b, and all elements in it, are rank b % ranks'.
TEST(MixReader, SharesHoldWhereBatchesAreDivided) {
  for (const MixWeights& weights : kWeights) {
    for (const int64_t size : {3, 10, 16}) {
      MixReader mix(Sources(weights.size(), 100000), Weighed(weights), kKey);
      mix.ExpectRanks(4, static_cast<size_t>(size));
      const std::vector<size_t> all = PartsOf(&mix, weights.size(), 8000);
      for (size_t rank = 0; rank < 4; ++rank) {
        std::vector<size_t> own;
        for (size_t i = 0; i < all.size(); ++i) {
          if (i / static_cast<size_t>(size) % 4 == rank) own.push_back(all[i]);
        }
        EXPECT_LT(WorstStretch(own, weights), 2 + 1e-6) << rank << " of batches of " << size;
      }
      ShardReader shard(
          std::make_unique<BatchReader>(
              std::make_unique<MixReader>(Sources(weights.size(), 100000), Weighed(weights), kKey),
              size, false, BatchMode::kConcat),
          4, 1);
      TicketRun run;
      ASSERT_GT(shard.Plan(3, &run), 0u);
      const auto* const batch = run.tickets[0].object<TicketRun>();
      for (size_t i = 0; i < static_cast<size_t>(size); ++i) {
        EXPECT_EQ(batch->tickets[i].id.sample % weights.size(), all[static_cast<size_t>(size) + i]);
      }
    }
  }
}

// Turns of two mixes, and of ranks, do not meet in patterns: shares of ranks are those of chance.
TEST(MixReader, SharesHoldOnEveryRankOfAMixOfMixes) {
  for (const MixWeights& weights : kWeights) {
    for (const size_t ranks : {2, 3, 4, 8}) {
      std::vector<double> counts(weights.size());
      for (size_t rank = 0; rank < ranks; ++rank) {
        Readers both = Sources(1, 100000);
        both.push_back(
            std::make_unique<MixReader>(Sources(weights.size(), 100000), Weighed(weights), kKey));
        ShardReader shard(std::make_unique<MixReader>(std::move(both), Weighed({1, 1}), kKey),
                          static_cast<int64_t>(ranks), static_cast<int64_t>(rank));
        // Reader 0 of the outer mix has the even names.
        std::vector<double> of_rank(weights.size());
        TicketRun run;
        for (size_t read = 0; read < 4000; read += run.tickets.size()) {
          run.Clear();
          ASSERT_GT(shard.Plan(4000 - read, &run), 0u);
          for (const Ticket& ticket : run.tickets) {
            if (ticket.id.sample % 2 == 1) ++of_rank[ticket.id.sample / 2 % weights.size()];
          }
        }
        const double all = std::accumulate(of_rank.begin(), of_rank.end(), 0.0);
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        EXPECT_NEAR(all, 2000, 2);
        for (size_t k = 0; k < weights.size(); ++k) {
          const double share = weights[k] / sum;
          EXPECT_NEAR(of_rank[k], all * share, 4 * std::sqrt(all * share * (1 - share)))
              << "reader " << k << " on rank " << rank << " of " << ranks;
          counts[k] += of_rank[k] - all * share;
        }
      }
      // All ranks together are within 2 for each.
      for (const double lead : counts) EXPECT_LT(std::abs(lead), 2.0 * static_cast<double>(ranks));
    }
  }
}

// A part of the elements, by their keys: which of them are left is chance to the turns of ranks.
TEST(MixReader, SharesHoldOnEveryRankOfAPart) {
  const MixWeights& weights = kWeights[0];
  const auto part_of = [&](size_t ranks, size_t rank) {
    ShardReader shard(
        std::make_unique<SplitReader>(
            std::make_unique<MixReader>(Sources(weights.size(), 100000), Weighed(weights), kKey),
            PartOfKeys({0.25, 0.75}, 1, 7)),
        static_cast<int64_t>(ranks), static_cast<int64_t>(rank));
    return PartsOf(&shard, weights.size(), 4000);
  };
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const size_t ranks : {2, 4}) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<size_t> parts = part_of(ranks, rank);
      for (size_t k = 0; k < weights.size(); ++k) {
        const double share = weights[k] / sum;
        const auto count = static_cast<double>(std::count(parts.begin(), parts.end(), k));
        EXPECT_NEAR(count, 4000 * share, 4 * std::sqrt(4000 * share * (1 - share)))
            << "reader " << k << " on rank " << rank << " of " << ranks;
      }
    }
  }
}

// Lanes do not come to the turn of a rare reader at once.
TEST(MixReader, SharesHoldForLanesTogether) {
  for (const MixWeights& weights : kWeights) {
    for (const size_t lanes : {2, 8, 16}) {
      std::vector<std::vector<size_t>> parts;
      for (size_t lane = 0; lane < lanes; ++lane) {
        MixOptions options = Weighed(weights);
        options.lane = {lane, lanes};
        Readers sources = Sources(weights.size(), 10000);
        for (ReaderPtr& source : sources) {
          source = std::make_unique<ShardReader>(std::move(source), lanes, lane);
        }
        MixReader mix(std::move(sources), options, kKey.OfPart(lane));
        std::vector<size_t> own;
        TicketRun run;
        while (own.size() < 200 && mix.Plan(200 - own.size(), &run) > 0) {
          for (const Ticket& ticket : run.tickets) {
            own.push_back(ticket.id.sample / lanes % weights.size());
          }
          run.Clear();
        }
        EXPECT_LT(WorstStretch(own, weights), 2 + 1e-6) << "lane " << lane << " of " << lanes;
        parts.push_back(own);
      }
      std::vector<size_t> all;
      for (size_t i = 0; i < 200; ++i) {
        for (const std::vector<size_t>& part : parts) all.push_back(part[i]);
      }
      EXPECT_LT(WorstStretch(all, weights), 2 + 0.8 * static_cast<double>(lanes))
          << lanes << " lanes of " << weights.size();
    }
  }
}

// What reads a mix alone has the turns that it always had.
TEST(MixReader, OneRankHasTheTurnsOfOneSchedule) {
  for (const MixWeights& weights : kWeights) {
    MixSchedule schedule(weights, kKey, 0);
    std::vector<size_t> turns;
    while (turns.size() < 500) turns.push_back(schedule.Next());
    MixReader mix(Sources(weights.size(), 1000), Weighed(weights), kKey);
    mix.ExpectRanks(1, 8);
    EXPECT_EQ(PartsOf(&mix, weights.size(), 500), turns);
  }
}

// A pass goes on as it was dealt out, also by a program that divides it otherwise now: ranks whose
// positions are older than their program must agree.
TEST(MixReader, APassGoesOnForTheRanksThatItBeganFor) {
  const auto make = [](size_t ranks) {
    auto mix = std::make_unique<MixReader>(Sources(4, 200), Weighed(kWeights[0]), kKey);
    if (ranks > 1) mix->ExpectRanks(ranks, 1);
    return mix;
  };
  for (const size_t before : {1, 3}) {
    for (const size_t after : {1, 2, 4}) {
      const ReaderPtr reader = make(before);
      reader->ExpectSave();
      PartsOf(reader.get(), 4, 77);
      const Position position = Position::Parse(reader->Save().Serialize());
      const ReaderPtr next = make(after);
      next->Restore(position);
      EXPECT_EQ(PartsOf(next.get(), 4, 1000), PartsOf(reader.get(), 4, 1000));
      next->Restart(1);
      const ReaderPtr other = make(after);
      other->Restart(1);
      EXPECT_EQ(PartsOf(next.get(), 4, 100), PartsOf(other.get(), 4, 100));
    }
  }
}

// ---- Steps. ----

TEST(MixReader, WeightsChangeAtTheirSteps) {
  MixOptions options;
  options.steps = {{0, {1, 0}}, {100, {1, 3}}, {301, {0, 1}}};
  MixReader mix(Sources(2, 1000), options, kKey);
  const std::vector<size_t> parts = PartsOf(&mix, 2, 400);
  const auto ones = [&](size_t begin, size_t end) {
    return std::count(parts.begin() + static_cast<std::ptrdiff_t>(begin),
                      parts.begin() + static_cast<std::ptrdiff_t>(end), 1u);
  };
  EXPECT_EQ(ones(0, 100), 0);
  EXPECT_NEAR(static_cast<double>(ones(100, 301)), 201 * .75, 1);
  EXPECT_EQ(ones(301, 400), 99);
  EXPECT_EQ(mix.PassLength(), std::nullopt);
}

// Steps come whatever the next one is asked for at a time.
TEST(MixReader, StepsDoNotDependOnHowManyAreAskedFor) {
  MixOptions options;
  options.steps = {{0, {1, 2}}, {50, {2, 1}}, {51, {1, 1}}, {400, {1, 5}}};
  for (const size_t ranks : {1, 3}) {
    MixReader whole(Sources(2, 1000), options, kKey);
    whole.ExpectRanks(ranks, 2);
    const std::vector<size_t> parts = PartsOf(&whole, 2, 700);
    MixReader single(Sources(2, 1000), options, kKey);
    single.ExpectRanks(ranks, 2);
    std::mt19937_64 bits(ranks);
    std::vector<size_t> own;
    while (own.size() < 700) {
      for (const size_t part :
           PartsOf(&single, 2, std::min<size_t>(bits() % 9 + 1, 700 - own.size()))) {
        own.push_back(part);
      }
    }
    EXPECT_EQ(own, parts);
  }
}

TEST(MixReader, ReadersWithAWeightLaterAreNotForgotten) {
  MixOptions options;
  options.steps = {{0, {1, 0}}, {25, {0, 1}}};
  // The second begins at once when the first has ended.
  options.end = MixEnd::kContinue;
  MixReader continued(Sources(2, 10), options, kKey);
  std::vector<size_t> both(10);
  both.resize(20, 1);
  EXPECT_EQ(PartsOf(&continued, 2, 100), both);
  // The first begins anew until then, and the pass ends with the second.
  options.end = MixEnd::kRepeat;
  MixReader repeated(Sources(2, 10), options, kKey);
  std::vector<size_t> again(25);
  again.resize(35, 1);
  EXPECT_EQ(PartsOf(&repeated, 2, 100), again);
}

// What is still to come may change when a position is restored.
TEST(MixReader, LaterStepsMayBeOthersAfterAResume) {
  const auto make = [](const std::vector<MixStep>& steps) {
    MixOptions options;
    options.steps = steps;
    return std::make_unique<MixReader>(Sources(2, 1000), options, kKey);
  };
  const ReaderPtr reader = make({{0, {3, 1}}, {40, {1, 1}}});
  reader->ExpectSave();
  std::vector<size_t> parts = PartsOf(reader.get(), 2, 60);
  const Position position = Position::Parse(reader->Save().Serialize());
  const ReaderPtr next = make({{0, {3, 1}}, {40, {1, 1}}, {90, {0, 1}}});
  next->Restore(position);
  const std::vector<size_t> rest = PartsOf(next.get(), 2, 100);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(parts, PartsOf(make({{0, {3, 1}}, {40, {1, 1}}, {90, {0, 1}}}).get(), 2, 160));
  const auto refuses = [&](const std::string& words, const std::vector<MixStep>& steps) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { make(steps)->Restore(position); });
  };
  refuses("weights are to hold from element 50 on, but those before element 60 are planned",
          {{0, {3, 1}}, {40, {1, 1}}, {50, {0, 1}}});
  refuses("it has had other steps of weights", {{0, {3, 1}}, {41, {1, 1}}});
  refuses("it has had other steps of weights", {{0, {3, 1}}, {40, {1, 2}}});
  refuses("it has had other steps of weights", {{0, {3, 1}}});
  refuses("weights was 3, 1, now it is 3, 2", {{0, {3, 2}}, {40, {1, 1}}});
}

TEST(MixReader, RefusesStepsOutOfOrder) {
  const auto refuses = [](const std::string& words, std::vector<MixStep> steps) {
    MixOptions options;
    options.steps = std::move(steps);
    ExpectError(ErrorCode::kInvalidArgument, words,
                [&] { MixReader(Sources(2, 3), options, kKey); });
  };
  refuses("weights must hold from element 0 on", {{3, {1, 1}}});
  refuses("weights must hold from element 0 on", {});
  refuses("weights hold from element 5 on, after those from element 5 on",
          {{0, {1, 1}}, {5, {1, 2}}, {5, {1, 1}}});
  refuses("all weights are 0", {{0, {1, 1}}, {5, {0, 0}}});
  refuses("1 weights for 2 readers", {{0, {1, 1}}, {5, {1}}});
}

// ---- Weights that the loop changes. ----

class ChangedWeights : public ::testing::Test {
 protected:
  ReaderPtr Make() {
    MixOptions options = Weighed({1, 0});
    options.changed_weights = [this] { return weights_; };
    options.each_element = true;
    return std::make_unique<MixReader>(Sources(2, 100), options, kKey);
  }
  // Both readers have the numbers from 0 on.
  static std::vector<int64_t> Read(ReaderBase* reader, size_t count) {
    std::vector<int64_t> numbers;
    for (const ElementValue& element : ReadSome(reader, count)) {
      numbers.push_back(*reinterpret_cast<const int64_t*>(element[0].bytes.data()));
    }
    return numbers;
  }
  MixWeights weights_ = {1, 0};
};

TEST_F(ChangedWeights, HoldFromTheNextElementOn) {
  const ReaderPtr mix = Make();
  EXPECT_EQ(Read(mix.get(), 5), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  weights_ = {0, 1};
  EXPECT_EQ(Read(mix.get(), 3), (std::vector<int64_t>{0, 1, 2}));
  weights_ = {1, 0};
  EXPECT_EQ(Read(mix.get(), 1), (std::vector<int64_t>{5}));
  weights_ = {1, -1};
  for (int again = 0; again < 2; ++again) {
    ExpectError(ErrorCode::kInvalidArgument, "weight 1 is -1", [&] { mix->HasNext(); });
  }
  weights_ = {0, 1};
  mix->ReInit();
  EXPECT_EQ(Read(mix.get(), 2), (std::vector<int64_t>{0, 1}));
}

// A batch is planned when it is asked for, also by HasNext.
TEST_F(ChangedWeights, HoldFromTheNextBatchOn) {
  BatchReader batches(Make(), 2, false, BatchMode::kConcat);
  const auto read = [&] {
    const std::string bytes = ReadSome(&batches, 1)[0][0].bytes;
    std::vector<int64_t> numbers(bytes.size() / sizeof(int64_t));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  };
  EXPECT_EQ(read(), (std::vector<int64_t>{0, 1}));
  weights_ = {0, 1};
  EXPECT_TRUE(batches.HasNext());
  weights_ = {1, 0};
  EXPECT_EQ(read(), (std::vector<int64_t>{0, 1})) << "of the second reader";
  EXPECT_EQ(read(), (std::vector<int64_t>{2, 3}));
}

TEST_F(ChangedWeights, AreResumed) {
  for (const size_t cut : {0, 1, 7, 20}) {
    weights_ = {2, 1};
    const ReaderPtr mix = Make();
    mix->ExpectSave();
    Read(mix.get(), cut);
    weights_ = {1, 4};
    if (cut == 7) mix->HasNext();
    const Position position = Position::Parse(mix->Save().Serialize());
    const ReaderPtr next = Make();
    next->Restore(position);
    EXPECT_EQ(Read(next.get(), 30), Read(mix.get(), 30));
  }
}

TEST_F(ChangedWeights, AreRefusedBelowWhatWorksAhead) {
  const ReaderPtr ahead = std::make_unique<DoubleBufferReader>(Make(), Place(), 2);
  ExpectError(ErrorCode::kInvalidArgument, "works ahead of the loop", [&] { ahead->HasNext(); });
}

// ---- Lengths. ----

// Element i of a source is i % 4 numbers.
TEST(MixReader, SharesAreOfLengths) {
  for (const MixWeights& weights : kWeights) {
    for (const bool bytes : {true, false}) {
      MixOptions options = Weighed(weights);
      options.measure.emplace();
      if (!bytes) options.measure->slot = 0;
      MixReader mix(Sources(weights.size(), 4000, true), options, kKey);
      const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
      std::vector<double> lengths(weights.size());
      double all = 0;
      TicketRun run;
      for (size_t read = 0; read < 1000; read += run.tickets.size()) {
        run.Clear();
        ASSERT_GT(mix.Plan(7, &run), 0u);
        for (const Ticket& ticket : run.tickets) {
          const uint64_t number = ticket.id.sample / weights.size();
          const double length =
              std::max<double>(static_cast<double>(number % 4) * (bytes ? 8 : 1), 1);
          lengths[ticket.id.sample % weights.size()] += length;
          all += length;
          for (size_t k = 0; k < weights.size(); ++k) {
            ASSERT_LT(std::abs(lengths[k] - all * weights[k] / sum), bytes ? 48 : 6)
                << "reader " << k << " of " << weights.size();
          }
        }
      }
    }
  }
}

TEST(MixReader, LengthsAreOfASlotThatThereIs) {
  MixOptions options = Weighed({1, 1});
  options.measure.emplace();
  options.measure->slot = 1;
  ExpectError(ErrorCode::kInvalidArgument, "slot 1 of a reader with 1 slots",
              [&] { MixReader(Sources(2, 3), options, kKey); });
}

// ---- Resuming at any point, which changes nothing. ----

TEST(MixReader, GoesOnFromAnyPoint) {
  std::mt19937_64 bits(5);
  for (int round = 0; round < 200; ++round) {
    const size_t readers = bits() % 4 + 1;
    MixOptions options;
    options.end = static_cast<MixEnd>(bits() % 3);
    for (uint64_t first = 0; options.steps.size() < 1 + bits() % 3; first += 1 + bits() % 40) {
      MixWeights weights(readers);
      for (double& weight : weights) weight = static_cast<double>(bits() % 5);
      weights[bits() % readers] += 1;
      options.steps.push_back({first, weights});
    }
    if (bits() % 2 == 0) options.measure.emplace();
    const size_t ranks = bits() % 4 + 1;
    const size_t run = bits() % 4;  // 0 is kAnyRun
    const auto make = [&] {
      Readers sources;
      for (size_t k = 0; k < readers; ++k) {
        sources.push_back(MakePlannedSource(static_cast<int64_t>(10 + 13 * k), true));
      }
      auto mix = std::make_unique<MixReader>(std::move(sources), options, kKey);
      mix->ExpectRanks(ranks, run);
      return mix;
    };
    const ReaderPtr whole = make();
    const std::vector<ElementValue> all = ReadAll(whole.get());
    ReaderPtr reader = make();
    reader->ExpectSave();
    std::vector<ElementValue> read;
    while (true) {
      const std::vector<ElementValue> some = ReadSome(reader.get(), bits() % 20);
      read.insert(read.end(), some.begin(), some.end());
      if (!reader->HasNext()) break;
      const Position position = Position::Parse(reader->Save().Serialize());
      reader = make();
      reader->Restore(position);
    }
    ASSERT_TRUE(read == all) << "round " << round << ", " << read.size() << " of " << all.size();
  }
}

}  // namespace
}  // namespace millhopper
