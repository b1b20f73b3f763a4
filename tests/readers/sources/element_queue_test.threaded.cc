// SPDX-License-Identifier: Apache-2.0
// The queue between the threads that make elements and the reader that yields them.
#include "readers/sources/element_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Element = ElementQueue::Element;
using Pushed = ElementQueue::Pushed;

constexpr std::chrono::milliseconds kAtOnce{0};
constexpr std::chrono::milliseconds kLong{60000};

Element Of(int64_t number) { return {MakeTensor<int64_t>({1, 1}, {number})}; }

Pushed TryPush(ElementQueue* queue, uint64_t generation, int64_t number) {
  Element element = Of(number);
  const Pushed pushed = queue->PushWithin(kAtOnce, generation, &element);
  EXPECT_EQ(element.empty(), pushed == Pushed::kDone);
  return pushed;
}

// Takes all elements up to the end.
std::vector<int64_t> TakeAll(ElementQueue* queue) {
  std::vector<int64_t> numbers;
  Element element;
  while (queue->Take(&element)) numbers.push_back(element.at(0).scalar<int64_t>());
  return numbers;
}

TEST(ElementQueue, NeedsRoomForOne) {
  ExpectError(ErrorCode::kInvalidArgument, "capacity of a queue is 0", [] { ElementQueue(0); });
  ExpectError(ErrorCode::kInvalidArgument, "capacity of a queue is -3", [] { ElementQueue(-3); });
  EXPECT_EQ(ElementQueue(7).capacity(), 7u);
}

TEST(ElementQueue, IsFirstInFirstOutAndBounded) {
  ElementQueue queue(2);
  EXPECT_EQ(TryPush(&queue, 0, 1), Pushed::kDone);
  EXPECT_EQ(TryPush(&queue, 0, 2), Pushed::kDone);
  EXPECT_EQ(TryPush(&queue, 0, 3), Pushed::kFull);
  EXPECT_EQ(queue.size(), 2u);
  queue.Close(0);
  EXPECT_TRUE(queue.closed());
  EXPECT_EQ(TakeAll(&queue), (std::vector<int64_t>{1, 2}));  // the rest can still be taken
  Element element;
  EXPECT_FALSE(queue.Take(&element));
  EXPECT_EQ(TryPush(&queue, 0, 4), Pushed::kRefused);
}

TEST(ElementQueue, PutsAnErrorInItsPlaceAndKeepsItUntilTheNextPass) {
  ElementQueue queue(4);
  TryPush(&queue, 0, 1);
  queue.Fail(0, Error(ErrorCode::kIo, "the line is dead"));
  queue.Fail(0, Error(ErrorCode::kIo, "and so is everything else"));
  queue.Close(0);
  Element element;
  EXPECT_TRUE(queue.Take(&element));
  for (int again = 0; again < 2; ++again) {
    ExpectError(ErrorCode::kIo, "the line is dead", [&] { queue.Take(&element); });
  }
  queue.Restart();
  TryPush(&queue, 1, 2);
  queue.Close(1);
  EXPECT_EQ(TakeAll(&queue), std::vector<int64_t>{2});
}

TEST(ElementQueue, RefusesWhatIsMadeForAPassThatIsOver) {
  ElementQueue queue(4);
  TryPush(&queue, 0, 1);
  queue.Restart();
  EXPECT_EQ(queue.generation(), 1u);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(TryPush(&queue, 0, 2), Pushed::kRefused);
  EXPECT_FALSE(queue.Push(0, Of(2)));
  queue.Close(0);
  queue.Fail(0, Error(ErrorCode::kIo, "too late"));
  EXPECT_FALSE(queue.closed());
  TryPush(&queue, 1, 3);
  queue.Close(1);
  EXPECT_EQ(TakeAll(&queue), std::vector<int64_t>{3});
}

