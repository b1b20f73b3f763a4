// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/help_choice.h"

#include <gtest/gtest.h>

namespace millhopper {
namespace {

constexpr double kPause = 100'000;
constexpr int kBefore = 8 * 16 + 1;  // elements before waiting is tried

// A consumer whose elements take so many seconds if it helps, and if it waits; then it waits for a
// share of them.
struct Consumer {
  Consumer(double if_it_helps, double if_it_waits, double share = 0.5,
           bool gets_every_element = true)
      : helping(if_it_helps),
        waiting(if_it_waits),
        waited_share(share),
        choice(gets_every_element) {}

  double helping;
  double waiting;
  double waited_share;
  double now = 1000;
  double waited = 500;
  HelpChoice choice;

  bool helps() const { return choice.Helps(0); }
  // Takes elements; returns for how many of them it helps.
  int Take(int elements) {
    int helped = 0;
    for (int i = 0; i < elements; ++i) {
      now += helps() ? helping : waiting;
      waited += helps() ? helping : waited_share * waiting;
      helped += helps() ? 1 : 0;
      choice.Note(now, waited);
    }
    return helped;
  }
};

TEST(HelpChoice, HelpsAtFirstAndTriesToWait) {
  Consumer consumer{1, 2};
  EXPECT_EQ(consumer.Take(kBefore), kBefore);
  EXPECT_EQ(consumer.Take(16), 0);
  EXPECT_TRUE(consumer.helps());
}

TEST(HelpChoice, TakesTheFasterWayAndTriesTheOtherNowAndThen) {
  Consumer helper{1, 2}, waiter{2, 1};
  helper.Take(kBefore + 16);
  waiter.Take(kBefore + 16);
  EXPECT_EQ(helper.Take(64 * 16 * 10), 64 * 16 * 10 - 10 * 16);
  EXPECT_EQ(waiter.Take(64 * 16 * 10), 10 * 16);
}

TEST(HelpChoice, HelpsUnlessWaitingIsClearlyFaster) {
  Consumer helper{1.05, 1}, waiter{1.15, 1};
  helper.Take(64 * 16 - 1);
  waiter.Take(64 * 16 - 1);
  EXPECT_TRUE(helper.helps());
  EXPECT_FALSE(waiter.helps());
}

TEST(HelpChoice, WaitsIfItWaitsForLittleOfItsTime) {
  Consumer little{1, 2, 0.19}, much{1, 2, 0.21};
  little.Take(kBefore);
  much.Take(kBefore);
  EXPECT_EQ(little.Take(64 * 16 * 10), 0);
  EXPECT_EQ(much.Take(64 * 16 * 10), 64 * 16 * 10 - 11 * 16);
  EXPECT_TRUE(little.choice.Helps(8.1));
  little.waited_share = 0.3;
  little.Take(16);
  EXPECT_TRUE(little.helps());
}

TEST(HelpChoice, MeasuresBothWaysWhereElementsComeOutInOtherNumbers) {
  Consumer consumer{1e-4, 2e-4, 0.1, false};
  EXPECT_EQ(consumer.Take(33), 17);
  EXPECT_TRUE(consumer.helps());
}

TEST(HelpChoice, NoticesThatTheOtherWayHasBecomeFaster) {
  Consumer consumer{1, 2};
  consumer.Take(64 * 16);
  EXPECT_TRUE(consumer.helps());
  consumer.helping = 4;
  consumer.Take(64 * 16);
  EXPECT_FALSE(consumer.helps());
  consumer.helping = 1;
  consumer.Take(64 * 16 * 8);
  EXPECT_TRUE(consumer.helps());
}

TEST(HelpChoice, ATrialTakesAHundredthOfASecond) {
  Consumer consumer{3e-4, 6e-4};
  EXPECT_EQ(consumer.Take(8 * 34 + 18), 8 * 34 + 1);
  EXPECT_EQ(consumer.Take(50), 50);
}

TEST(HelpChoice, APauseDecidesLittle) {
  Consumer consumer{1, 2};
  consumer.Take(1000);
  consumer.now += kPause;
  consumer.Take(64 * 16 * 4);
  EXPECT_TRUE(consumer.helps());
}

TEST(HelpChoice, OneSlowTrialDecidesNothing) {
  Consumer consumer{1, 1.4};
  consumer.Take(kBefore + 16);
  consumer.helping = 1.9;
  consumer.Take(16);
  EXPECT_TRUE(consumer.helps());
}

TEST(HelpChoice, TheTimeBetweenPassesIsNotMeasured) {
  Consumer consumer{2, 1};
  consumer.Take(200);
  for (int pass = 0; pass < 20; ++pass) {
    consumer.now += kPause;
    consumer.choice.Restart();
    consumer.Take(40);
  }
  EXPECT_FALSE(consumer.helps());
  EXPECT_TRUE(consumer.choice.Helps(4.1));  // since an element takes a second, as before
}

TEST(HelpChoice, AWorkerThatTakesFarLongerThanUsualIsNotWaitedFor) {
  Consumer consumer{2, 1};
  consumer.Take(200);
  EXPECT_FALSE(consumer.choice.Helps(3.9));
  EXPECT_TRUE(consumer.choice.Helps(4.1));
}

}  // namespace
}  // namespace millhopper
