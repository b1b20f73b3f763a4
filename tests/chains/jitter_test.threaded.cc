// SPDX-License-Identifier: Apache-2.0
// Chains on a source that sleeps and fails at random: errors come at their place, and each has the
// same text under every schedule. F17 is an entry in tests/faults.md.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/chains/chain_generator.h"
#include "tests/chains/chain_runner.h"
#include "tests/chains/schedule.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// Compares what each text yields under every schedule with what it yields without workers.
void ExpectTheSameUnderAllSchedules(const Strings& texts, const std::vector<Schedule>& schedules) {
  std::vector<Strings> wanted;
  wanted.reserve(texts.size());
  {
    const PoolSize none(0);
    for (const std::string& text : texts) wanted.push_back(OutcomeOf(text, 2));
  }
  for (const Schedule& schedule : schedules) {
    const ScheduleInForce in_force(schedule);
    for (size_t i = 0; i < texts.size(); ++i) {
      ASSERT_EQ(OutcomeOf(texts[i], 2), wanted[i]) << NameOf(schedule) << "\n" << texts[i];
    }
  }
}

class Jitter : public ::testing::TestWithParam<Schedule> {
 protected:
  const uint64_t cases_ = NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / 40;
  const uint64_t first_ = NumberFromEnvironment("MILLHOPPER_CHAIN_SEED", 1);
};

TEST_P(Jitter, ChangesNothingThatTheModelYields) {
  const ScheduleInForce in_force(GetParam());
  ChainWishes wishes;
  wishes.jitter = wishes.ordered = true;
  for (uint64_t seed = first_; seed < first_ + cases_ && !HasFailure(); ++seed) {
    RunChain(DrawChain(seed, wishes), seed);
  }
}

TEST_P(Jitter, ChangesNoTextOfAnyError) {
  ChainWishes late, any;
  late.jitter = late.ordered = any.ordered = true;
  Strings texts;
  for (uint64_t seed = first_; seed < first_ + cases_; ++seed) {
    texts.push_back(DrawChain(seed, seed % 2 == 0 ? late : any));
  }
  ExpectTheSameUnderAllSchedules(texts, {GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Under, Jitter, ::testing::ValuesIn(kSchedules), NameOfSchedule);

// F17: whichever worker meets an error first, the consumer gets the error of the first failing
// record, by position.
TEST(Fault, AtAnyRecordIsTheSameWithAnyNumberOfWorkers) {
  constexpr int kRecords = 40;
  Strings texts;
  for (const char* error : {"plan_error", "load_error"}) {
    for (int i = 0; i < kRecords; ++i) {
      texts.push_back(
          BlockText(0, -1,
                    {ReaderText("numbers"), ReaderText("batches"), ReaderText("ready"),
                     OpText("create_number_source", {}, {{"Out", {"numbers"}}},
                            {{"records", StrCat("i: ", kRecords)}, {error, StrCat("i: ", i)}}),
                     OpText("create_batch_reader", {{"UnderlyingReader", {"numbers"}}},
                            {{"Out", {"batches"}}}, {{"batch_size", "i: 7"}}),
                     OpText("create_double_buffer_reader", {{"UnderlyingReader", {"batches"}}},
                            {{"Out", {"ready"}}}, {{"depth", "i: 3"}})}));
      const Strings outcome = OutcomeOf(texts.back(), 1);
      ASSERT_EQ(outcome.size(), static_cast<size_t>(i / 7 + 1));
      const std::string words = StrCat("record ", i, " cannot be ");
      EXPECT_EQ(outcome.back().compare(0, words.size(), words), 0) << outcome.back();
    }
  }
  for (int time = 0; time < 3; ++time) {
    ExpectTheSameUnderAllSchedules(texts,
                                   {{0, 1, false}, {0, 2, false}, {0, 4, false}, {0, 8, false}});
  }
}

}  // namespace
}  // namespace millhopper
