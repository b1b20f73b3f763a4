// SPDX-License-Identifier: Apache-2.0
// The operator create_random_data_generator.
#include <gtest/gtest.h>

#include "readers/sources/random_data_reader.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const SlotsText kSlots = {{"FP32", {2, 3}}, {"FP32", {1, 1}}};

std::string Generator(const AttributeTexts& attributes, const SlotsText& slots = kSlots) {
  return BlockText(0, -1,
                   {ReaderText("out", slots),
                    OpText("create_random_data_generator", {}, {{"Out", {"out"}}}, attributes)});
}

std::vector<ElementValue> Generated(const AttributeTexts& attributes, const SlotsText& slots,
                                    uint64_t run_seed = 0) {
  RunState run;
  run.seed = run_seed;
  ProgramRunner runner({}, run);
  runner.Startup(Generator(attributes, slots));
  return ReadSome(runner.Reader("out").NewHandle().get(), 10);
}

std::vector<ElementValue> Expected(float low, float high, int64_t count, const RandomKey& key) {
  SlotSpec first, second;
  first.dims = Dims({2, 3});
  second.dims = Dims({1, 1});
  RandomDataReader reader({first, second}, low, high, count, key);
  return ReadSome(&reader, 10);
}

TEST(CreateRandomDataGeneratorOp, HasTheDefaultsOfTheTable) {
  EXPECT_EQ(Generated({}, kSlots), Expected(0, 1, 0, RandomKey(0, 0, "out")));
}

TEST(CreateRandomDataGeneratorOp, TakesBoundsCountAndSeeds) {
  EXPECT_EQ(Generated({{"low", "f: -2"}, {"high", "f: 5"}, {"count", "i: 3"}, {"seed", "i: 9"}},
                      kSlots, 4),
            Expected(-2, 5, 3, RandomKey(4, 9, "out")));
}

TEST(CreateRandomDataGeneratorOp, TakesSlotsAsTheLineageDeclaresThem) {
  const AttributeTexts attributes = {{"shape_concat", "ints: 2 ints: 3 ints: 1 ints: 1"},
                                     {"ranks", "ints: 2 ints: 2"},
                                     {"lod_levels", "ints: 0 ints: 0"}};
  const std::vector<ElementValue> expected = Expected(0, 1, 0, RandomKey(0, 0, "out"));
  EXPECT_EQ(Generated(attributes, {}), expected);
  EXPECT_EQ(Generated(attributes, kSlots), expected);  // both declarations agree
}

TEST(CreateRandomDataGeneratorOp, RefusesSlotsThatDisagreeOrAreMissing) {
  const AttributeTexts attributes = {{"shape_concat", "ints: 2 ints: 4 ints: 1 ints: 1"},
                                     {"ranks", "ints: 2 ints: 2"}};
  ExpectError(ErrorCode::kInvalidArgument,
              "slot 0: float32 [2, 3] is declared, but shape_concat, ranks and lod_levels say "
              "float32 [2, 4]",
              [&] { Generated(attributes, kSlots); });
  ExpectError(ErrorCode::kInvalidArgument, "the slots of this reader must be declared",
              [] { Generated({}, {}); });
  ExpectError(ErrorCode::kInvalidArgument, "random data is float32", [] {
    Generated({}, {{"INT64", {1, 1}}});
  });
  ExpectError(ErrorCode::kInvalidArgument, "random data is float32", [] {
    Generated({}, {{"FP32", {-1, 1}}});
  });
}

TEST(CreateRandomDataGeneratorOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  const auto expect = [&](const AttributeTexts& attributes, const std::string& words) {
    runner.ExpectProblem(Generator(attributes), words);
  };
  expect({{"low", "f: 2"}}, "attribute 'low' is 2; it must be below 'high', which is 1");
  expect({{"low", "f: 1"}}, "attribute 'low' is 1; it must be below 'high', which is 1");
  expect({{"count", "i: -1"}}, "attribute 'count' is -1; it must be at least 0");
  expect({{"ranks", "ints: 2"}}, "attribute 'ranks' asks for more dims than the 0");
  expect({{"shape_concat", "ints: 2 ints: 3"}, {"ranks", "ints: 1"}},
         "attribute 'ranks' asks for 1 dims, but 'shape_concat' has 2");
  expect({{"shape_concat", "ints: 2"}, {"ranks", "ints: 0"}}, "attribute 'ranks' is 0 for slot 0");
  expect({{"shape_concat", "ints: 2"}, {"ranks", "ints: 1"}, {"lod_levels", "ints: 0 ints: 0"}},
         "attribute 'lod_levels' is for 2 slots, 'ranks' for 1");
  expect({{"shape_concat", "ints: 2"}, {"ranks", "ints: 1"}, {"dtypes", "ints: 5 ints: 5"}},
         "attribute 'dtypes' is for 2 slots, 'ranks' for 1");
  expect({{"shape_concat", "ints: 2"}, {"ranks", "ints: 1"}, {"dtypes", "ints: 15"}}, "15");
  expect({{"shape_concat", "ints: -2"}, {"ranks", "ints: 1"}}, "-2");
}

}  // namespace
}  // namespace millhopper
