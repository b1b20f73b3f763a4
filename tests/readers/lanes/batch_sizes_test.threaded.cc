// SPDX-License-Identifier: Apache-2.0
// Chains that are resumed with batches of another size: the order of the elements stays that of the
// run that nothing disturbs, only where it is cut differs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/thread_pool.h"
#include "framework/reader/position.h"
#include "tests/files/number_files.h"
#include "tests/readers/lanes/ranks.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using MakeChain = std::function<Chain(int64_t batch_size)>;

Made Ahead(int64_t depth = 3) {
  return {"ahead", "create_double_buffer_reader", {{"depth", Number(depth)}}, {}};
}

Made Dropping(Made batched) {
  batched.attributes.emplace_back("discard_leftover", "b: true");
  return batched;
}

Made Padded(int64_t size) {
  return {"batched", "create_padded_batch_reader", {{"batch_size", Number(size)}}, {}};
}

Made Passes(int64_t count) {
  return {"passes", "create_multi_pass_reader", {{"pass_num", Number(count)}}, {}};
}

// The batches of each pass of a run that nothing disturbs.
std::vector<std::vector<Numbers>> Undisturbed(const Chain& chain, size_t passes) {
  std::vector<std::vector<Numbers>> all(passes);
  Ranks run(chain, 1);
  for (size_t pass = 0; pass < passes; ++pass) {
    if (pass > 0) run.ReInit();
    for (;;) {
      Numbers batch = run.StepOfEach().front();
      if (batch.empty()) break;
      all[pass].push_back(std::move(batch));
    }
  }
  return all;
}

