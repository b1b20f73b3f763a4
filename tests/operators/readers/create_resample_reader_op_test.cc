// SPDX-License-Identifier: Apache-2.0
// The operator create_resample_reader.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/position.h"
#include "readers/decorate/map_reader.h"
#include "readers/decorate/resample_reader.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;

// A source in which number i has class i % 10 % 3: 4, 3 and 3 of 10 elements.
ReaderPtr Classes(int64_t records) {
  return std::make_unique<MapReader>(
      MakePlannedSource(records), SlotsOf(SourceSpec()),
      [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        const int64_t number = *in->front().data<int64_t>();
        out->assign(1, MakeTensor<int64_t>({1, 1}, {number % 10 % 3}));
      });
}

std::map<int64_t, int> CountsOf(const std::vector<ElementValue>& elements) {
  std::map<int64_t, int> counts;
  for (const ElementValue& element : elements) {
    int64_t number;
    std::memcpy(&number, element[0].bytes.data(), sizeof(number));
    ++counts[number];
  }
  return counts;
}

std::vector<ElementValue> Resampled(ReaderPtr source, const AttributeTexts& attributes) {
  ProgramRunner runner;
  runner.Reader("source").Reset(std::move(source));
  runner.Startup(DecoratorProgram("create_resample_reader", attributes));
  return runner.ReadAllOf("out");
}

AttributeTexts Weighed(const std::string& classes, const std::string& weights,
                       const AttributeTexts& more = {}) {
  AttributeTexts attributes = {{"classes", "strings: [" + classes + "]"},
                               {"weights", "float64s: [" + weights + "]"}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

TEST(CreateResampleReaderOp, YieldsEachClassAsOftenAsItsWeightSays) {
  const auto counts =
      CountsOf(Resampled(Classes(1000), Weighed(R"("0", "1", "2")", "0.1, 1, 2.5")));
  EXPECT_NEAR(counts.at(0), 40, 1);
  EXPECT_EQ(counts.at(1), 300);
  EXPECT_NEAR(counts.at(2), 750, 1);
  const auto others =
      CountsOf(Resampled(Classes(1000), Weighed(R"("2")", "0", {{"others", "float64: 0.5"}})));
  EXPECT_NEAR(others.at(0) + others.at(1), 350, 1) << "others are one class";
  EXPECT_EQ(others.count(2), 0u);
}

// Number i is a text of i % 4 letters.
TEST(CreateResampleReaderOp, ClassesMayBeTexts) {
  SlotSpec slot;
  slot.dtype = DataType::kUint8;
  slot.dims = {-1};
  slot.lod_level = 1;
  auto source = std::make_unique<MapReader>(
      MakePlannedSource(8), std::vector<SlotSpec>{slot},
      [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        const auto letters = static_cast<size_t>(*in->front().data<int64_t>() % 4);
        LoDTensor text = MakeTensor<uint8_t>({static_cast<int64_t>(letters)},
                                             std::vector<uint8_t>(letters, 'a'));
        text.set_lod({{0, letters}});
        out->assign(1, text);
      });
  std::vector<std::string> texts;
  for (const ElementValue& element :
       Resampled(std::move(source),
                 Weighed(R"("", "a", "aaa")", "0, 1, 2", {{"others", "float64: 0"}}))) {
    texts.push_back(element[0].bytes);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "aaa", "aaa", "a", "aaa", "aaa"}));
}

TEST(CreateResampleReaderOp, AClassWithoutAWeightIsAnError) {
  ExpectError(ErrorCode::kDataLoss, "class '2' has no weight",
              [] { Resampled(Classes(9), Weighed(R"("0", "1")", "1, 1")); });
}

// The weight of number i is i.
TEST(CreateResampleReaderOp, ASlotMayHoldTheWeight) {
  const auto counts = CountsOf(Resampled(MakePlannedSource(5), {}));
  EXPECT_EQ(counts, (std::map<int64_t, int>{{1, 1}, {2, 2}, {3, 3}, {4, 4}}));
}

TEST(CreateResampleReaderOp, RefusesWhatMakesNoSense) {
  const auto refuses = [](const std::string& words, const AttributeTexts& attributes) {
    ExpectError(ErrorCode::kInvalidArgument, words,
                [&] { Resampled(MakePlannedSource(7), attributes); });
  };
  refuses("attribute 'weights' has 1 values for 2 classes", Weighed(R"("0", "1")", "1"));
  refuses("class '1' has two weights", Weighed(R"("1", "1")", "1, 2"));
  refuses("a weight is 100000; it must be 0 to 65536", Weighed(R"("1")", "1e5"));
  refuses("slot 3 of a reader with 1 slots", {{"slot", "i: 3"}});
  ExpectError(ErrorCode::kDataLoss, "slot 0 holds 0 numbers",
              [] { Resampled(MakePlannedSource(7, true), {}); });
}

// What comes again has a name of its own, and every pass has other elements of a class that is
// thinned out.
TEST(CreateResampleReaderOp, PassesAndCopiesDiffer) {
  ResampleReader reader(MakePlannedSource(1000), ElementWeights::OfClasses(0, {"7"}, {3}, 0.25),
                        RandomKey(1, 2, "r"));
  std::set<std::vector<uint64_t>> passes;
  for (uint64_t pass = 0; pass < 8; ++pass) {
    if (pass > 0) reader.Restart(pass);
    TicketRun run;
    std::set<std::pair<uint64_t, uint64_t>> names;
    std::vector<uint64_t> samples;
    while (reader.Plan(7, &run) > 0) {
    }
    for (const Ticket& ticket : run.tickets) {
      EXPECT_TRUE(names.emplace(ticket.id.sample, ticket.id.part).second);
      samples.push_back(ticket.id.sample);
    }
    EXPECT_NEAR(static_cast<double>(samples.size()), 999 / 4.0 + 3, 1);
    passes.insert(samples);
  }
  EXPECT_GT(passes.size(), 1u);
}

TEST(CreateResampleReaderOp, GoesOnFromAnyPoint) {
  const auto make = [] {
    return std::make_unique<ResampleReader>(
        Classes(300), ElementWeights::OfClasses(0, {"0", "1", "2"}, {0.3, 1.7, 4.2}, std::nullopt),
        RandomKey(1, 2, "r"));
  };
  const std::vector<ElementValue> all = ReadAll(make().get());
  std::mt19937_64 bits(3);
  for (int round = 0; round < 30; ++round) {
    ReaderPtr reader = make();
    reader->ExpectSave();
    std::vector<ElementValue> read;
    do {
      const std::vector<ElementValue> some = ReadSome(reader.get(), bits() % 60);
      read.insert(read.end(), some.begin(), some.end());
      const Position position = Position::Parse(reader->Save().Serialize());
      reader = make();
      reader->Restore(position);
    } while (reader->HasNext());
    ASSERT_TRUE(read == all) << "round " << round;
  }
}

}  // namespace
}  // namespace millhopper
