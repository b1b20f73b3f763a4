// SPDX-License-Identifier: Apache-2.0
// Chains under a memory limit that is hardly enough. What they yield is exact, up to the place
// where an error says that the limit is too low. A limit that is enough without workers is enough
// with any number of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "framework/base/ref_counted.h"
#include "framework/memory/memory_limit.h"
#include "tests/chains/chain_generator.h"
#include "tests/chains/chain_runner.h"
#include "tests/chains/schedule.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

constexpr size_t kLimits[] = {size_t{1} << 20, size_t{2} << 20, size_t{4} << 20};

bool IsMemoryError(const std::string& text) {
  return text.find("the memory limit of") != std::string::npos &&
         text.find("; raise the limit to ") != std::string::npos;
}

// A digest has no spaces; the text of an error or of the end of a pass has some.
bool EndsPass(const std::string& text) { return text.find(' ') != std::string::npos; }

// Whether each pass yields what it should, up to a memory error if it has one. Where records are
// dealt to lanes, a lane has none beyond the record of the error, so that others come sooner.
bool IsExactUntilMemoryIsShort(const Strings& outcome, const Strings& wanted, bool are_dealt) {
  auto want = wanted.begin();
  bool passed_over = false;
  for (const std::string& text : outcome) {
    if (want == wanted.end()) return false;
    const auto last = std::find_if(want, wanted.end(), &EndsPass);
    if (IsMemoryError(text)) {
      want = last;
      passed_over = false;
    } else if (text != *want) {
      want = are_dealt ? std::find(want, last, text) : last;
      if (want == last) return false;
      passed_over = true;
    } else if (want == last && passed_over) {
      return false;
    }
    ++want;
  }
  return want == wanted.end();
}

class LimitedChains : public ::testing::TestWithParam<Schedule> {
 protected:
  ~LimitedChains() override { MemoryLimit::Set(SIZE_MAX); }
  const ScheduleInForce schedule_{GetParam()};
};

TEST_P(LimitedChains, YieldTheSameOrSayThatMemoryIsShort) {
  const uint64_t cases = NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / 100;
  const uint64_t first =
      NumberFromEnvironment("MILLHOPPER_CHAIN_SEED", 1) + GetParam().index * cases;
  ChainWishes wishes;
  wishes.ordered = true;
  size_t exact = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const std::string text = DrawChain(seed, wishes);
    const bool are_dealt = text.find("create_lanes_reader") != std::string::npos;
    MemoryLimit::Set(SIZE_MAX);
    const Strings wanted = OutcomeOf(text, 2);
    MemoryLimit::Set(kLimits[seed % 3]);
    DropIdleObjects();  // they kept memory while there was no limit
    const Strings outcome = OutcomeOf(text, 2);
    ASSERT_TRUE(IsExactUntilMemoryIsShort(outcome, wanted, are_dealt))
        << text << "yields " << ::testing::PrintToString(outcome) << "\nin place of "
        << ::testing::PrintToString(wanted);
    if (outcome == wanted) {
      ++exact;
    } else {
      const PoolSize none(0);
      ASSERT_NE(OutcomeOf(text, 2), wanted) << "fits without workers:\n" << text;
    }
  }
  EXPECT_GT(exact, cases / 2);
}

INSTANTIATE_TEST_SUITE_P(Under, LimitedChains, ::testing::ValuesIn(kSchedules), NameOfSchedule);

}  // namespace
}  // namespace millhopper
