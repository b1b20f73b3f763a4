// SPDX-License-Identifier: Apache-2.0
// The operator create_shuffle_reader.
#include <gtest/gtest.h>

#include <algorithm>

#include "readers/decorate/shuffle_reader.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers() {
  SourceSpec spec;
  spec.records = 50;
  return MakePlannedSource(spec);
}

std::string Shuffle(const AttributeTexts& attributes) {
  return DecoratorProgram("create_shuffle_reader", attributes);
}

std::vector<ElementValue> Shuffled(const AttributeTexts& attributes, uint64_t run_seed) {
  RunState run;
  run.seed = run_seed;
  ProgramRunner runner({}, run);
  runner.Reader("source").Reset(Numbers());
  runner.Startup(Shuffle(attributes));
  return runner.ReadAllOf("out");
}

TEST(CreateShuffleReaderOp, KeysTheOrderByBothSeedsAndTheVariable) {
  ShuffleReader expected(Numbers(), 10, RandomKey(3, 7, "out"));
  EXPECT_EQ(Shuffled({{"buffer_size", "i: 10"}, {"seed", "i: 7"}}, 3), ReadAll(&expected));
  EXPECT_NE(Shuffled({{"buffer_size", "i: 10"}, {"seed", "i: 7"}}, 4), ReadAll(&expected));
  ShuffleReader by_default(Numbers(), 10, RandomKey(0, 0, "out"));
  EXPECT_EQ(Shuffled({{"buffer_size", "i: 10"}}, 0), ReadAll(&by_default));
}

TEST(CreateShuffleReaderOp, KeepsOneOrderThatOnlySeedsDecide) {
  const AttributeTexts same = {
      {"buffer_size", "i: 10"}, {"seed", "i: 7"}, {"reshuffle", "b: false"}};
  ShuffleReader expected(Numbers(), 10, RandomKey::OfSeeds(3, 7));
  const std::vector<ElementValue> order = ReadAll(&expected);
  expected.ReInit();
  EXPECT_EQ(ReadAll(&expected), order);
  EXPECT_EQ(Shuffled(same, 3), order);
  EXPECT_NE(Shuffled(same, 4), order);
  // Pass 0 of a key without a name, as the version of the order has it.
  ShuffleReader unnamed(Numbers(), 10, RandomKey(3, 7, ""));
  EXPECT_EQ(ReadAll(&unnamed), order);
}

TEST(CreateShuffleReaderOp, TakesNegativeAndLongSeeds) {
  const AttributeTexts negative = {{"buffer_size", "i: 10"}, {"seed", "i: -1"}};
  const AttributeTexts large = {{"buffer_size", "i: 10"}, {"seed", "l: 1099511627776"}};
  EXPECT_NE(Shuffled(negative, 0), Shuffled(large, 0));
}

TEST(CreateShuffleReaderOp, NamesTheReaderByVariableOperatorAndLine) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.Startup(Shuffle({{"buffer_size", "i: 10"}}));
  EXPECT_EQ(runner.Reader("out").origin(), "reader 'out' (create_shuffle_reader, startup.pbtxt:6)");
}

TEST(CreateShuffleReaderOp, BuildsAFreshReaderWhenTheStartupProgramRunsAgain) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.Startup(Shuffle({{"buffer_size", "i: 10"}}));
  const std::unique_ptr<ReaderBase> old = runner.Reader("out").NewHandle();
  std::vector<LoDTensor> element;
  for (int i = 0; i < 3; ++i) old->ReadNext(&element);

  runner.Reader("source").Reset(Numbers());
  runner.Again();
  EXPECT_EQ(runner.ReadAllOf("out").size(), 50u);
  EXPECT_EQ(ReadAll(old.get()).size(), 47u);  // the old chain lives as long as a handle of it
}

TEST(CreateShuffleReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.ExpectProblem(Shuffle({{"buffer_size", "i: 0"}}),
                       "attribute 'buffer_size' is 0; it must be at least 1");
  runner.ExpectProblem(Shuffle({{"buffer_size", "i: -5"}}), "attribute 'buffer_size' is -5");
  runner.ExpectProblem(Shuffle({{"buffer_size", "s: \"10\""}}), "it must be INT");
  runner.ExpectProblem(Shuffle({}), "attribute 'buffer_size' is missing");
  runner.ExpectProblem(Shuffle({{"buffer_size", "i: 9"}, {"sed", "i: 1"}}),
                       "no attribute 'sed'; did you mean 'seed'?");
}

}  // namespace
}  // namespace millhopper