TEST(ElementQueue, WakesWhoWaitsForRoom) {
  enum class By { kTake, kClose, kRestart, kDetach };
  for (const By by : {By::kTake, By::kClose, By::kRestart, By::kDetach}) {
    ElementQueue queue(1);
    queue.Attach();
    TryPush(&queue, 0, 1);
    Gate waiting;
    std::atomic<bool> pushed{false};
    std::thread provider([&] {
      waiting.Open();
      Element element = Of(2);
      pushed = queue.PushWithin(kLong, 0, &element) == Pushed::kDone;
    });
    waiting.Wait();
    Element element;
    if (by == By::kTake) queue.Take(&element);
    if (by == By::kClose) queue.Close(0);
    if (by == By::kRestart) queue.Restart();
    if (by == By::kDetach) queue.Detach();
    provider.join();
    EXPECT_EQ(pushed, by == By::kTake);
  }
}

TEST(ElementQueue, WakesWhoWaitsForAnElement) {
  ElementQueue queue(1);
  std::vector<int64_t> taken;
  std::thread reader([&] { taken = TakeAll(&queue); });
  EXPECT_TRUE(queue.Push(0, Of(5)));
  EXPECT_TRUE(queue.Push(0, Of(6)));
  queue.Close(0);
  reader.join();
  EXPECT_EQ(taken, (std::vector<int64_t>{5, 6}));
}

TEST(ElementQueue, EndsItsWaitsWhenAStopIsRequested) {
  ElementQueue queue(1);
  std::thread signal([] { RequestStop(); });
  Element element;
  ExpectError(ErrorCode::kCancelled, "stopped", [&] { queue.Take(&element); });
  TryPush(&queue, 0, 1);
  ExpectError(ErrorCode::kCancelled, "stopped", [&] { queue.Push(0, Of(2)); });
  signal.join();
  ClearStop();
}

TEST(ElementQueue, SaysThatAProviderIsMissingInsteadOfWaiting) {
  ElementQueue queue(2);
  queue.Expect("nobody has called start()");
  Element element;
  ExpectError(ErrorCode::kInvalidArgument, "nobody has called start()",
              [&] { queue.Take(&element); });
  EXPECT_EQ(queue.Attach(), 0u);
  EXPECT_TRUE(queue.attached());
  std::thread provider([&] {
    queue.Push(0, Of(1));
    queue.Close(0);
  });
  EXPECT_EQ(TakeAll(&queue), std::vector<int64_t>{1});
  provider.join();
  queue.Restart();
  std::thread leaving([&] { queue.Detach(); });
  EXPECT_EQ(TakeAll(&queue), std::vector<int64_t>{});  // the consumer of the old pass sees its end
  leaving.join();
  queue.Restart();
  ExpectError(ErrorCode::kInvalidArgument, "nobody has called start()",
              [&] { queue.Take(&element); });
}

TEST(ElementQueue, TellsTheProviderOfTheNextPass) {
  ElementQueue queue(2);
  const uint64_t first = queue.Attach();
  EXPECT_EQ(queue.AwaitNext(kAtOnce, first), std::nullopt);
  std::thread reader([&] { queue.Restart(); });
  EXPECT_EQ(queue.AwaitNext(kLong, first), first + 1);
  reader.join();
  std::thread leaving([&] { queue.Detach(); });
  EXPECT_EQ(queue.AwaitNext(kLong, first + 1), std::nullopt);
  leaving.join();
}

TEST(ElementQueue, HoldsOneElementAtATimeWhereMemoryIsShort) {
  MemoryLimit::Set(size_t{1} << 20);
  {
    ElementQueue queue(100);
    EXPECT_EQ(TryPush(&queue, 0, 0), Pushed::kDone);
    EXPECT_EQ(TryPush(&queue, 0, 1), Pushed::kDone);
    const Ref<Buffer> much = BufferPool::At(Place()).Take(size_t{600} << 10);
    EXPECT_EQ(TryPush(&queue, 0, 2), Pushed::kFull);
    Element element;
    queue.Take(&element);
    EXPECT_EQ(TryPush(&queue, 0, 2), Pushed::kFull);
    queue.Take(&element);
    EXPECT_EQ(TryPush(&queue, 0, 2), Pushed::kDone);
  }
  MemoryLimit::Set(SIZE_MAX);
}

