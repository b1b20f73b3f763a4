// SPDX-License-Identifier: Apache-2.0
// The operator create_partners_reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "readers/gather/partners_reader.h"
#include "tests/fakes/documents.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

std::vector<std::vector<int64_t>> Documents(int64_t n) {
  std::vector<std::vector<int64_t>> documents;
  for (int64_t i = 0; i < n; ++i) documents.push_back({i});
  return documents;
}

// Elements with one partner each, as the key of the reader draws them.
Texts Expected(int64_t n, int64_t window, uint64_t seed) {
  const RandomKey key(0, seed, "out");
  Texts texts;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = i / window * window;
    const int64_t others = std::min(window, n - first) - 1;
    RecordId id;
    id.sample = static_cast<uint64_t>(i);
    int64_t partner = i;
    if (others > 0) {
      partner = first + static_cast<int64_t>(key.Of(id).Below(static_cast<uint64_t>(others), 0, 0));
      if (partner >= i) ++partner;
    }
    texts.push_back(StrCat("[1] ", i, " from 0 1; [1] ", partner, " from 0 1"));
  }
  return texts;
}

TEST(CreatePartnersReaderOp, DrawsAnotherElementOfTheWindow) {
  EXPECT_EQ(ShownOf("create_partners_reader",
                    {{"count", "i: 1"}, {"window", "i: 4"}, {"seed", "i: 5"}}, Documents(9)),
            Expected(9, 4, 5));
}

TEST(CreatePartnersReaderOp, RefusesWindowsAndSlotsThatThereCannotBe) {
  const auto refuse = [](const PartnersOptions& options, const std::string& words) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] {
      PartnersReader(MakeDocuments(Documents(3)), options, RandomKey(0, 0, "out"));
    });
  };
  PartnersOptions options;
  options.count = 0;
  refuse(options, "it must be at least 1");
  options.count = 5000;
  refuse(options, "5000 partners of 1 slots each are more than 4096 slots");
  options.count = 1;
  options.window = 1;
  refuse(options, "it must be at least 2");
  options.window = 2;
  options.slots = {1};
  refuse(options, "slot 1 of a reader with 1 slots");
}

}  // namespace
}  // namespace millhopper
