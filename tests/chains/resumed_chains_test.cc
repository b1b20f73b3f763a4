// SPDX-License-Identifier: Apache-2.0
// Random chains that are saved at random places and gone on from yield what they yield without
// that. MILLHOPPER_CHAIN_CASES and MILLHOPPER_CHAIN_SEED as in random_chains_test.cc.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/base/memory.h"
#include "tests/chains/chain_generator.h"
#include "tests/chains/chain_runner.h"
#include "tests/chains/schedule.h"
#include "tests/fake_device.h"
#include "tests/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

TEST(ResumedChains, YieldWhatTheyYieldOtherwise) {
  const uint64_t cases = NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / 40;
  const uint64_t first = 5000000 + NumberFromEnvironment("MILLHOPPER_CHAIN_SEED", 1);
  ChainWishes wishes;
  wishes.ordered = true;
  uint64_t resumed = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const std::string text = DrawChain(seed, wishes);
    SCOPED_TRACE("# calls: " + std::to_string(seed) + "\n" + text);
    std::string why;
    const Strings outcome = ResumedOutcomeOf(text, 3, seed, &why);
    if (!why.empty()) {
      ASSERT_NE(why.find("keeps elements on a disk"), std::string::npos) << why;
      continue;
    }
    ++resumed;
    ASSERT_EQ(outcome, OutcomeOf(text, 3));
  }
  EXPECT_GT(resumed, cases / 2);
  EXPECT_EQ(LiveSourceBlocks(), 0);
  EXPECT_EQ(FakeDevice::Get()->TakeViolations(), Strings{});
}

// Readers that share one are saved and gone on with together.
TEST(ResumedChains, ReadersOnOneLoseAndDoubleNothing) {
  const uint64_t cases = NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / 400;
  const uint64_t first = 6000000 + NumberFromEnvironment("MILLHOPPER_CHAIN_SEED", 1);
  ChainWishes wishes;
  wishes.shared = true;
  uint64_t resumed = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const std::string text = DrawChain(seed, wishes);
    SCOPED_TRACE("# calls: " + std::to_string(seed) + "\n" + text);
    if (ResumeShared(text, seed)) ++resumed;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(resumed, cases / 2);
  EXPECT_EQ(LiveSourceBlocks(), 0);
  EXPECT_EQ(FakeDevice::Get()->TakeViolations(), Strings{});
}

}  // namespace
}  // namespace millhopper
