// SPDX-License-Identifier: Apache-2.0
// What freezes the order algorithm. The numbers were computed by other code; who changes one of
// them raises kOrderVersion and writes the change down.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/random.h"
#include "readers/multi_file_reader.h"
#include "readers/random_data_reader.h"
#include "readers/shuffle_reader.h"
#include "tests/sources.h"
#include "tests/testing.h"

namespace millrace {
namespace {

template <typename T>
struct Golden {
  uint64_t seed;
  std::vector<T> pass[2];
};

TEST(Order, HasThisVersion) { EXPECT_EQ(kOrderVersion, 1); }

TEST(Order, OfAShuffleWindow) {
  const Golden<int64_t> golden[] = {
      {0,
       {{4, 3, 5, 9, 7, 1, 2, 11, 10, 16, 14, 6, 8, 20, 15, 22, 19, 23, 18, 0, 21, 17, 12, 13},
        {1, 6, 3, 9, 4, 8, 10, 0, 12, 2, 5, 13, 18, 20, 7, 16, 19, 21, 23, 17, 22, 15, 11, 14}}},
      {1,
       {{3, 0, 1, 8, 2, 9, 12, 7, 14, 15, 5, 13, 16, 10, 19, 22, 4, 17, 20, 21, 11, 23, 18, 6},
        {4, 8, 6, 2, 10, 0, 9, 3, 13, 15, 7, 18, 19, 11, 20, 16, 12, 14, 1, 21, 17, 23, 22, 5}}},
      {20260101,
       {{6, 8, 3, 4, 0, 7, 9, 11, 13, 15, 17, 2, 5, 10, 14, 21, 22, 19, 16, 1, 12, 23, 18, 20},
        {0, 5, 4, 2, 1, 11, 12, 3, 8, 14, 16, 15, 17, 13, 6, 9, 18, 22, 21, 20, 19, 23, 7, 10}}},
  };
  for (const Golden<int64_t>& wanted : golden) {
    SourceSpec source;
    source.records = 24;
    ShuffleReader reader(MakePlannedSource(source), 8, RandomKey(wanted.seed, 7, "shuffled"));
    std::vector<LoDTensor> element;
    for (const std::vector<int64_t>& pass : wanted.pass) {
      std::vector<int64_t> order;
      while (reader.HasNext()) {
        reader.ReadNext(&element);
        order.push_back(element[0].scalar<int64_t>());
      }
      EXPECT_EQ(order, pass) << "seed " << wanted.seed;
      reader.ReInit();
    }
  }
}

TEST(Order, OfShuffledFiles) {
  const Golden<uint32_t> golden[] = {
      {0, {{7, 3, 4, 1, 5, 2, 0, 6}, {7, 2, 3, 0, 4, 5, 1, 6}}},
      {1, {{7, 5, 6, 2, 4, 0, 3, 1}, {7, 6, 1, 2, 4, 3, 0, 5}}},
      {20260101, {{0, 6, 4, 2, 3, 7, 1, 5}, {3, 6, 1, 0, 7, 4, 2, 5}}},
  };
  for (const Golden<uint32_t>& wanted : golden) {
    const RandomKey key(wanted.seed, 7, "files");
    EXPECT_EQ(ShuffledFiles(8, key, 0), wanted.pass[0]) << "seed " << wanted.seed;
    EXPECT_EQ(ShuffledFiles(8, key, 1), wanted.pass[1]) << "seed " << wanted.seed;
  }
}

TEST(Order, OfRandomData) {
  // In units of 2^-24.
  const Golden<float> golden[] = {
      {0, {{6337218, 1172785, 6602727}, {5326556, 9010602, 2310674}}},
      {1, {{4082814, 9479839, 769466}, {10408645, 7073607, 12794904}}},
      {20260101, {{4743088, 10894550, 8684502}, {8260781, 2717610, 2903257}}},
  };
  SlotSpec slot;
  slot.dims = {1};
  for (const Golden<float>& wanted : golden) {
    RandomDataReader reader({slot}, 0, 1, 3, RandomKey(wanted.seed, 7, "random"));
    std::vector<LoDTensor> element;
    for (const std::vector<float>& pass : wanted.pass) {
      for (const float value : pass) {
        reader.ReadNext(&element);
        EXPECT_EQ(element[0].scalar<float>(), value * 0x1p-24f) << "seed " << wanted.seed;
      }
      reader.ReInit();
    }
  }
}

}  // namespace
}  // namespace millrace
