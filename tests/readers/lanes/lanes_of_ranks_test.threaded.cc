// SPDX-License-Identifier: Apache-2.0
// Chains whose lanes ranks share, as programs make them: what all ranks together have at a step
// does not depend on how many they are, also when that changes in the middle of a pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
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

constexpr int64_t kLanes = 12;

Made Opened(const std::string& name, const std::string& path, int64_t stripe = 0) {
  return OpenedIn(kLanes, name, path, stripe);
}

Made Stretch(const std::string& type, int64_t count) {
  return {
      StrCat(type, "_", count), StrCat("create_", type, "_reader"), {{"count", Number(count)}}, {}};
}

// The same steps on any of these numbers of ranks. Returns all that is read.
Numbers ExpectSameSteps(const Chain& chain,
                        const std::vector<int64_t>& numbers = {2, 3, 4, 6, 12}) {
  const std::vector<Numbers> one = Ranks(chain, 1).Steps();
  for (const int64_t ranks : numbers) EXPECT_EQ(Ranks(chain, ranks).Steps(), one) << ranks;
  return All(one);
}

// The same elements, but not at the same steps: each rank reads one at a time.
Numbers ExpectSameElements(const Chain& chain) {
  const Numbers one = All(Ranks(chain, 1).Steps());
  for (const int64_t ranks : {2, 3, 4}) EXPECT_EQ(All(Ranks(chain, ranks).Steps()), one) << ranks;
  return one;
}

// Without lanes that ranks share: what the chain is of one stream.
Numbers Alone(const Chain& chain) { return All(Ranks(chain, 1).Steps()); }

TEST(LanesOfRanks, TakeAndLeaveOutTheFirstOfAllLanes) {
  const std::string path = ChunkedFile(0, 12 * 12);  // four chunks a lane
  for (const int64_t stripe : {0, 1, 5}) {
    const Made opened = Opened("files", path, stripe);
    for (const int64_t count : {0, 7, 24, 25, 119, 144}) {
      if (stripe == 5 && count > 120) continue;  // of 12 records the third stripe has two
      const Numbers taken = ExpectSameElements({opened, Shared(), Stretch("take", count)});
      EXPECT_EQ(taken, Alone({opened, Stretch("take", count)})) << stripe << " " << count;
      const Numbers left = ExpectSameElements({opened, Shared(), Stretch("skip", count)});
      EXPECT_EQ(left, Alone({opened, Stretch("skip", count)})) << stripe << " " << count;
    }
  }
}

TEST(LanesOfRanks, BatchAndShuffleWhatTheyHaveTaken) {
  const Made opened = Opened("files", ChunkedFile(0, 12 * 12));
  for (const int64_t count : {24, 72, 120}) {
    for (const char* type : {"take", "skip"}) {
      const Chain chain = {opened, Shared(), Stretch(type, count), Shuffled(), Batched(24)};
      EXPECT_EQ(ExpectSameSteps(chain), Alone({opened, Stretch(type, count)}));
    }
    ExpectSameSteps({opened, Shared(), Stretch("skip", 12), Stretch("take", count), Batched(24)});
  }
}

TEST(LanesOfRanks, ThatAreEvenCanTakeMoreThanThereIs) {
  const Made opened = Opened("files", CountedFile(0, 101), 3);
  for (const char* even : {"pad", "drop"}) {
    for (const int64_t count : {0, 50, 95, 97, 108, 109, 1000}) {
      const Numbers all = ExpectSameSteps({opened, Shared(even), Batched(36)}, {});
      const Numbers taken =
          ExpectSameSteps({opened, Shared(even), Stretch("take", count), Batched(36)});
      // Some lanes have a stripe more left than others, unless whole rounds are left out.
      const Chain skips = {opened, Shared(even), Stretch("skip", count), Batched(36)};
      const Numbers left = count % 36 == 0 ? ExpectSameSteps(skips) : ExpectSameElements(skips);
      EXPECT_EQ(taken.size(), std::min<size_t>(static_cast<size_t>(count), all.size()));
      EXPECT_EQ(All({taken, left}), all);
    }
  }
}

