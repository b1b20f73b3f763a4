// SPDX-License-Identifier: Apache-2.0
// Random operators in the block of create_custom_reader: the numbers drawn for a record depend on
// that record and on no other.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr uint64_t kRunSeed = 11;
constexpr uint64_t kSeed = 3;  // the seed of the operator
constexpr int64_t kFiles = 3;
constexpr int64_t kRecordsInFile = 80;

// Written anew from the definition, without framework/base/random.h: SplitMix64's finaliser over
// the seeds, FNV-1a of the name, the pass, the sample and the index.
uint64_t Mixed(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double Expected(const std::string& name, uint64_t pass, uint64_t sample, uint64_t index) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  uint64_t key = Mixed(kRunSeed + kGolden);
  key = Mixed(key ^ (kSeed + 2 * kGolden));
  key = Mixed(key ^ (hash + 3 * kGolden));
  const uint64_t element = Mixed(Mixed(key + pass * kGolden) + (sample + 1) * kGolden);
  const uint64_t bits = Mixed(Mixed(element) + (index + 1) * kGolden);
  return static_cast<double>(bits >> 11) / 9007199254740992.0;  // 2^53
}

// Record r of file f has the number f * kRecordsInFile + r. The files are read in turn.
uint64_t SampleOf(int64_t number) {
  return static_cast<uint64_t>(number % kRecordsInFile * kFiles + number / kRecordsInFile);
}

std::string FileContent(int64_t file) {
  std::string content;
  for (int64_t number = file * kRecordsInFile; number < (file + 1) * kRecordsInFile; ++number) {
    content.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return content;
}

struct Decorator {
  std::string type;
  AttributeTexts attributes;
};

const Decorator kCustom = {"create_custom_reader",
                           {{"sub_block", "block_idx: 1"},
                            {"source_var_names", "strings: \"n\""},
                            {"sink_var_names", "strings: \"n\" strings: \"noise\""}}};
const Decorator kShuffle = {"create_shuffle_reader", {{"buffer_size", "i: 40"}}};
const Decorator kBuffer = {"create_double_buffer_reader", {}};

Decorator Shard(int index, const std::string& by) {
  return {"create_shard_reader",
          {{"num_shards", "i: 2"},
           {"index", "i: " + std::to_string(index)},
           {"by", "s: \"" + by + "\""}}};
}

class RandomInBlocks : public ::testing::Test {
 protected:
  RandomInBlocks() {
    for (int64_t file = 0; file < kFiles; ++file) {
      files_.emplace_back("numbers", FileContent(file));
    }
  }

  // The noise that each number got, by pass and number, in two passes of a chain of decorators.
  using Noise = std::map<std::pair<uint64_t, int64_t>, std::vector<double>>;
  Noise Read(const std::vector<Decorator>& chain) const {
    std::string names;
    for (const TempFile& file : files_) names += " strings: \"fixed:" + file.path() + "\"";
    std::vector<std::string> parts = {
        ReaderText("r0", {{"INT64", {1}}}),
        OpText("open_files", {}, {{"Out", {"r0"}}}, {{"file_names", names}})};
    for (size_t i = 0; i < chain.size(); ++i) {
      const std::string below = "r" + std::to_string(i);
      const std::string name = "r" + std::to_string(i + 1);
      parts.push_back(ReaderText(name));
      parts.push_back(OpText(chain[i].type, {{"UnderlyingReader", {below}}}, {{"Out", {name}}},
                             chain[i].attributes));
    }
    RunState run;
    run.seed = kRunSeed;
    ProgramRunner runner({}, run);
    runner.Startup(BlockText(0, -1, parts) +
                   BlockText(1, 0,
                             {TensorText("n", "INT64", {1}), TensorText("noise", "FP64", {2}),
                              OpText("uniform_random", {}, {{"Out", {"noise"}}},
                                     {{"shape", "ints: 2"},
                                      {"dtype", "i: 6"},
                                      {"min", "f: 0"},
                                      {"max", "f: 1"},
                                      {"seed", "i: " + std::to_string(kSeed)}})}));
    ReaderHolder& reader = runner.Reader("r" + std::to_string(chain.size()));
    Noise noise;
    std::vector<LoDTensor> element;
    for (uint64_t pass = 0; pass < 2; ++pass) {
      for (; reader.HasNext();) {
        reader.ReadNext(&element);
        const bool is_new = noise
                                .emplace(std::make_pair(pass, *element[0].data<int64_t>()),
                                         ValuesOf<double>(element[1]))
                                .second;
        EXPECT_TRUE(is_new);
      }
      reader.ReInit();
    }
    return noise;
  }

 private:
  std::deque<TempFile> files_;
};

TEST_F(RandomInBlocks, AreDrawnByPassAndSampleWhateverIsAboveAndBelowAndWithAnyThreads) {
  const std::vector<std::vector<Decorator>> chains = {
      {kCustom},
      {kCustom, kShuffle},
      {kShuffle, kCustom},
      {kBuffer, kCustom, kShuffle, kBuffer},
      {kShuffle, kBuffer, kCustom},
  };
  for (const int threads : {1, 2, 7, 16}) {
    const PoolSize size(threads);
    for (size_t i = 0; i < chains.size(); ++i) {
      SCOPED_TRACE(StrCat("chain ", i, ", ", threads, " threads"));
      const Noise noise = Read(chains[i]);
      EXPECT_EQ(noise.size(), 2u * kFiles * kRecordsInFile);
      std::set<double> values;
      for (const auto& [key, drawn] : noise) {
        const uint64_t sample = SampleOf(key.second);
        ASSERT_EQ(drawn, (std::vector<double>{Expected("noise", key.first, sample, 0),
                                              Expected("noise", key.first, sample, 1)}))
            << "number " << key.second << " in pass " << key.first;
        values.insert(drawn.begin(), drawn.end());
      }
      EXPECT_EQ(values.size(), 2 * noise.size()) << "two of the numbers are equal";
    }
  }
}

TEST_F(RandomInBlocks, AreTheSameInShardsAsInTheWhole) {
  const Noise whole = Read({kCustom});
  for (const int threads : {1, 2, 7, 16}) {
    const PoolSize size(threads);
    for (const std::string by : {"record", "chunk"}) {
      SCOPED_TRACE(StrCat("by ", by, ", ", threads, " threads"));
      Noise parts;
      for (const int index : {0, 1}) {
        for (const auto& [key, drawn] : Read({Shard(index, by), kShuffle, kBuffer, kCustom})) {
          EXPECT_TRUE(parts.emplace(key, drawn).second) << "number " << key.second << " came twice";
        }
      }
      EXPECT_EQ(parts, whole);
    }
  }
}

}  // namespace
}  // namespace millhopper
