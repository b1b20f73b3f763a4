// SPDX-License-Identifier: Apache-2.0
// The operator create_lanes_reader.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/lanes/record_lanes.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::vector<ElementValue> Dealt(std::unique_ptr<ReaderBase> source,
                                const AttributeTexts& attributes) {
  ProgramRunner runner;
  runner.Reader("source").Reset(std::move(source));
  runner.Startup(DecoratorProgram("create_lanes_reader", attributes));
  return runner.ReadAllOf("out");
}

TEST(CreateLanesReaderOp, DealsRecordsByTurns) {
  const std::vector<ElementValue> all = ReadAll(MakePlannedSource(7).get());
  EXPECT_EQ(Dealt(MakePlannedSource(7), {{"lanes", "i: 3"}}), all);
  EXPECT_EQ(Dealt(MakePlannedSource(7), {{"lanes", "i: 1"}}), all);
  // Lane 0 has records 0, 3 and 6, of which two are a stripe.
  EXPECT_EQ(Dealt(MakePlannedSource(7), {{"lanes", "i: 3"}, {"stripe", "i: 2"}}),
            (std::vector<ElementValue>{all[0], all[3], all[1], all[4], all[2], all[5], all[6]}));
}

TEST(CreateLanesReaderOp, StandsOnASourceOfRecords) {
  ExpectError(ErrorCode::kInvalidArgument, "lanes stand on a source of records", [] {
    Dealt(std::make_unique<ShuffleReader>(MakePlannedSource(7), 7, RandomKey(1, 2, "shuffled")),
          {{"lanes", "i: 3"}});
  });
  ExpectError(ErrorCode::kInvalidArgument, "the reader has lanes already", [] {
    Dealt(std::make_unique<LanesReader>(MakeRecordLanes(MakePlannedSource(7), 2)),
          {{"lanes", "i: 3"}});
  });
  ExpectError(ErrorCode::kInvalidArgument, "attribute 'lanes' is 1025; there can be 1024", [] {
    Dealt(MakePlannedSource(7), {{"lanes", "i: 1025"}});
  });
}

}  // namespace
}  // namespace millhopper