// Four providers, three readers, and passes that are cut short: each element of a pass arrives at
// most once, in the order of its provider, and none in another pass.
TEST(ElementQueue, KeepsPassesApartUnderLoad) {
  constexpr int64_t kEach = 200;
  constexpr int kProviders = 4;
  for (uint64_t pass = 0; pass < 20; ++pass) {
    ElementQueue queue(3);
    std::atomic<int> left{kProviders};
    std::vector<std::thread> threads;
    for (int64_t provider = 0; provider < kProviders; ++provider) {
      threads.emplace_back([&, provider] {
        for (int64_t i = 0; i < kEach; ++i) {
          if (!queue.Push(0, Of(provider * kEach + i))) break;
        }
        if (--left == 0) queue.Close(0);
      });
    }
    std::vector<std::vector<int64_t>> taken(3);
    for (auto& numbers : taken) {
      threads.emplace_back([&] {
        Element element;
        while (queue.generation() == 0 && queue.Take(&element)) {
          numbers.push_back(element.at(0).scalar<int64_t>());
        }
      });
    }
    const bool cut = pass % 2 == 1;
    if (cut) {
      WaitUntil([&] { return queue.size() > 0 || queue.closed(); });
      queue.Restart();
      queue.Close(1);
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<int> seen(kProviders * kEach);
    for (const auto& numbers : taken) {
      std::vector<int64_t> last(kProviders, -1);
      for (const int64_t number : numbers) {
        ++seen[static_cast<size_t>(number)];
        EXPECT_LT(last[static_cast<size_t>(number / kEach)], number);
        last[static_cast<size_t>(number / kEach)] = number;
      }
    }
    for (const int times : seen) EXPECT_LE(times, 1);
    if (!cut) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), kProviders * kEach);
    }
  }
}

TEST(ElementQueue, DropsTheFirstElementsOfAPassThatGoesOn) {
  ElementQueue queue(1);
  TryPush(&queue, 0, 0);
  queue.Restart(3);
  EXPECT_EQ(TryPush(&queue, 0, 1), Pushed::kRefused);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(TryPush(&queue, 1, i), Pushed::kDone);
  EXPECT_EQ(TryPush(&queue, 1, 4), Pushed::kFull);
  queue.Close(1);
  EXPECT_EQ(TakeAll(&queue), std::vector<int64_t>{3});
}

TEST(ElementQueue, LetsItsProducerBeginBehindThem) {
  ElementQueue queue(5);
  queue.Restart(3);
  EXPECT_EQ(queue.TakeSkip(0), 0u);
  EXPECT_EQ(queue.TakeSkip(1), 3u);
  EXPECT_EQ(queue.TakeSkip(1), 0u);
  TryPush(&queue, 1, 3);
  queue.Close(1);
  EXPECT_EQ(TakeAll(&queue), std::vector<int64_t>{3});
  queue.Restart();
  EXPECT_EQ(queue.TakeSkip(2), 0u);
}

TEST(ElementQueue, TellsTheNumberOfThePassAndKeepsANoteOverPasses) {
  ElementQueue queue(5);
  EXPECT_EQ(queue.pass(), 0u);
  EXPECT_EQ(queue.note(), "");
  queue.Note("stood here");
  queue.Restart(3, 7);
  EXPECT_EQ(queue.pass(), 7u);
  EXPECT_EQ(queue.note(), "stood here");
}

TEST(ElementQueue, SaysThatAPassIsShorterThanItWas) {
  ElementQueue queue(5);
  queue.Restart(3);
  TryPush(&queue, 1, 0);
  queue.Close(1);
  Element element;
  ExpectError(ErrorCode::kInvalidArgument, "ended the pass 2 elements before the position",
              [&] { queue.Take(&element); });
}

}  // namespace
}  // namespace millhopper
