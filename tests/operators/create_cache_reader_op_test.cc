// SPDX-License-Identifier: Apache-2.0
// The operator create_cache_reader.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/program_runner.h"
#include "tests/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int64_t kRecords = 500;

// Reads three passes, the first of them in part, and says how often records were loaded.
std::shared_ptr<Ledger> ReadPasses(const std::string& memory_bytes, size_t most_of_first) {
  SourceSpec spec;
  spec.records = kRecords;
  spec.ragged = true;
  const std::vector<ElementValue> expected = ReadAll(MakePlannedSource(spec).get());
  spec.jitter = 3;
  spec.ledger = std::make_shared<Ledger>(kRecords);
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Startup(DecoratorProgram("create_cache_reader", {{"memory_bytes", memory_bytes}}));
  ReadSome(runner.Reader("out").NewHandle().get(), most_of_first);
  for (int pass = 0; pass < 2; ++pass) {
    runner.Reader("out").ReInit();
    EXPECT_EQ(runner.ReadAllOf("out"), expected);
  }
  return spec.ledger;
}

TEST(CreateCacheReaderOp, ReadsFromBelowOnceWhatFits) {
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    const auto ledger = ReadPasses("i: 100000000", kRecords + 1);
    for (int64_t i = 0; i < kRecords; ++i) ASSERT_EQ(ledger->loads(i), 1) << "record " << i;
  }
}

TEST(CreateCacheReaderOp, ReadsWhatDoesNotFitAgain) {
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    const auto ledger = ReadPasses("i: 60000", kRecords + 1);
    EXPECT_EQ(ledger->loads(0), 1);
    EXPECT_EQ(ledger->loads(kRecords - 1), 3);
    for (int64_t i = 1; i < kRecords; ++i) ASSERT_GE(ledger->loads(i), ledger->loads(i - 1));
    for (int64_t i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(ledger->loads(i) == 1 || ledger->loads(i) == 3) << "record " << i;
    }
  }
}

TEST(CreateCacheReaderOp, GoesOnWhereAFirstPassStopped) {
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    const auto ledger = ReadPasses("i: 100000000", 70);
    EXPECT_EQ(ledger->loads(0), 1);
    // Workers may have loaded some ahead when the pass stopped.
    EXPECT_LE(ledger->loads(kRecords - 1), 2);
  }
}

TEST(CreateCacheReaderOp, KeepsNothingWithoutMemory) {
  const auto ledger = ReadPasses("i: 0", kRecords + 1);
  for (int64_t i = 0; i < kRecords; ++i) ASSERT_EQ(ledger->loads(i), 3) << "record " << i;
}

TEST(CreateCacheReaderOp, EveryPassHasTheOrderOfPass0) {
  SourceSpec spec;
  spec.records = kRecords;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Startup(BlockText(0, -1,
                           {ReaderText("source"), ReaderText("shuffled"), ReaderText("out"),
                            OpText("create_shuffle_reader", {{"UnderlyingReader", {"source"}}},
                                   {{"Out", {"shuffled"}}}, {{"buffer_size", "i: 50"}}),
                            OpText("create_cache_reader", {{"UnderlyingReader", {"shuffled"}}},
                                   {{"Out", {"out"}}}, {{"memory_bytes", "i: 20000"}})}));
  const std::vector<ElementValue> first = runner.ReadAllOf("out");
  EXPECT_EQ(first.size(), static_cast<size_t>(kRecords));
  for (int pass = 0; pass < 2; ++pass) {
    runner.Reader("out").ReInit();
    EXPECT_EQ(runner.ReadAllOf("out"), first);
  }
}

TEST(CreateCacheReaderOp, KeepsWhatCameBeforeAnError) {
  SourceSpec spec;
  spec.records = kRecords;
  spec.load_error = 100;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Startup(DecoratorProgram("create_cache_reader", {{"memory_bytes", "i: 100000000"}}));
  for (int pass = 0; pass < 3; ++pass) {
    const auto reader = runner.Reader("out").NewHandle();
    EXPECT_EQ(ReadSome(reader.get(), 100).size(), 100u);
    ExpectError(ErrorCode::kDataLoss, "record 100 cannot be loaded", [&] { reader->HasNext(); });
    runner.Reader("out").ReInit();
  }
}

}  // namespace
}  // namespace millhopper