TEST(LanesOfRanks, SayThatOneEndsBeforeItsPart) {
  const std::string path = ChunkedFile(0, 291);  // lane 0 has 27 records, the others 24
  for (const char* type : {"take", "skip"}) {
    ExpectError(
        ErrorCode::kInvalidArgument,
        "lane 1 of 12 has only 24 of the 25 elements that are its part of the first 300 of all "
        "lanes",
        [&] {
          Ranks(Chain{Opened("files", path), Shared(), Stretch(type, 300)}, 2).Steps();
        });
  }
}

Chain Zip(Made first, Made second, std::vector<Made> above) {
  Chain chain = {std::move(first), std::move(second)};
  chain.push_back({"zipped", "create_zip_reader", {}, {chain[0].name, chain[1].name}});
  chain.insert(chain.end(), above.begin(), above.end());
  return chain;
}

TEST(LanesOfRanks, ZipLaneByLane) {
  const Made a = Opened("a", CountedFile(0, 100)), b = Opened("b", CountedFile(1000, 100));
  for (const char* even : {"none", "drop", "pad"}) {
    ExpectSameSteps(Zip(a, b, {Shared(even), Shuffled(), Batched(24)}));
  }
  Ranks pairs(Zip(a, b, {Shared()}), 3);
  for (Numbers step = pairs.Step(); !step.empty(); step = pairs.Step()) {
    for (size_t i = 0; i < step.size() / 2; ++i) {
      EXPECT_EQ(step[i] + 1000, step[i + step.size() / 2]);
    }
  }
  const Made c = Opened("c", CountedFile(1000, 99));
  ExpectError(ErrorCode::kDataLoss, "the readers are not aligned",
              [&] { Ranks(Zip(a, c, {Shared()}), 2).Steps(); });
}

Chain Mix(Made first, Made second, const std::string& end, std::vector<Made> above) {
  Chain chain = {std::move(first), std::move(second)};
  chain.push_back(
      {"mixed",
       "create_mix_reader",
       {{"weights", "float64s: 2 float64s: 1"}, {"when_exhausted", StrCat("s: \"", end, "\"")}},
       {chain[0].name, chain[1].name}});
  chain.insert(chain.end(), above.begin(), above.end());
  return chain;
}

// Lanes have 40 and 20 records of the files, so that all end together.
TEST(LanesOfRanks, MixLaneByLane) {
  const Made a = Opened("a", CountedFile(0, 480)), b = Opened("b", CountedFile(1000, 240));
  for (const char* end : {"stop", "continue"}) {
    const Numbers all = ExpectSameSteps(Mix(a, b, end, {Shared(), Shuffled(), Batched(24)}));
    EXPECT_EQ(all, All({Alone({a}), Alone({b})}));
  }
  ExpectError(ErrorCode::kInvalidArgument, "needs the stream of all lanes", [&] {
    const Chain chain = {a, Shared(), b};
    Chain mixed = chain;
    mixed.push_back({"mixed", "create_mix_reader", {}, {"shared", "b"}});
    Ranks(mixed, 2).Steps();
  });
}

// Both on lanes that are shared already.
Chain Concat(const Made& first, const Made& second, const std::string& even,
             std::vector<Made> above) {
  Chain chain = {first, Shared(even), second, Shared(even)};
  chain[1].name = "shared_first";
  chain.push_back({"joined", "create_concat_reader", {}, {chain[1].name, chain[3].name}});
  chain.insert(chain.end(), above.begin(), above.end());
  return chain;
}

