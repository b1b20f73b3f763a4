// SPDX-License-Identifier: Apache-2.0
// Freezes the order algorithm: short streams as numbers that other code has computed, long ones as
// digests. A change of any of them must raise kOrderVersion and be written down.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/permutation.h"
#include "framework/base/random.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/sources/multi_file_reader.h"
#include "readers/sources/open_files.h"
#include "readers/sources/random_data_reader.h"
#include "tests/fakes/sources.h"
#include "tests/files/record_files.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

template <typename T>
struct Golden {
  uint64_t seed;
  std::vector<T> pass[2];
};

TEST(Order, HasThisVersion) { EXPECT_EQ(kOrderVersion, 2); }

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

// Records in a random order: of few, which are shuffled as a list, and of many.
TEST(Order, OfShuffledRecords) {
  const Golden<uint64_t> golden[] = {
      {0,
       {{7, 3, 4, 1, 5, 2, 0, 6, 972413, 271088, 442625, 271842},
        {7, 2, 3, 0, 4, 5, 1, 6, 512486, 616550, 78292, 890132}}},
      {1,
       {{7, 5, 6, 2, 4, 0, 3, 1, 335529, 692796, 966749, 930663},
        {7, 6, 1, 2, 4, 3, 0, 5, 849409, 403666, 898218, 341973}}},
      {20260101,
       {{0, 6, 4, 2, 3, 7, 1, 5, 458240, 327291, 672346, 301474},
        {3, 6, 1, 0, 7, 4, 2, 5, 11680, 433268, 552653, 573758}}},
  };
  for (const Golden<uint64_t>& wanted : golden) {
    const RandomKey key(wanted.seed, 7, "files");
    for (uint64_t pass = 0; pass < 2; ++pass) {
      const Permutation few(8, key, pass), many(1000000, key, pass);
      std::vector<uint64_t> order;
      for (uint64_t i = 0; i < 8; ++i) order.push_back(few[i]);
      for (uint64_t i = 0; i < 4; ++i) order.push_back(many[i]);
      EXPECT_EQ(order, wanted.pass[pass]) << "seed " << wanted.seed;
    }
  }
}

