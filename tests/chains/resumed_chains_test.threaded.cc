// SPDX-License-Identifier: Apache-2.0
// Random chains that are saved at random places and resumed yield what they yield without that.
// MILLHOPPER_CHAIN_CASES and MILLHOPPER_CHAIN_SEED as in random_chains_test.threaded.cc.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/memory/memory.h"
#include "tests/chains/chain_generator.h"
#include "tests/chains/chain_runner.h"
#include "tests/chains/schedule.h"
#include "tests/fakes/fake_device.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

TEST(ResumedChains, YieldWhatTheyYieldOtherwise) {
  const uint64_t cases = NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / 40;
  const uint64_t first = 5000000 + NumberFromEnvironment("MILLHOPPER_CHAIN_SEED", 1);
  ChainWishes wishes;
  wishes.ordered = true;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const std::string text = DrawChain(seed, wishes);
    SCOPED_TRACE("# calls: " + std::to_string(seed) + "\n" + text);
    ASSERT_EQ(ResumedOutcomeOf(text, 3, seed), OutcomeOf(text, 3));
  }
  EXPECT_EQ(LiveSourceBlocks(), 0);
  EXPECT_EQ(FakeDevice::Get()->TakeViolations(), Strings{});
}

// Readers that share one are saved and resumed together.
TEST(ResumedChains, ReadersOnOneLoseAndDoubleNothing) {
  const uint64_t cases = NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / 400;
  const uint64_t first = 6000000 + NumberFromEnvironment("MILLHOPPER_CHAIN_SEED", 1);
  ChainWishes wishes;
  wishes.shared = true;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const std::string text = DrawChain(seed, wishes);
    SCOPED_TRACE("# calls: " + std::to_string(seed) + "\n" + text);
    ResumeShared(text, seed);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(LiveSourceBlocks(), 0);
  EXPECT_EQ(FakeDevice::Get()->TakeViolations(), Strings{});
}

}  // namespace
}  // namespace millhopper
