// SPDX-License-Identifier: Apache-2.0
#include "framework/memory/attempt.h"

#include <gtest/gtest.h>

#include <new>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

void TakeBytes(size_t bytes) { BufferPool::At(Place()).Take(bytes); }

TEST(Attempt, TellsThatWorkIsDone) {
  bool called = false;
  const Attempt attempt([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_TRUE(attempt.is_done());
  EXPECT_FALSE(attempt.may_be_repeated());
  EXPECT_EQ(attempt.error(), nullptr);
  attempt.ThrowIfMayBeRepeated();
  attempt.ThrowUnlessDone();
  EXPECT_TRUE(Attempt().is_done());
}

TEST(Attempt, KeepsAnErrorForItsPlace) {
  const Attempt attempt([] { Throw(ErrorCode::kDataLoss, "damaged"); });
  EXPECT_EQ(attempt.outcome(), Attempt::Outcome::kFailed);
  EXPECT_EQ(KeptError(attempt.error()).message(), "damaged");
  attempt.ThrowIfMayBeRepeated();
  ExpectError(ErrorCode::kDataLoss, "damaged", [&] { attempt.ThrowUnlessDone(); });
  const Attempt other([] { throw std::bad_alloc(); });
  EXPECT_EQ(other.outcome(), Attempt::Outcome::kFailed);
  EXPECT_EQ(KeptError(other.error()).code(), ErrorCode::kResourceLimit);
}

TEST(Attempt, TellsARefusalOfMemoryFromALackOfIt) {
  const LimitInForce limit(8 * kMegabyte);
  {
    const MemoryScope ahead(nullptr, MemoryScope::Need::kAhead);
    const Attempt attempt([] { TakeBytes(5 * kMegabyte); });
    EXPECT_EQ(attempt.outcome(), Attempt::Outcome::kRefused);
    EXPECT_TRUE(attempt.may_be_repeated());
    EXPECT_EQ(attempt.error(), nullptr);
    ExpectError(ErrorCode::kResourceLimit, "not needed yet",
                [&] { attempt.ThrowIfMayBeRepeated(); });
  }
  const Attempt attempt([] { TakeBytes(9 * kMegabyte); });
  EXPECT_EQ(attempt.outcome(), Attempt::Outcome::kFailed);
  EXPECT_TRUE(KeptError(attempt.error()).interrupts());
}

TEST(Attempt, TellsWorkThatWasLeftFromARequestToStop) {
  bool over = false;
  const auto is_over = [&over] { return over; };
  const HelpScope scope(is_over);
  RequestStop();
  const Attempt stopped([] { CheckWait(); });
  ClearStop();
  EXPECT_EQ(stopped.outcome(), Attempt::Outcome::kFailed);
  EXPECT_EQ(KeptError(stopped.error()).code(), ErrorCode::kCancelled);
  over = true;
  const Attempt left([] { CheckWait(); });
  EXPECT_EQ(left.outcome(), Attempt::Outcome::kLeft);
  EXPECT_EQ(left.error(), nullptr);
  const Attempt failed([] { Throw(ErrorCode::kIo, "gone"); });
  EXPECT_EQ(failed.outcome(), Attempt::Outcome::kFailed);
}

TEST(TryAhead, IsFalseOnlyWhereMemoryIsRefused) {
  const LimitInForce limit(8 * kMegabyte);
  EXPECT_TRUE(TryAhead([] { TakeBytes(kMegabyte); }));
  EXPECT_FALSE(TryAhead([] { TakeBytes(5 * kMegabyte); }));
  ExpectError(ErrorCode::kDataLoss, "damaged",
              [] { static_cast<void>(TryAhead([] { Throw(ErrorCode::kDataLoss, "damaged"); })); });
  EXPECT_FALSE(MemoryScope::MayGiveUp());
  TakeBytes(5 * kMegabyte);
}

TEST(ThrowNotYet, SaysWhy) {
  ExpectError(ErrorCode::kResourceLimit, "not needed yet", [] { ThrowNotYet(); });
  const auto is_over = [] { return true; };
  const HelpScope scope(is_over);
  ExpectError(ErrorCode::kCancelled, "stopped", [] { ThrowNotYet(); });
}

}  // namespace
}  // namespace millhopper