// Chunks of one record each, which come in the order of so many records.
TEST(Order, OfShuffledChunks) {
  std::string file;
  for (int64_t i = 0; i < 8; ++i) {
    file += ChunkOf({RecordOf({MakeTensor<int64_t>({1, 1}, {i})})});
  }
  const TempFile numbers("numbers.recordio", file);
  const Golden<int64_t> golden[] = {
      {0, {{7, 3, 4, 1, 5, 2, 0, 6}, {7, 2, 3, 0, 4, 5, 1, 6}}},
      {1, {{7, 5, 6, 2, 4, 0, 3, 1}, {7, 6, 1, 2, 4, 3, 0, 5}}},
      {20260101, {{0, 6, 4, 2, 3, 7, 1, 5}, {3, 6, 1, 0, 7, 4, 2, 5}}},
  };
  for (const Golden<int64_t>& wanted : golden) {
    FormatArguments arguments;
    arguments.declared = SlotsOf(SourceSpec());
    MultiFileOptions options;
    options.shuffle_chunks = true;
    options.key = RandomKey(wanted.seed, 7, "files");
    const auto reader =
        OpenFiles({"recordio:" + numbers.path()}, {}, std::move(arguments), options);
    std::vector<LoDTensor> element;
    for (const std::vector<int64_t>& pass : wanted.pass) {
      std::vector<int64_t> order;
      while (reader->HasNext()) {
        reader->ReadNext(&element);
        order.push_back(element[0].scalar<int64_t>());
      }
      EXPECT_EQ(order, pass) << "seed " << wanted.seed;
      reader->ReInit();
    }
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

// ---- Long streams, by their digests. ----

constexpr uint64_t kSeeds[] = {0, 1, 20260101};

// The digest of three passes.
std::string DigestOfPasses(ReaderBase* reader) {
  std::vector<ElementValue> stream;
  for (int pass = 0; pass < 3; ++pass) {
    for (ElementValue& element : ReadAll(reader)) stream.push_back(std::move(element));
    reader->ReInit();
  }
  return DigestOf(stream);
}

std::string OfShuffle(uint64_t seed) {
  SourceSpec source;
  source.records = 2000;
  ShuffleReader reader(MakePlannedSource(source), 300, RandomKey(seed, 7, "shuffled"));
  return DigestOfPasses(&reader);
}

std::string OfShuffledFiles(uint64_t seed) {
  std::vector<ElementValue> stream;
  for (uint64_t pass = 0; pass < 3; ++pass) {
    std::vector<int64_t> order;
    for (const uint32_t file : ShuffledFiles(2000, RandomKey(seed, 7, "files"), pass)) {
      order.push_back(file);
    }
    stream.push_back(ValueOf({MakeTensor<int64_t>({2000}, order)}));
  }
  return DigestOf(stream);
}

std::string OfRandomData(uint64_t seed) {
  SlotSpec slot;
  slot.dims = {2, 3};
  RandomDataReader reader({slot, slot}, -1, 3, 200, RandomKey(seed, 7, "random"));
  return DigestOfPasses(&reader);
}

LoDTensor Initialised(const std::string& op, uint64_t seed) {
  return RunOp(
             op, {}, {"Out"},
             {{"shape", std::vector<int32_t>{30, 40}}, {"dtype", int32_t{6}}, {"seed", int32_t{7}}},
             {{}, seed})
      .at("Out");
}

std::string OfUniformRandom(uint64_t seed) {
  return DigestOf(ValueOf({Initialised("uniform_random", seed)}));
}

// The last bit of logarithms and cosines depends on the system, so six digits are compared.
std::string OfGaussianRandom(uint64_t seed) {
  std::vector<int64_t> rounded;
  for (const double value : ValuesOf<double>(Initialised("gaussian_random", seed))) {
    rounded.push_back(std::llround(value * 1e6));
  }
  return DigestOf(ValueOf({MakeTensor<int64_t>({1200}, rounded)}));
}

TEST(Order, HasTheseDigests) {
  const struct {
    const char* name;
    std::string (*digest)(uint64_t seed);
    const char* golden[3];  // for kSeeds
  } streams[] = {
      {"shuffle",
       OfShuffle,
       {"b20269f65250a6ad8ef2b744f37ac0b9c3dc464942b922f64ae2a197f443055f",
        "5c15970d31e6a4d80c11f8e280f76c6ce6af7c431ea908f342954391f750146e",
        "39a1020276ee9fe038589e1544e92f1810b3b474823ff918c386b07b263d3d40"}},
      {"shuffle_files",
       OfShuffledFiles,
       {"a29df04b601578a0987b493dc2864ee3ebf71993e09da861080dccd6749f7749",
        "894ab7a3e81aeafe0d5f922f7aa3486597ad24889d1f3e89a19f13542f583148",
        "c6b3f0b3c9d898362131398a11e5293eee0e62da0084576acfc02f9bd8749548"}},
      {"random data",
       OfRandomData,
       {"ff6be69bd3a296dd821b50e81e28458a73f2856b71c5c4292caa2acc18e3311c",
        "8e24b6fe26df7a0b05104111e1d08b7be69e46bf57d00b73bb3884f607da805c",
        "1110507dbde4ad2a8333cb9653d6ab903a97c8bfda1a0b4f24c21a9c0494a9b9"}},
      {"uniform_random",
       OfUniformRandom,
       {"a8569a581e9be13409cf45af0102a85cb417c0de79fc7e8df2487298f3596951",
        "e3fb9eb9bd3ec0df0c97157d636b6c8940efae66cf4dbb2e016f8fe97c7a7eca",
        "848ea776a379c87c2063480664d12b4d08d78e613148a6a6f569f09108193731"}},
      {"gaussian_random",
       OfGaussianRandom,
       {"6fb48eb1850526fd26750ea7d351119cbaa49cc79eeeeae1cd5ed83541b3b301",
        "ab719e13cc7b91a4496fa893b6300634c62c374e2747ad41fd59a823c4c5e7e2",
        "abdcaf91f3a988f1f950e42c7f4139c067d4284dda34d8dbb1ebc075a142e433"}},
  };
  for (const auto& stream : streams) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(stream.digest(kSeeds[i]), stream.golden[i])
          << stream.name << " with seed " << kSeeds[i] << " has another order than version "
          << kOrderVersion
          << " had. Streams of users change with it: raise kOrderVersion in "
             "framework/base/random.h, "
             "write "
             "the change down in CHANGELOG.md, and only then replace the digest.";
    }
  }
}

}  // namespace
}  // namespace millhopper
