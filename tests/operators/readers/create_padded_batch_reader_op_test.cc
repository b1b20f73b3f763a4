// SPDX-License-Identifier: Apache-2.0
// The operator create_padded_batch_reader.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "readers/support/pad_value.h"
#include "tests/fakes/documents.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

const std::vector<std::vector<int64_t>> kDocuments = {{1, 1, 1}, {2}, {}, {4, 4}, {5}};

TEST(CreatePaddedBatchReaderOp, PadsToTheLongestOfTheBatch) {
  EXPECT_EQ(ShownOf("create_padded_batch_reader", {{"batch_size", "i: 2"}}, kDocuments),
            (Texts{"[2, 3] 1 1 1 2 0 0", "[2, 2] 0 0 4 4", "[1, 1] 5"}));
}

TEST(CreatePaddedBatchReaderOp, PadsToAMultipleAndSaysTheLengths) {
  EXPECT_EQ(ShownOf("create_padded_batch_reader",
                    {{"batch_size", "i: 3"},
                     {"discard_leftover", "b: true"},
                     {"pad_multiple", "i: 4"},
                     {"pad_values", "float64s: 9"},
                     {"lengths", "b: true"}},
                    kDocuments),
            Texts{"[3, 4] 1 1 1 9 2 9 9 9 9 9 9 9; [3, 1] 3 1 0"});
}

TEST(CreatePaddedBatchReaderOp, PadsToAFixedLength) {
  EXPECT_EQ(ShownOf("create_padded_batch_reader", {{"batch_size", "i: 4"}, {"pad_length", "i: 3"}},
                    kDocuments),
            (Texts{"[4, 3] 1 1 1 2 0 0 0 0 0 4 4 0", "[1, 3] 5 0 0"}));
  ExpectError(ErrorCode::kDataLoss, "a sequence of 3 steps is longer than pad_length, 2; truncate",
              [&] {
                ShownOf("create_padded_batch_reader",
                        {{"batch_size", "i: 4"}, {"pad_length", "i: 2"}}, kDocuments);
              });
}

TEST(CreatePaddedBatchReaderOp, PadsEachSlotToALengthOfItsOwn) {
  const auto read = [](const std::string& lengths) {
    ProgramRunner runner;
    runner.Reader("a").Reset(MakeDocuments(kDocuments));
    runner.Reader("b").Reset(MakeDocuments(kDocuments));
    runner.Startup(BlockText(
        0, -1,
        {ReaderText("a"), ReaderText("b"), ReaderText("zip"), ReaderText("out"),
         OpText("create_zip_reader", {{"UnderlyingReaders", {"a", "b"}}}, {{"Out", {"zip"}}}, {}),
         OpText("create_padded_batch_reader", {{"UnderlyingReader", {"zip"}}}, {{"Out", {"out"}}},
                {{"batch_size", "i: 5"}, {"pad_length", lengths}})}));
    const std::vector<SlotSpec> slots = runner.Reader("out").slots();
    return StrCat(ToString(slots[0]), ", ", ToString(slots[1]), ": ",
                  Shown(runner.Reader("out").NewHandle().get()).at(0));
  };
  EXPECT_EQ(read("ints: 4 ints: 0"),
            "int64 [-1, 4], int64 [-1, -1]: [5, 4] 1 1 1 0 2 0 0 0 0 0 0 0 4 4 0 0 5 0 0 0; "
            "[5, 3] 1 1 1 2 0 0 0 0 0 4 4 0 5 0 0");
  EXPECT_EQ(read("longs: 0 longs: 3").substr(0, 31), "int64 [-1, -1], int64 [-1, 3]: ");
  EXPECT_EQ(read("i: 3").substr(0, 30), "int64 [-1, 3], int64 [-1, 3]: ");
  ExpectError(ErrorCode::kDataLoss, "slot 1: a sequence of 3 steps is longer than pad_length, 2",
              [&] { read("ints: 3 ints: 2"); });
  ExpectError(ErrorCode::kInvalidArgument,
              "3 padding lengths for 2 slots; give one for each, or one for all",
              [&] { read("ints: 3 ints: 3 ints: 3"); });
  ExpectError(ErrorCode::kInvalidArgument, "it must be at least 0",
              [&] { read("ints: 3 ints: -1"); });
}

TEST(CreatePaddedBatchReaderOp, KeepsTheStepsOfSlotsWithAxes) {
  SourceSpec spec;
  spec.records = 7;
  spec.ragged = true;  // int64 [i % 4, 1]
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Startup(DecoratorProgram("create_padded_batch_reader", {{"batch_size", "i: 4"}}));
  EXPECT_EQ(runner.Reader("out").slots()[0].dims, Dims({-1, -1, 1}));
  EXPECT_EQ(Shown(runner.Reader("out").NewHandle().get()),
            (Texts{"[4, 3, 1] 0 0 0 1 0 0 2 2 0 3 3 3", "[3, 2, 1] 0 0 5 0 6 6"}));
}

TEST(CreatePaddedBatchReaderOp, FillsWithValuesOfEveryType) {
  const auto value = [](DataType type, double number) {
    SlotSpec slot;
    slot.dtype = type;
    return PadNumbers({number}, {slot})[0];
  };
  EXPECT_EQ(value(DataType::kInt64, -9007199254740992.0), -9007199254740992.0);
  EXPECT_EQ(value(DataType::kUint8, 255), 255);
  EXPECT_EQ(value(DataType::kFp16, 0.5), 0.5);
  for (const auto& [type, number] :
       std::vector<std::pair<DataType, double>>{{DataType::kUint8, 256},
                                                {DataType::kUint8, -1},
                                                {DataType::kInt16, 32768},
                                                {DataType::kInt64, 9223372036854775808.0},
                                                {DataType::kInt32, 1.5},
                                                {DataType::kBool, 2}}) {
    ExpectError(ErrorCode::kInvalidArgument, "the padding value",
                [&, type = type, number = number] { value(type, number); });
  }
  char place[8];
  PadValue(1, DataType::kBf16).Fill(place, 4);
  EXPECT_EQ(std::string(place, 8), std::string("\x80\x3f\x80\x3f\x80\x3f\x80\x3f", 8));
  PadValue(-2, DataType::kInt32).Fill(place, 2);
  EXPECT_EQ(std::string(place, 8), std::string("\xfe\xff\xff\xff\xfe\xff\xff\xff", 8));
}

TEST(CreatePaddedBatchReaderOp, RefusesBatchesOfSequences) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakeDocuments(kDocuments));
  runner.Startup(
      BlockText(0, -1,
                {ReaderText("source"), ReaderText("batches"), ReaderText("out"),
                 OpText("create_batch_reader", {{"UnderlyingReader", {"source"}}},
                        {{"Out", {"batches"}}}, {{"batch_size", "i: 2"}}),
                 OpText("create_padded_batch_reader", {{"UnderlyingReader", {"batches"}}},
                        {{"Out", {"out"}}}, {{"batch_size", "i: 2"}})}));
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kDataLoss, "slot 0 holds 2 sequences",
              [&] { runner.Reader("out").ReadNext(&element); });
}

}  // namespace
}  // namespace millhopper
