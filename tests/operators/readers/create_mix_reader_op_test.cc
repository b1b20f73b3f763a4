// SPDX-License-Identifier: Apache-2.0
// The operator create_mix_reader.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Make(const std::vector<std::string>& below, const AttributeTexts& attributes = {},
                 bool by_variable = false) {
  std::vector<std::string> parts;
  for (const char* name : {"a", "b", "out"}) parts.push_back(ReaderText(name));
  SlotTexts inputs = {{"UnderlyingReaders", below}};
  if (by_variable) {
    parts.push_back(TensorText("weights", "FP32", {2}, 0, true));
    inputs.push_back({"WeightsTensor", {"weights"}});
  }
  parts.push_back(OpText("create_mix_reader", inputs, {{"Out", {"out"}}}, attributes));
  return BlockText(0, -1, parts);
}

std::vector<int64_t> NumbersOf(const std::vector<ElementValue>& elements) {
  std::vector<int64_t> numbers;
  numbers.reserve(elements.size());
  for (const ElementValue& element : elements) {
    numbers.push_back(*reinterpret_cast<const int64_t*>(element[0].bytes.data()));
  }
  return numbers;
}

std::vector<int64_t> Mixed(int64_t a, int64_t b, const AttributeTexts& attributes) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(a));
  runner.Reader("b").Reset(MakePlannedSource(b));
  runner.Startup(Make({"a", "b"}, attributes));
  return NumbersOf(runner.ReadAllOf("out"));
}

// By weights 3 and 1 each four turns have one of b, the third or the fourth.
TEST(CreateMixReaderOp, TakesTurnsByWeight) {
  const AttributeTexts weights = {{"weights", "float64s: 3 float64s: 1"}};
  std::vector<int64_t> stop = Mixed(6, 9, weights);
  EXPECT_EQ(std::count(stop.begin(), stop.end(), 0), 2);
  EXPECT_GE(stop.size(), 7u);
  EXPECT_LE(stop.size(), 8u);
  AttributeTexts attributes = weights;
  attributes.emplace_back("when_exhausted", "s: \"continue\"");
  EXPECT_EQ(Mixed(6, 9, attributes).size(), 15u);
  attributes.back().second = "s: \"repeat\"";
  // b ends after 9 turns: 27 of a, within one, four times and a half through its 6.
  const std::vector<int64_t> repeated = Mixed(6, 9, attributes);
  EXPECT_GE(repeated.size(), 36u);
  EXPECT_LE(repeated.size(), 40u);
  EXPECT_EQ(std::count(repeated.begin(), repeated.end(), 8), 1);
}

TEST(CreateMixReaderOp, GoesOnWithoutAnEmptyReader) {
  for (const char* end : {"s: \"continue\"", "s: \"repeat\""}) {
    EXPECT_EQ(Mixed(0, 3, {{"when_exhausted", end}}), (std::vector<int64_t>{0, 1, 2})) << end;
    EXPECT_TRUE(Mixed(0, 0, {{"when_exhausted", end}}).empty()) << end;
  }
  EXPECT_EQ(Mixed(5, 3, {{"weights", "float64s: 0 float64s: 2"}}), (std::vector<int64_t>{0, 1, 2}));
}

TEST(CreateMixReaderOp, ReadsAVariableAtTheBeginningOfEachPass) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(8));
  runner.Reader("b").Reset(MakePlannedSource(4));
  auto* weights = runner.scope().Var("weights")->GetMutable<LoDTensor>();
  *weights = MakeTensor<float>({2}, {1, 0});
  runner.Startup(Make({"a", "b"}, {}, true));
  const std::unique_ptr<ReaderBase> reader = runner.Reader("out").NewHandle();
  EXPECT_EQ(ReadAll(reader.get()).size(), 8u) << "all of a";
  reader->ReInit();
  *weights = MakeTensor<float>({2}, {0, 1});
  ReadSome(reader.get(), 1);
  *weights = MakeTensor<float>({2}, {1, 0});  // for the next pass
  EXPECT_EQ(ReadAll(reader.get()).size(), 3u) << "the rest of b";
  *weights = MakeTensor<float>({2}, {0, -1});
  for (int pass = 0; pass < 2; ++pass) {
    reader->ReInit();
    for (int again = 0; again < 2; ++again) {
      ExpectError(ErrorCode::kInvalidArgument, "weight 1 is -1", [&] { reader->HasNext(); });
    }
  }
  *weights = MakeTensor<float>({1}, {1});
  reader->ReInit();
  ExpectError(ErrorCode::kInvalidArgument, "1 weights for 2 readers", [&] { reader->HasNext(); });
}