Numbers InOrder(const std::vector<Numbers>& batches) {
  Numbers all;
  for (const Numbers& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

// The `size` elements that come after `at` of them, or as many as there are.
Numbers Next(const Numbers& order, size_t at, size_t size) {
  const auto first = order.begin() + static_cast<std::ptrdiff_t>(std::min(at, order.size()));
  return {first, first + static_cast<std::ptrdiff_t>(
                             std::min(size, static_cast<size_t>(order.end() - first)))};
}

// How a pass is cut into batches.
struct Cutting {
  size_t parts = 1;       // equal ones that have a last batch each, such as passes of a multi_pass
  bool leftovers = true;  // or a last batch that is not full is left out
};

// Three passes of one process that is stopped again and again, and goes on with batches of another
// size. Each has the order that `whole`, the same chain without anything left out, has with the
// size with which the pass began.
void ExpectOneOrder(const MakeChain& make, const MakeChain& whole,
                    const std::vector<int64_t>& sizes, uint32_t seed, const Cutting& cutting = {}) {
  std::mt19937 random(seed);
  const auto any_size = [&] { return sizes[random() % sizes.size()]; };
  const uint32_t often = 1 + random() % 4;
  int64_t size = any_size();
  auto run = std::make_unique<Ranks>(make(size), 1);
  run->ExpectSave();
  constexpr size_t kPasses = 3;
  for (size_t pass = 0; pass < kPasses; ++pass) {
    if (pass > 0) run->ReInit();
    const Numbers order = InOrder(Undisturbed(whole(size), pass + 1)[pass]);
    ASSERT_EQ(order.size() % cutting.parts, 0u);
    const size_t part = order.size() / cutting.parts;
    for (size_t at = 0;;) {
      if (random() % often == 0) {
        if (random() % 2 == 0) {
          run->LookAhead();
          // A pass that the consumer was told to be over stays so.
          const size_t left = order.size() - at;
          if (!cutting.leftovers && left < static_cast<size_t>(size)) at = order.size();
        }
        const std::vector<Position> position = run->SaveEach();
        size = any_size();
        run = std::make_unique<Ranks>(make(size), 1);
        run->RestoreEach(position);
      }
      const auto full = static_cast<size_t>(size);
      size_t next = std::min(full, part - at % part);
      if (next < full && !cutting.leftovers) {
        at += next;
        next = std::min(full, part);
      }
      if (at >= order.size()) next = 0;
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(std::min(at, order.size()));
      ASSERT_EQ(run->StepOfEach().front(),
                Numbers(first, first + static_cast<std::ptrdiff_t>(next)))
          << "pass " << pass << ", element " << at << ", size " << size << ", seed " << seed;
      if (next == 0) break;
      at += next;
    }
  }
}

const std::vector<int64_t>& Sizes() {
  static const auto* const kSizes = new std::vector<int64_t>{1, 3, 5, 16, 24, 32, 48, 64, 100};
  return *kSizes;
}

constexpr int64_t kLanes[] = {1, 3, 16};
constexpr int64_t kRecords = 12 * 16 + 5;

// Histories of chains on files with any number of lanes.
void ExpectOneOrderOf(const std::function<Chain(const Made& files, int64_t size)>& make,
                      const std::function<Chain(const Made& files, int64_t size)>& whole,
                      const Cutting& cutting = {}) {
  const std::string path = ChunkedFile(0, kRecords);
  for (const int64_t lanes : kLanes) {
    const Made files = OpenedIn(lanes, "files", path);
    for (uint32_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(StrCat(lanes, " lanes"));
      const PoolSize pool(seed % 3);
      ExpectOneOrder([&](int64_t size) { return make(files, size); },
                     [&](int64_t size) { return whole(files, size); }, Sizes(), seed, cutting);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

void ExpectOneOrderOf(const std::function<Chain(const Made& files, int64_t size)>& make) {
  ExpectOneOrderOf(make, make);
}

TEST(BatchSizes, DifferAtAResume) {
  ExpectOneOrderOf([](const Made& files, int64_t size) { return Chain{files, Batched(size)}; });
  ExpectOneOrderOf([](const Made& files, int64_t size) {
    return Chain{files, Shuffled(48), Batched(size), Ahead()};
  });
}

TEST(BatchSizes, DifferForPaddedBatches) {
  ExpectOneOrderOf([](const Made& files, int64_t size) { return Chain{files, Padded(size)}; });
  ExpectOneOrderOf([](const Made& files, int64_t size) {
    return Chain{files, Shuffled(48), Padded(size), Ahead()};
  });
}

// Also what was left out of the last batch of the old size, where readers had looked so far ahead.
TEST(BatchSizes, DifferWhereALastBatchIsLeftOut) {
  for (const auto& batched : {Batched, Padded}) {
    const auto whole = [&](const Made& files, int64_t size) {
      return Chain{files, Shuffled(48), batched(size)};
    };
    const auto dropping = [&](const Made& files, int64_t size) {
      return Chain{files, Shuffled(48), Dropping(batched(size)), Ahead(7)};
    };
    ExpectOneOrderOf(dropping, whole, {1, false});
  }
}

TEST(BatchSizes, DifferBelowPassesThatAreOne) {
  for (const auto& batched : {Batched, Padded}) {
    ExpectOneOrderOf(
        [&](const Made& files, int64_t size) {
          return Chain{files, Shuffled(48), batched(size), Passes(3), Ahead(5)};
        },
        [&](const Made& files, int64_t size) {
          return Chain{files, Shuffled(48), batched(size), Passes(3)};
        },
        {3, true});
  }
}

// ---- Ranks. ----

constexpr int64_t kSharedLanes = 12;

Chain OfRanks(const std::string& path, int64_t size) {
  return {OpenedIn(kSharedLanes, "files", path), Shuffled(), Shared(), Batched(size), Ahead()};
}

std::string SharedFile() { return CountedFile(0, 40 * kSharedLanes); }

// Two passes of processes that are stopped again and again, and go on as another number of them and
// with batches of another size: at each step they have what comes next in the order that one
// process has.
void ExpectSameSteps(const std::string& path, uint32_t seed) {
  std::mt19937 random(seed);
  const std::vector<int64_t> sizes = {24, 48, 96}, numbers = {1, 2, 3, 4, 6, 12};
  int64_t size = sizes[random() % sizes.size()], ranks = numbers[random() % numbers.size()];
  auto run = std::make_unique<Ranks>(OfRanks(path, size), ranks);
  run->ExpectSave();
  for (size_t pass = 0; pass < 2; ++pass) {
    if (pass > 0) run->ReInit();
    const int64_t stripe = size / kSharedLanes;
    const Numbers order = InOrder(Undisturbed(OfRanks(path, size), pass + 1)[pass]);
    for (size_t at = 0;;) {
      if (random() % 2 == 0) {
        if (random() % 2 == 0) run->LookAhead();
        const std::vector<Position> each = run->SaveEach();
        const Position all = Position::OfAllRanks(each);
        const int64_t before = ranks;
        do {
          size = sizes[random() % sizes.size()];
          if (random() % 2 == 0) ranks = numbers[random() % numbers.size()];
        } while (size % (ranks * stripe) != 0);
        run = std::make_unique<Ranks>(OfRanks(path, size), ranks);
        if (ranks == before && random() % 2 == 0) {
          run->RestoreEach(each);
        } else {
          run->Restore(all);
        }
      }
      const Numbers next = Next(order, at, static_cast<size_t>(size));
      ASSERT_EQ(run->Step(), All({next})) << "pass " << pass << ", element " << at << ", size "
                                          << size << ", " << ranks << " ranks, seed " << seed;
      if (next.empty()) break;
      at += next.size();
    }
  }
}

TEST(BatchSizes, DifferOnAnyNumberOfRanks) {
  const std::string path = SharedFile();
  for (uint32_t seed = 0; seed < 10 && !HasFailure(); ++seed) {
    const PoolSize pool(seed % 3);
    ExpectSameSteps(path, seed);
  }
}

TEST(BatchSizes, AreWholeStripesOfEachRank) {
  const std::string path = SharedFile();
  Ranks run(OfRanks(path, 96), 2);
  run.ExpectSave();
  run.Step();
  const std::vector<Position> each = run.SaveEach();
  ExpectError(ErrorCode::kInvalidArgument,
              "batches of 24 cannot be shared by 2 ranks in stripes of 8, which the position has; "
              "to the end of its pass give a multiple of 16",
              [&] { Ranks(OfRanks(path, 24), 2).RestoreEach(each); });
  EXPECT_NO_THROW(Ranks(OfRanks(path, 48), 2).RestoreEach(each));
}

// The stripe that a program states is no matter of its batches.
TEST(BatchSizes, LeaveAStatedStripe) {
  const std::string path = SharedFile();
  const auto chain = [&](int64_t size, int64_t stripe) {
    return Chain{OpenedIn(kSharedLanes, "files", path, stripe), Batched(size), Ahead()};
  };
  Ranks run(chain(48, 5), 1);
  run.ExpectSave();
  run.Step();
  const std::vector<Position> position = run.SaveEach();
  Ranks again(chain(50, 5), 1);
  again.RestoreEach(position);
  EXPECT_EQ(again.StepOfEach()[0], Next(InOrder(Undisturbed(chain(48, 5), 1)[0]), 48, 50));
  ExpectError(ErrorCode::kInvalidArgument, "stripe was 5, now it is 4",
              [&] { Ranks(chain(48, 4), 1).RestoreEach(position); });
}

}  // namespace
}  // namespace millhopper
