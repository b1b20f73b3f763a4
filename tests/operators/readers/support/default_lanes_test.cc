// SPDX-License-Identifier: Apache-2.0
// Lanes that programs which are built by methods state where nobody says how many there are.
#include "operators/readers/support/default_lanes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "framework/program/program.h"
#include "proto/framework.pb.h"
#include "tests/framework/program/program_runner.h"

namespace millhopper {
namespace {

struct Step {
  const char* type;
  AttributeTexts attributes;
};

const AttributeTexts kFiles = {{"file_names", "strings: \"text:x\""}};
const Step kShuffled = {"create_shuffle_reader", {{"buffer_size", "i: 512"}}};
const Step kBatches = {"create_batch_reader", {{"batch_size", "i: 32"}}};
const Step kUnbatched = {"create_unbatch_reader", {}};
const Step kPart = {"create_shard_reader", {{"num_shards", "i: 2"}, {"index", "i: 0"}}};

// The lanes that are stated for r0, which reads files and on which these readers stand.
std::optional<int> LanesBelow(const std::vector<Step>& steps, const AttributeTexts& files = kFiles,
                              bool shares_batches = false, size_t lanes = kDefaultLanes) {
  std::vector<std::string> parts = {CreatedReaderText("r0", "open_files", {}, files)};
  for (size_t i = 0; i < steps.size(); ++i) {
    parts.push_back(CreatedReaderText(StrCat("r", i + 1), steps[i].type, {StrCat("r", i)},
                                      steps[i].attributes));
  }
  proto::ProgramDesc program =
      Program::FromString(BlockText(0, -1, parts), "startup.pbtxt")->desc();
  StateLanes({"r0", "unknown"}, lanes, shares_batches, &program);
  for (const proto::OpDesc::Attr& attribute : program.blocks(0).ops(0).attrs()) {
    if (attribute.name() == "lanes") return attribute.i();
  }
  return std::nullopt;
}

AttributeTexts FilesWith(const char* attribute, const char* value) {
  AttributeTexts files = kFiles;
  files.emplace_back(attribute, value);
  return files;
}

TEST(DefaultLanes, AreThoseOfFilesBelowAShuffleAndABatch) {
  EXPECT_EQ(LanesBelow({kShuffled, kBatches}), 16);
  EXPECT_EQ(LanesBelow({kUnbatched, kShuffled, kUnbatched, kShuffled, kBatches}), 16);
  EXPECT_EQ(LanesBelow({kShuffled, kBatches, kPart}), 16);
  EXPECT_EQ(LanesBelow({kShuffled, kBatches}, kFiles, false, 48), 48);
  EXPECT_EQ(LanesBelow({kShuffled, kBatches}, kFiles, false, 1), std::nullopt);
  EXPECT_EQ(LanesBelow({kShuffled, kBatches}, kFiles, false, 5000), std::nullopt);
}

TEST(DefaultLanes, AreNoneWhereMoreThanAnOrderWouldChange) {
  const Step fixed = {"create_shuffle_reader",
                      {{"buffer_size", "i: 512"}, {"reshuffle", "b: false"}}};
  const Step small = {"create_shuffle_reader", {{"buffer_size", "i: 63"}}};
  const Step least = {"create_shuffle_reader", {{"buffer_size", "i: 64"}}};
  const Step first = {"create_take_reader", {{"count", "l: 9"}}};
  const Step packed = {"create_pack_reader", {{"length", "i: 9"}}};
  const Step wrong = {"create_unbatch_reader", {{"no_attribute", "i: 1"}}};
  EXPECT_EQ(LanesBelow({least, kBatches}), 16);
  for (const std::vector<Step>& below : std::vector<std::vector<Step>>{
           {},
           {kUnbatched},
           {fixed},
           {small},
           {kShuffled, fixed},
           {kShuffled, small},
           {first, kShuffled},
           {kShuffled, first},
           {kBatches, kShuffled},
           {packed, kShuffled},
           {kShuffled, packed},
           {kShuffled, kPart},
           {kPart, kShuffled},
           {kShuffled, wrong},
       }) {
    std::vector<Step> steps = below;
    steps.push_back(kBatches);
    EXPECT_EQ(LanesBelow(steps), std::nullopt) << steps[0].type << ", " << below.size();
  }
  EXPECT_EQ(LanesBelow({kShuffled}), std::nullopt);
}

TEST(DefaultLanes, AreNoneOfFilesThatAreReadOtherwise) {
  for (const AttributeTexts& files : std::vector<AttributeTexts>{
           FilesWith("lanes", "i: 1"),
           FilesWith("thread_num", "i: 2"),
           FilesWith("buffer_size", "i: 8"),
           FilesWith("deterministic", "b: false"),
           FilesWith("shuffle_chunks", "b: true"),
           FilesWith("shuffle_records", "b: true"),
           FilesWith("pass_num", "i: 2"),
           {{"file_names", "strings: \"text:x\" strings: \"text:-\""}},
           {{"file_names", "strings: \"pipe:ls\""}},
       }) {
    const std::optional<int> lanes = LanesBelow({kShuffled, kBatches}, files);
    EXPECT_TRUE(!lanes || *lanes == 1) << files.back().first;
  }
  EXPECT_EQ(LanesBelow({kShuffled, kBatches}, FilesWith("cycle_length", "i: 4")), 16);
}

TEST(DefaultLanes, AreSharedByThoseWhoMakeTheBatchesOfAllRanks) {
  EXPECT_EQ(LanesBelow({kShuffled, kPart, kBatches}, kFiles, true), 16);
  EXPECT_EQ(LanesBelow({kShuffled, kPart, kBatches}, kFiles, true, 48), 48);
  EXPECT_EQ(LanesBelow({kShuffled}, kFiles, true), 16);
  EXPECT_EQ(LanesBelow({kShuffled, kPart}, kFiles, true), 16);
  EXPECT_EQ(LanesBelow({kShuffled, {"create_double_buffer_reader", {}}}, kFiles, true),
            std::nullopt);
}

}  // namespace
}  // namespace millhopper
