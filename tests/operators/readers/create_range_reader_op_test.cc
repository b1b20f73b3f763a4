// SPDX-License-Identifier: Apache-2.0
// The operator create_range_reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Make(const AttributeTexts& attributes) {
  return BlockText(
      0, -1,
      {ReaderText("out"), OpText("create_range_reader", {}, {{"Out", {"out"}}}, attributes)});
}

// The numbers of the next pass.
std::vector<int64_t> Pass(ReaderHolder* reader) {
  std::vector<int64_t> numbers;
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    EXPECT_EQ(element[0].dims(), Dims({1}));
    numbers.push_back(*element[0].data<int64_t>());
  }
  reader->ReInit();
  return numbers;
}

std::vector<int64_t> Counted(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(CreateRangeReaderOp, Counts) {
  for (const int64_t count : {0, 1, 130}) {
    ProgramRunner runner;
    runner.Startup(Make({{"count", StrCat("i: ", count)}}));
    ReaderHolder* const reader = &runner.Reader("out");
    EXPECT_EQ(reader->PassLength(), count);
    EXPECT_EQ(Pass(reader), Counted(count));
    EXPECT_EQ(Pass(reader), Counted(count));
  }
}

TEST(CreateRangeReaderOp, ShufflesEachPassInAnOrderOfItsOwn) {
  for (const int64_t count : {0, 1, 130, 5000}) {  // a list up to 4096, then a permutation
    ProgramRunner runner;
    runner.Startup(Make({{"count", StrCat("i: ", count)}, {"shuffle_records", "b: true"}}));
    ReaderHolder* const reader = &runner.Reader("out");
    const std::vector<int64_t> first = Pass(reader);
    std::vector<int64_t> second = Pass(reader);
    if (count > 1) {
      EXPECT_NE(first, second);
      EXPECT_NE(first, Counted(count));
    }
    for (std::vector<int64_t> pass : {first, second}) {
      std::sort(pass.begin(), pass.end());
      EXPECT_EQ(pass, Counted(count));
    }
    ProgramRunner again;
    again.Startup(Make({{"count", StrCat("i: ", count)}, {"shuffle_records", "b: true"}}));
    EXPECT_EQ(Pass(&again.Reader("out")), first);
  }
}

TEST(CreateRangeReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.ExpectProblem(Make({{"count", "i: -1"}}),
                       "attribute 'count' is -1; it must be at least 0");
  runner.ExpectProblem(Make({}), "attribute 'count' is missing");
}

}  // namespace
}  // namespace millhopper
