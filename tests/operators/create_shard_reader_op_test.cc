// SPDX-License-Identifier: Apache-2.0
// The operator create_shard_reader.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/program_runner.h"
#include "tests/sources.h"
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

// Sets variables of the environment while it lives; null unsets one.
class Environment {
 public:
  Environment(const char* shards, const char* index) {
    Set("WORLD_SIZE", shards);
    Set("RANK", index);
  }
  ~Environment() {
    Set("WORLD_SIZE", nullptr);
    Set("RANK", nullptr);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void Set(const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
};

TEST(CreateShardReaderOp, YieldsEveryNth) {
  const std::vector<ElementValue> all = ReadAll(Numbers().get());
  EXPECT_EQ(PartOf({{"num_shards", "i: 3"}, {"index", "i: 1"}}),
            (std::vector<ElementValue>{all[1], all[4]}));
  EXPECT_EQ(PartOf({{"num_shards", "i: 1"}, {"index", "i: 0"}}), all);
}

TEST(CreateShardReaderOp, AsksTheEnvironment) {
  const std::vector<ElementValue> all = ReadAll(Numbers().get());
  const Environment environment("4", "2");
  EXPECT_EQ(PartOf({}), (std::vector<ElementValue>{all[2], all[6]}));
  EXPECT_EQ(PartOf({{"num_shards", "i: 5"}}), (std::vector<ElementValue>{all[2]}));
  EXPECT_EQ(PartOf({{"index", "i: 3"}}), (std::vector<ElementValue>{all[3]}));
}

void ExpectRefused(const char* shards, const char* index, const std::string& problem) {
  const Environment environment(shards, index);
  ExpectError(ErrorCode::kInvalidArgument, problem, [] { PartOf({}); });
}

TEST(CreateShardReaderOp, RefusesAnEnvironmentThatSaysNothing) {
  ExpectRefused(nullptr, "0",
                "attribute 'num_shards' is not given, and the environment has no "
                "WORLD_SIZE");
  ExpectRefused("2", nullptr, "attribute 'index' is not given, and the environment has no RANK");
  ExpectRefused("two", "0", "the environment's WORLD_SIZE is 'two', which is not a number");
  ExpectRefused("2", "", "the environment's RANK is '', which is not a number");
  ExpectRefused("0", "0", "num_shards is 0; it must be at least 1");
  ExpectRefused("2", "2", "index is 2; it must be 0 to 1 for 2 shards");
  ExpectRefused("2", "-1", "index is -1; it must be 0 to 1 for 2 shards");
}

TEST(CreateShardReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.ExpectProblem(Shard({{"num_shards", "i: -1"}}),
                       "attribute 'num_shards' is -1; it must be at least 0");
  runner.ExpectProblem(Shard({{"index", "i: -2"}}), "attribute 'index' is -2");
  runner.ExpectProblem(Shard({{"num_shards", "i: 3"}, {"index", "i: 3"}}),
                       "attribute 'index' is 3; it must be below 'num_shards', 3");
}

}  // namespace
}  // namespace millhopper
