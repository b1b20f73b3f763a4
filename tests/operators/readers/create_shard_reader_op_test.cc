// SPDX-License-Identifier: Apache-2.0
// The operator create_shard_reader.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "readers/decorate/shard_reader.h"
#include "readers/lanes/lanes_reader.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/launcher_environment.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers() {
  SourceSpec spec;
  spec.records = 7;
  return MakePlannedSource(spec);
}

std::string Shard(const AttributeTexts& attributes) {
  return DecoratorProgram("create_shard_reader", attributes);
}

std::vector<ElementValue> PartOf(const AttributeTexts& attributes) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.Startup(Shard(attributes));
  return runner.ReadAllOf("out");
}

void ExpectRefused(const std::map<std::string, std::string>& variables,
                   const std::string& problem) {
  const LauncherEnvironment environment(variables);
  ExpectError(ErrorCode::kInvalidArgument, problem, [] { PartOf({}); });
}

TEST(CreateShardReaderOp, YieldsEveryNth) {
  const std::vector<ElementValue> all = ReadAll(Numbers().get());
  EXPECT_EQ(PartOf({{"num_shards", "i: 3"}, {"index", "i: 1"}}),
            (std::vector<ElementValue>{all[1], all[4]}));
  EXPECT_EQ(PartOf({{"num_shards", "i: 1"}, {"index", "i: 0"}}), all);
}

// Lane v has the records v, v + 4, ...; part 1 of 2 has lanes 1 and 3.
std::vector<ElementValue> LanesOfPart(const AttributeTexts& attributes) {
  LaneSet lanes;
  for (int64_t v = 0; v < 4; ++v) {
    lanes.lanes.push_back(std::make_unique<ShardReader>(Numbers(), 4, v, ShardBy::kRecord));
  }
  ProgramRunner runner;
  runner.Reader("source").Reset(std::make_unique<LanesReader>(std::move(lanes)));
  runner.Startup(Shard(attributes));
  return runner.ReadAllOf("out");
}

TEST(CreateShardReaderOp, TakesLanes) {
  const std::vector<ElementValue> all = ReadAll(Numbers().get());
  EXPECT_EQ(LanesOfPart({{"num_shards", "i: 2"}, {"index", "i: 1"}}),
            (std::vector<ElementValue>{all[1], all[3], all[5]}));
  ExpectError(ErrorCode::kInvalidArgument, "4 lanes cannot be shared by 3 ranks", [] {
    LanesOfPart({{"num_shards", "i: 3"}, {"index", "i: 0"}});
  });
  ExpectError(ErrorCode::kInvalidArgument, "these lanes have no common source", [] {
    LanesOfPart({{"num_shards", "i: 2"}, {"index", "i: 0"}, {"even", "s: \"pad\""}});
  });
}

TEST(CreateShardReaderOp, AsksTheEnvironment) {
  const std::vector<ElementValue> all = ReadAll(Numbers().get());
  const LauncherEnvironment environment({{"WORLD_SIZE", "4"}, {"RANK", "2"}});
  EXPECT_EQ(PartOf({}), (std::vector<ElementValue>{all[2], all[6]}));
  EXPECT_EQ(PartOf({{"num_shards", "i: 5"}}), (std::vector<ElementValue>{all[2]}));
  EXPECT_EQ(PartOf({{"index", "i: 3"}}), (std::vector<ElementValue>{all[3]}));
}

TEST(CreateShardReaderOp, AsksEachLauncher) {
  const std::vector<ElementValue> all = ReadAll(Numbers().get());
  const std::vector<ElementValue> third{all[2], all[6]};
  for (const auto& [shards, index] : {std::pair("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
                                      std::pair("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
                                      std::pair("JAX_NUM_PROCESSES", "JAX_PROCESS_ID")}) {
    const LauncherEnvironment environment({{shards, "4"}, {index, "2"}});
    EXPECT_EQ(PartOf({}), third) << shards;
  }
  // torchrun and mpirun within a step of Slurm's start their own processes.
  for (const auto& [shards, index] : {std::pair("WORLD_SIZE", "RANK"),
                                      std::pair("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")}) {
    const LauncherEnvironment environment(
        {{shards, "4"}, {index, "2"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}});
    EXPECT_EQ(PartOf({}), third) << shards;
  }
}

// What runs in an allocation of Slurm without srun is one process, whatever was asked for.
TEST(CreateShardReaderOp, DoesNotTakeAnAllocationForProcesses) {
  ExpectRefused({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}},
                "the environment has no WORLD_SIZE");
}

TEST(CreateShardReaderOp, MakesPartsEven) {
  const std::vector<ElementValue> all = ReadAll(Numbers().get());
  const AttributeTexts last{{"num_shards", "i: 3"}, {"index", "i: 2"}};
  const auto with = [&](const std::string& even) {
    AttributeTexts attributes = last;
    attributes.emplace_back("even", "s: \"" + even + "\"");
    return PartOf(attributes);
  };
  EXPECT_EQ(with("none"), (std::vector<ElementValue>{all[2], all[5]}));
  EXPECT_EQ(with("pad"), (std::vector<ElementValue>{all[2], all[5], all[1]}));
  EXPECT_EQ(with("drop"), (std::vector<ElementValue>{all[2], all[5]}));
  EXPECT_EQ(PartOf({{"num_shards", "i: 3"}, {"index", "i: 0"}, {"even", "s: \"drop\""}}),
            (std::vector<ElementValue>{all[0], all[3]}));
}

TEST(CreateShardReaderOp, RefusesAnEnvironmentThatSaysNothing) {
  ExpectRefused({{"RANK", "0"}},
                "attribute 'num_shards' is not given, and the environment has no WORLD_SIZE; "
                "torchrun, mpirun, srun or JAX would set it, or one of their own");
  ExpectRefused({{"WORLD_SIZE", "2"}},
                "attribute 'index' is not given, and the environment has no RANK");
  const auto both = [](const char* shards, const char* index) {
    return std::map<std::string, std::string>{{"WORLD_SIZE", shards}, {"RANK", index}};
  };
  ExpectRefused(both("two", "0"), "the environment's WORLD_SIZE is 'two', which is not a number");
  ExpectRefused(both("2", ""), "the environment's RANK is '', which is not a number");
  ExpectRefused(both("0", "0"), "num_shards is 0; it must be at least 1");
  ExpectRefused(both("2", "2"), "index is 2; it must be 0 to 1 for 2 shards");
  ExpectRefused(both("2", "-1"), "index is -1; it must be 0 to 1 for 2 shards");
}

TEST(CreateShardReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.ExpectProblem(Shard({{"num_shards", "i: -1"}}),
                       "attribute 'num_shards' is -1; it must be at least 0");
  runner.ExpectProblem(Shard({{"index", "i: -2"}}), "attribute 'index' is -2");
  runner.ExpectProblem(Shard({{"num_shards", "i: 3"}, {"index", "i: 3"}}),
                       "attribute 'index' is 3; it must be below 'num_shards', 3");
  runner.ExpectProblem(
      Shard({{"even", "s: \"fair\""}}),
      "attribute 'even' is \"fair\"; it must be one of [\"none\", \"pad\", \"drop\"]");
  runner.ExpectProblem(
      Shard({{"by", "s: \"chunk\""}, {"even", "s: \"pad\""}}),
      "attribute 'even' is 'pad'; parts by: \"chunk\" have as many records as their chunks, so "
      "they cannot be made even: use by: \"record\"");
}

}  // namespace
}  // namespace millhopper
