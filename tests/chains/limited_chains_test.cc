// SPDX-License-Identifier: Apache-2.0
// Chains under a limit of memory that is hardly enough: what they yield is exact, or they say that
// it is not enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "framework/memory_limit.h"
#include "tests/chains/chain_generator.h"
#include "tests/chains/chain_runner.h"
#include "tests/chains/schedule.h"

namespace millrace {
namespace {

using Strings = std::vector<std::string>;

constexpr size_t kLimits[] = {size_t{1} << 20, size_t{2} << 20, size_t{4} << 20};

bool SaysThatMemoryIsShort(const Strings& outcome) {
  return std::any_of(outcome.begin(), outcome.end(), [](const std::string& text) {
    return text.find("the memory limit of") != std::string::npos;
  });
}

class LimitedChains : public ::testing::TestWithParam<Schedule> {
 protected:
  ~LimitedChains() override { MemoryLimit::Set(SIZE_MAX); }
  const ScheduleInForce schedule_{GetParam()};
};

TEST_P(LimitedChains, YieldTheSameOrSayThatMemoryIsShort) {
  const uint64_t cases = NumberFromEnvironment("MILLRACE_CHAIN_CASES", 20000) / 100;
  const uint64_t first = NumberFromEnvironment("MILLRACE_CHAIN_SEED", 1) + GetParam().index * cases;
  ChainWishes wishes;
  wishes.ordered = true;
  size_t exact = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const std::string text = DrawChain(seed, wishes);
    MemoryLimit::Set(SIZE_MAX);
    const Strings wanted = OutcomeOf(text, 2);
    MemoryLimit::Set(kLimits[seed % 3]);
    const Strings outcome = OutcomeOf(text, 2);
    if (outcome == wanted) {
      ++exact;
    } else {
      ASSERT_TRUE(SaysThatMemoryIsShort(outcome)) << text;
    }
  }
  EXPECT_GT(exact, cases / 2);
}

INSTANTIATE_TEST_SUITE_P(Under, LimitedChains, ::testing::ValuesIn(kSchedules), NameOfSchedule);

}  // namespace
}  // namespace millrace
