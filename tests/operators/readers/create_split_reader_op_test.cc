// SPDX-License-Identifier: Apache-2.0
// The operator create_split_reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "readers/combine/mix_reader.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "tests/fakes/documents.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr char kThreeShares[] = "float64s: [0.6, 0.3, 0.1]";

AttributeTexts PartOf(const std::string& shares, int part, const AttributeTexts& more = {}) {
  AttributeTexts attributes = {{"shares", shares}, {"part", StrCat("i: ", part)}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

std::vector<ElementValue> Sorted(std::vector<ElementValue> elements) {
  std::sort(elements.begin(), elements.end(),
            [](const ElementValue& a, const ElementValue& b) { return a[0].bytes < b[0].bytes; });
  return elements;
}

// The elements of each of three parts of a reader that `make` makes anew.
template <typename F>
std::vector<std::vector<ElementValue>> PartsOf(const F& make, const AttributeTexts& more = {}) {
  std::vector<std::vector<ElementValue>> parts;
  for (int part = 0; part < 3; ++part) {
    ProgramRunner runner;
    runner.Reader("source").Reset(make());
    runner.Startup(DecoratorProgram("create_split_reader", PartOf(kThreeShares, part, more)));
    parts.push_back(runner.ReadAllOf("out"));
    runner.Reader("out").ReInit();
    EXPECT_EQ(Sorted(runner.ReadAllOf("out")), Sorted(parts.back()));
  }
  return parts;
}

std::vector<ElementValue> Together(const std::vector<std::vector<ElementValue>>& parts) {
  std::vector<ElementValue> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return Sorted(all);
}

TEST(CreateSplitReaderOp, DividesTheElementsByTheirShares) {
  const auto make = [] { return MakePlannedSource(2000); };
  const auto parts = PartsOf(make);
  EXPECT_EQ(Together(parts), Sorted(ReadAll(make().get())));
  EXPECT_NEAR(static_cast<double>(parts[0].size()), 1200, 100);
  EXPECT_NEAR(static_cast<double>(parts[1].size()), 600, 90);
  EXPECT_NEAR(static_cast<double>(parts[2].size()), 200, 60);
  EXPECT_NE(PartsOf(make, {{"seed", "i: 1"}}), parts);
}

TEST(CreateSplitReaderOp, APartIsTheSameAboveAShuffleAndAMix) {
  const auto parts = PartsOf([] { return MakePlannedSource(300); });
  const auto shuffled = PartsOf([] {
    return std::make_unique<ShuffleReader>(MakePlannedSource(300), 50, RandomKey(1, 2, "shuffled"));
  });
  const auto mixed = PartsOf([] {
    std::vector<std::unique_ptr<ReaderBase>> readers;
    readers.push_back(MakePlannedSource(300));
    readers.push_back(MakePlannedSource(300));
    MixOptions options;
    options.steps = {{0, {1, 1}}};
    options.end = MixEnd::kContinue;
    return std::make_unique<MixReader>(std::move(readers), options, RandomKey(1, 2, "mixed"));
  });
  for (size_t part = 0; part < parts.size(); ++part) {
    EXPECT_EQ(Sorted(shuffled[part]), Sorted(parts[part]));
    EXPECT_EQ(Sorted(mixed[part]), Together({parts[part], parts[part]}));
  }
}

TEST(CreateSplitReaderOp, EqualKeysAreInOnePart) {
  std::vector<std::vector<int64_t>> documents;
  for (int i = 0; i < 600; ++i) documents.push_back({i % 40, i % 40 + 1});
  const auto parts = PartsOf([&] { return MakeDocuments(documents); }, {{"key", "i: 0"}});
  EXPECT_EQ(Together(parts).size(), 600u);
  for (const auto& part : parts) {
    EXPECT_EQ(part.size() % 15, 0u);
    EXPECT_LT(part.size(), 600u);
  }
}

TEST(CreateSplitReaderOp, SharesOfNothingAndOfAll) {
  for (const int part : {0, 1, 2}) {
    ProgramRunner runner;
    runner.Reader("source").Reset(MakePlannedSource(50));
    runner.Startup(DecoratorProgram("create_split_reader", PartOf("float64s: [0, 1, 0]", part)));
    EXPECT_EQ(runner.ReadAllOf("out").size(), part == 1 ? 50u : 0u);
  }
}

TEST(CreateSplitReaderOp, RefusesWhatMakesNoSense) {
  const auto refuses = [](const std::string& words, const AttributeTexts& attributes,
                          std::unique_ptr<ReaderBase> source = MakePlannedSource(7)) {
    ProgramRunner runner;
    runner.Reader("source").Reset(std::move(source));
    ExpectError(ErrorCode::kInvalidArgument, words,
                [&] { runner.Startup(DecoratorProgram("create_split_reader", attributes)); });
  };
  refuses("the sum of the shares is 1.5; it must be 1", PartOf("float64s: [1, 0.5]", 0));
  refuses("attribute 'shares' is -1; it must be at least 0", PartOf("float64s: [-1, 2]", 0));
  refuses("part 3 of 3", PartOf(kThreeShares, 3));
  refuses("attribute 'key' is slot 5 of a reader with", PartOf(kThreeShares, 0, {{"key", "i: 5"}}));
  refuses("consists of several records", PartOf(kThreeShares, 0),
          std::make_unique<BatchReader>(MakePlannedSource(7), 2, false, BatchMode::kConcat));
}

TEST(CreateSplitReaderOp, TwoPartsNeedTwoReaders) {
  for (const AttributeTexts& key : {AttributeTexts(), {{"key", "i: 0"}}}) {
    ProgramRunner runner;
    runner.Reader("source").Reset(MakePlannedSource(7));
    const auto part = [&](const char* name, int number) {
      return CreatedReaderText(name, "create_split_reader", {"source"},
                               PartOf(kThreeShares, number, key));
    };
    ExpectError(ErrorCode::kInvalidArgument, "is read by others, too", [&] {
      runner.Startup(BlockText(0, -1, {ReaderText("source"), part("train", 0), part("test", 1)}));
    });
  }
}

}  // namespace
}  // namespace millhopper
