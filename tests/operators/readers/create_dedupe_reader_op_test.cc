// SPDX-License-Identifier: Apache-2.0
// The operator create_dedupe_reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "readers/gather/dedupe_reader.h"
#include "tests/fakes/documents.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

TEST(CreateDedupeReaderOp, YieldsEqualElementsOnce) {
  EXPECT_EQ(ShownOf("create_dedupe_reader", {}, {{1}, {2, 3}, {1}, {}, {2}, {2, 3}, {}, {4}}),
            (Texts{"[1] 1 from 0 1", "[2] 2 3 from 0 2", "[0] from 0 0", "[1] 2 from 0 1",
                   "[1] 4 from 0 1"}));
}

TEST(CreateDedupeReaderOp, ForgetsWhatWasInsertedFirst) {
  EXPECT_EQ(
      ShownOf("create_dedupe_reader", {{"entries", "i: 2"}}, {{1}, {2}, {1}, {3}, {2}, {1}, {3}}),
      (Texts{"[1] 1 from 0 1", "[1] 2 from 0 1", "[1] 3 from 0 1", "[1] 1 from 0 1"}));
}

TEST(CreateDedupeReaderOp, EveryPassBeginsAnew) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakeDocuments({{1}, {1}, {2}}));
  runner.Startup(DecoratorProgram("create_dedupe_reader", {}));
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(runner.ReadAllOf("out").size(), 2u);
    runner.Reader("out").ReInit();
  }
}

TEST(CreateDedupeReaderOp, RefusesASlotThatThereIsNot) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakeDocuments({{1}}));
  ExpectError(ErrorCode::kInvalidArgument, "slot 1 of a reader with 1 slots", [&] {
    runner.Startup(DecoratorProgram("create_dedupe_reader", {{"slots", "ints: 1"}}));
  });
}

// The memory limit counts the digests, and says what to do where it has no room for them.
TEST(CreateDedupeReaderOp, HasDigestsWithinTheMemoryLimit) {
  constexpr size_t kLimit = size_t{16} << 20;
  SourceSpec spec;
  spec.records = 400000;  // whose digests take 12 MB
  for (const int threads : {0, 2}) {
    const PoolSize size(threads);
    const LimitInForce limit(kLimit);
    for (const bool fits : {true, false}) {
      ProgramRunner runner;
      runner.Reader("source").Reset(MakePlannedSource(spec));
      const std::string entries = fits ? "i: 10000" : "i: 1000000";
      runner.Startup(
          BlockText(0, -1,
                    {ReaderText("source"), ReaderText("unique"), ReaderText("out"),
                     OpText("create_dedupe_reader", {{"UnderlyingReader", {"source"}}},
                            {{"Out", {"unique"}}}, {{"entries", entries}}),
                     OpText("create_double_buffer_reader", {{"UnderlyingReader", {"unique"}}},
                            {{"Out", {"out"}}}, {{"place", "s: \"CPU\""}})}));
      const auto reader = runner.Reader("out").NewHandle();
      std::vector<LoDTensor> element;
      int64_t read = 0;
      const auto read_all = [&] {
        for (; reader->HasNext(); ++read) {
          reader->ReadNext(&element);
          ASSERT_EQ(element[0].scalar<int64_t>(), read);
        }
      };
      if (fits) {
        read_all();
        EXPECT_EQ(read, spec.records);
        const ChainStats stats = runner.Reader("unique").Chain();
        EXPECT_GT(stats.memory_bytes, 10000u * 24);
        EXPECT_LT(stats.memory_bytes, size_t{2} << 20);
        continue;
      }
      const std::optional<Thrown> thrown = ErrorOf(read_all);
      ASSERT_TRUE(thrown);
      EXPECT_EQ(thrown->code, ErrorCode::kResourceLimit);
      for (const char* const words :
           {"while making room for the digests of", "with a smaller 'entries'", "memory limit"}) {
        EXPECT_NE(thrown->text.find(words), std::string::npos) << thrown->text;
      }
      EXPECT_GT(read, 100000);  // what came before it
    }
  }
}

// The table against a list, with keys that often have the same home.
TEST(RecentKeys, AgreesWithAList) {
  for (const size_t most : {size_t{1}, size_t{5}, size_t{33}, size_t{200}}) {
    RecentKeys keys(most);
    std::deque<uint64_t> list;
    uint64_t bits = most;
    for (int i = 0; i < 20000; ++i) {
      bits = bits * 6364136223846793005 + 1442695040888963407;
      const uint64_t number = (bits >> 33) % (2 * most + 3);
      const bool is_new = std::find(list.begin(), list.end(), number) == list.end();
      ASSERT_EQ(keys.Insert({number % 7 * 60, number}), is_new) << "of " << most << ", at " << i;
      if (!is_new) continue;
      list.push_back(number);
      if (list.size() > most) list.pop_front();
    }
  }
}

}  // namespace
}  // namespace millhopper