TEST(LanesOfRanks, ComeOneAfterAnotherLaneByLane) {
  const Made a = Opened("a", CountedFile(0, 480)), b = Opened("b", CountedFile(1000, 245));
  for (const char* even : {"none", "pad", "drop"}) {
    const Numbers all = ExpectSameSteps(Concat(a, b, even, {Shuffled(), Batched(24)}));
    if (even == std::string("none")) {
      EXPECT_EQ(all, All({Alone({a}), Alone({b})}));
    }
    EXPECT_EQ(ExpectSameElements(Concat(a, b, even, {})), all);
  }
  // The first ends on no lane before all of it was read there.
  const std::vector<Numbers> steps = Ranks(Concat(a, b, "none", {Batched(24)}), 2).Steps();
  EXPECT_EQ(All({steps.begin(), steps.begin() + 20}), Alone({a}));
  ExpectError(ErrorCode::kInvalidArgument, "needs the stream of all lanes", [&] {
    Chain other = {a, Shared(), b};
    other.push_back({"joined", "create_concat_reader", {}, {"shared", "b"}});
    Ranks(other, 2).Steps();
  });
}

// Two passes of a run that is stopped again and again, and goes on with another number of ranks,
// against one that nothing disturbs.
void ExpectSameWhateverHappens(const Chain& chain, const std::vector<int64_t>& numbers,
                               uint32_t seed) {
  std::mt19937 random(seed);
  const auto any_number = [&] { return numbers[random() % numbers.size()]; };
  Ranks undisturbed(chain, 1);
  auto run = std::make_unique<Ranks>(chain, any_number());
  run->ExpectSave();
  for (int pass = 0; pass < 2; ++pass) {
    if (pass > 0) {
      undisturbed.ReInit();
      run->ReInit();
    }
    for (size_t step = 0;; ++step) {
      if (random() % 2 == 0) {
        const Position position = run->Save();
        run = std::make_unique<Ranks>(chain, any_number());
        run->Restore(position);
      }
      const Numbers expected = undisturbed.Step();
      ASSERT_EQ(run->Step(), expected) << "pass " << pass << ", step " << step << ", seed " << seed;
      if (expected.empty()) break;
    }
  }
}

TEST(LanesOfRanks, GoOnOnAnotherNumberOfRanks) {
  const Made chunked = Opened("files", ChunkedFile(0, 12 * 12));
  const Made a = Opened("a", CountedFile(0, 480)), b = Opened("b", CountedFile(1000, 240));
  const Made c = Opened("c", CountedFile(1000, 480));
  const std::vector<int64_t> all = {1, 2, 3, 4, 6, 12};
  for (uint32_t seed = 0; seed < 5; ++seed) {
    const PoolSize pool(seed % 3);
    for (const char* type : {"take", "skip"}) {
      ExpectSameWhateverHappens({chunked, Shared(), Stretch(type, 60), Shuffled(), Batched(24)},
                                all, seed);
    }
    ExpectSameWhateverHappens(Zip(a, c, {Shared(), Shuffled(), Batched(24)}), all, seed);
    ExpectSameWhateverHappens(Mix(a, b, "stop", {Shared(), Shuffled(), Batched(24)}), all, seed);
    ExpectSameWhateverHappens(Zip(a, c, {Shared("pad"), Batched(24)}), all, seed);
    ExpectSameWhateverHappens(Concat(a, b, "none", {Shuffled(), Batched(24)}), all, seed);
  }
}

// Half of the lanes have a stripe in a batch, the others in the next one.
TEST(LanesOfRanks, GoOnInTheMiddleOfARound) {
  const Made opened = Opened("files", ChunkedFile(0, 12 * 12), 2);
  const Made ahead = {"ahead", "create_double_buffer_reader", {{"depth", "i: 3"}}, {}};
  for (uint32_t seed = 0; seed < 5; ++seed) {
    const PoolSize pool(seed % 3);
    ExpectSameWhateverHappens({opened, Shared(), Batched(12)}, {1, 2, 3, 6}, seed);
    ExpectSameWhateverHappens({opened, Shared(), Batched(12), ahead}, {1, 2, 3, 6}, seed);
    ExpectSameWhateverHappens({opened, Shared(), Shuffled(), Batched(36), ahead}, {1, 2, 3, 6},
                              seed);
  }
}

}  // namespace
}  // namespace millhopper