TEST(CreateMixReaderOp, ReadsAVariableBeforeEachElement) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(8));
  runner.Reader("b").Reset(MakePlannedSource(4));
  auto* weights = runner.scope().Var("weights")->GetMutable<LoDTensor>();
  *weights = MakeTensor<float>({2}, {1, 0});
  runner.Startup(Make({"a", "b"}, {{"weights_read", "s: \"element\""}}, true));
  const std::unique_ptr<ReaderBase> reader = runner.Reader("out").NewHandle();
  EXPECT_EQ(NumbersOf(ReadSome(reader.get(), 3)), (std::vector<int64_t>{0, 1, 2}));
  *weights = MakeTensor<float>({2}, {0, 1});
  EXPECT_EQ(NumbersOf(ReadSome(reader.get(), 2)), (std::vector<int64_t>{0, 1}));
  *weights = MakeTensor<float>({2}, {1, 0});
  EXPECT_EQ(NumbersOf(ReadSome(reader.get(), 2)), (std::vector<int64_t>{3, 4}));
}

TEST(CreateMixReaderOp, ChangesWeightsAtSteps) {
  const std::vector<int64_t> mixed =
      Mixed(9, 9,
            {{"weights", "float64s: 1 float64s: 0 float64s: 0 float64s: 1"},
             {"steps", "longs: 0 longs: 3"}});
  EXPECT_EQ(mixed, (std::vector<int64_t>{0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

// Element i of b is i % 4 long, and counts as 1 at least; all of a are 1 long.
TEST(CreateMixReaderOp, WeighsByLengths) {
  for (const AttributeTexts& by :
       {AttributeTexts{{"by", "s: \"slot\""}}, AttributeTexts{{"by", "s: \"bytes\""}}}) {
    ProgramRunner runner;
    runner.Reader("a").Reset(MakePlannedSource(100, true));
    runner.Reader("b").Reset(MakePlannedSource(100, true));
    AttributeTexts attributes = {{"weights", "float64s: 3 float64s: 1"}};
    attributes.insert(attributes.end(), by.begin(), by.end());
    runner.Startup(Make({"a", "b"}, attributes));
    size_t elements = 0;
    size_t bytes = 0;
    for (const ElementValue& element : runner.ReadAllOf("out")) {
      bytes += element[0].bytes.size();
      ++elements;
    }
    // a ends after its 150 numbers; b has had 50, nearly.
    EXPECT_NEAR(static_cast<double>(bytes), 8 * 200, 8 * 4);
    EXPECT_GE(elements, 130u);
  }
}

TEST(CreateMixReaderOp, RefusesStepsThatMakeNoSense) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(3));
  runner.Reader("b").Reset(MakePlannedSource(3));
  const auto refuses = [&](const std::string& words, const AttributeTexts& attributes,
                           bool by_variable = false) {
    runner.ExpectProblem(Make({"a", "b"}, attributes, by_variable), words);
  };
  const std::string two = "float64s: 1 float64s: 2 float64s: 2 float64s: 1";
  refuses("attribute 'steps' begins with 3; the first weights hold from element 0 on",
          {{"weights", two}, {"steps", "longs: 3 longs: 5"}});
  refuses("attribute 'steps' has 0 after 0", {{"weights", two}, {"steps", "longs: 0 longs: 0"}});
  refuses("attribute 'weights' has 4 values for 2 readers and 3 steps",
          {{"weights", two}, {"steps", "longs: 0 longs: 1 longs: 2"}});
  refuses("there is no attribute 'weights'", {{"steps", "longs: 0"}}, true);
  refuses("no input 'WeightsTensor' is given that could be read",
          {{"weights_read", "s: \"element\""}});
  refuses("attribute 'by' is \"tokens\"; it must be one of", {{"by", "s: \"tokens\""}});
}

TEST(CreateMixReaderOp, RefusesWrongWeights) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(3));
  runner.Reader("b").Reset(MakePlannedSource(3));
  runner.ExpectProblem(Make({"a", "b"}, {{"weights", "float64s: 1"}}),
                       "attribute 'weights' has 1 values for 2 readers");
  runner.ExpectProblem(Make({"a", "b"}, {{"weights", "float64s: 1 float64s: -1"}}), "weights");
  runner.ExpectProblem(Make({"a", "b"}, {{"when_exhausted", "s: \"wait\""}}), "when_exhausted");
  runner.ExpectProblem(Make({"a", "a"}), "reader 'a' is given twice");
  ExpectError(ErrorCode::kInvalidArgument, "all weights are 0", [] {
    Mixed(3, 3, {{"weights", "float64s: 0 float64s: 0"}});
  });
}

}  // namespace
}  // namespace millhopper
