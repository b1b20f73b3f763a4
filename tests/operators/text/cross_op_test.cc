// SPDX-License-Identifier: Apache-2.0
// cross.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Cross(const std::vector<LoDTensor>& columns, int64_t buckets) {
  SlotTensors inputs;
  for (const LoDTensor& column : columns) inputs.emplace_back("X", column);
  RunOpOptions options;
  options.dims_by_values = true;  // by levels of detail
  return RunOp("cross", inputs, {"Out"}, {{"buckets", buckets}}, options).at("Out");
}

// The number of a row as the schema describes it.
int64_t NumberOf(const std::string& key, uint64_t buckets) {
  return static_cast<int64_t>(XXH64(key.data(), key.size(), 0) % buckets);
}

std::string Eight(int64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};  // on a little-endian machine
}

TEST(CrossOp, HashesTheColumnsOfARow) {
  const std::vector<std::string> words = {"a", "", "Oslo\xff"};
  const LoDTensor out = Cross({TextsOf(words), MakeTensor<int64_t>({3}, {-1, 7, 1LL << 40}),
                               MakeTensor<int32_t>({3, 1}, {2, 2, -3})},
                              1000003);
  std::vector<int64_t> expected;
  const std::vector<std::vector<int64_t>> numbers = {{-1, 2}, {7, 2}, {1LL << 40, -3}};
  for (size_t i = 0; i < 3; ++i) {
    std::string key = Eight(static_cast<int64_t>(words[i].size())) + words[i];
    for (const int64_t number : numbers[i]) key += Eight(number);
    expected.push_back(NumberOf(key, 1000003));
  }
  EXPECT_EQ(out.dims(), (Dims{3}));
  EXPECT_EQ(ValuesOf<int64_t>(out), expected);
}

// "ab" and "c" are another combination than "a" and "bc".
TEST(CrossOp, KeepsColumnsApart) {
  const LoDTensor out = Cross({TextsOf({"ab", "a"}), TextsOf({"c", "bc"})}, int64_t{1} << 62);
  const auto numbers = ValuesOf<int64_t>(out);
  EXPECT_NE(numbers[0], numbers[1]);
}

TEST(CrossOp, DoesNotDependOnTheTypeOfIntegers) {
  const auto column = [](auto type) {
    using T = decltype(type);
    return ValuesOf<int64_t>(Cross({MakeTensor<T>({2}, {T{1}, T{0}})}, 97));
  };
  const std::vector<int64_t> expected = {NumberOf(Eight(1), 97), NumberOf(Eight(0), 97)};
  EXPECT_EQ(column(int64_t{}), expected);
  EXPECT_EQ(column(int16_t{}), expected);
  EXPECT_EQ(column(int8_t{}), expected);
  EXPECT_EQ(column(uint8_t{}), expected);
  EXPECT_EQ(column(bool{}), expected);
}

TEST(CrossOp, KeepsTheLevelsOfTheFirstColumn) {
  const LoDTensor numbers = MakeTensor<int64_t>({3}, {1, 2, 3}, {{0, 2, 3}});
  const LoDTensor words = MakeTensor<uint8_t>({3}, {'b', 'a', 'b'}, {{0, 2, 3}, {0, 1, 2, 3}});
  EXPECT_EQ(Cross({numbers, words}, 5).lod(), (Lod{{0, 2, 3}}));
  EXPECT_EQ(Cross({words, numbers}, 5).lod(), (Lod{{0, 2, 3}}));
  EXPECT_TRUE(Cross({TextsOf({"a", "b", "c"}), numbers}, 5).lod().empty());
}

TEST(CrossOp, OutMayBeAColumn) {
  RunOpOptions options;
  options.in_place = {{"Out", "X"}};
  const LoDTensor numbers = MakeTensor<int64_t>({2}, {1, 2});
  const auto outs = RunOp("cross", {{"X", numbers}}, {"Out"}, {{"buckets", int64_t{9}}}, options);
  EXPECT_EQ(ValuesOf<int64_t>(outs.at("Out")), ValuesOf<int64_t>(Cross({numbers}, 9)));
}

TEST(CrossOp, AnIntegerThatThereIsNotIsNoZero) {
  const LoDTensor numbers = MakeTensor<int64_t>({3}, {0, 0, 7});
  const SlotTensors inputs = {{"X", TextsOf({"a", "a", "a"})},
                              {"X", numbers},
                              {"Valid", MakeTensor<bool>({3}, {true, false, true})}};
  const Attributes attributes = {{"buckets", int64_t{1000003}},
                                 {"masked", std::vector<int32_t>{1}}};
  RunOpOptions options;
  options.dims_by_values = true;
  const auto out = RunOp("cross", inputs, {"Out"}, attributes, options).at("Out");
  std::vector<int64_t> expected;
  for (const int64_t number : {int64_t{0}, std::numeric_limits<int64_t>::min(), int64_t{7}}) {
    expected.push_back(NumberOf(Eight(1) + "a" + Eight(number), 1000003));
  }
  EXPECT_EQ(ValuesOf<int64_t>(out), expected);
  ExpectRefused("'masked' has 0 numbers of columns for 1 inputs 'Valid'", "cross", inputs, {"Out"},
                {{"buckets", int64_t{9}}});
}

TEST(CrossOp, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& words, const SlotTensors& inputs) {
    ExpectRefused(words, "cross", inputs, {"Out"}, {{"buckets", int64_t{2}}});
  };
  const LoDTensor two = MakeTensor<int64_t>({2}, {1, 2});
  refused("column 1 has 3 rows, and column 0 has 2",
          {{"X", two}, {"X", MakeTensor<int64_t>({3}, {1, 2, 3})}});
  refused("bucketize makes integers of other numbers",
          {{"X", two}, {"X", MakeTensor<float>({2}, {1, 2})}});
  refused("texts or integers [n]", {{"X", MakeTensor<int64_t>({1, 2}, {1, 2})}});
  ExpectRefused("it must be at least 1", "cross", {{"X", two}}, {"Out"}, {{"buckets", int64_t{0}}});
}

}  // namespace
}  // namespace millhopper
