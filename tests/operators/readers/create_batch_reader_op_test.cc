// SPDX-License-Identifier: Apache-2.0
// The operator create_batch_reader.
#include <gtest/gtest.h>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Batch(const AttributeTexts& attributes, const SlotsText& slots = {}) {
  return DecoratorProgram("create_batch_reader", attributes, slots);
}

std::vector<ElementValue> Batches(const AttributeTexts& attributes) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(5));
  runner.Startup(Batch(attributes));
  return runner.ReadAllOf("out");
}

ElementValue Of(const Dims& dims, const std::vector<int64_t>& values) {
  return ValueOf({MakeTensor<int64_t>(dims, values)});
}

TEST(CreateBatchReaderOp, ConcatenatesAndKeepsTheRestByDefault) {
  const std::vector<ElementValue> expected = {Of({2, 1}, {0, 1}), Of({2, 1}, {2, 3}),
                                              Of({1, 1}, {4})};
  EXPECT_EQ(Batches({{"batch_size", "i: 2"}}), expected);
  EXPECT_EQ(Batches({{"batch_size", "i: 2"}, {"mode", "s: \"concat\""}}), expected);
}

TEST(CreateBatchReaderOp, LeavesTheRestOutIfToldSo) {
  EXPECT_EQ(Batches({{"batch_size", "i: 2"}, {"discard_leftover", "b: true"}}),
            (std::vector<ElementValue>{Of({2, 1}, {0, 1}), Of({2, 1}, {2, 3})}));
}

TEST(CreateBatchReaderOp, StacksIfToldSo) {
  EXPECT_EQ(Batches({{"batch_size", "i: 4"}, {"mode", "s: \"stack\""}}),
            (std::vector<ElementValue>{Of({4, 1, 1}, {0, 1, 2, 3}), Of({1, 1, 1}, {4})}));
}

TEST(CreateBatchReaderOp, DerivesItsSlots) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(5));
  runner.Startup(Batch({{"batch_size", "i: 2"}}, {{"INT64", {-1, 1}}}));
  EXPECT_EQ(runner.Reader("out").slots()[0].dims, Dims({-1, 1}));
  EXPECT_EQ(runner.Reader("out").origin(), "reader 'out' (create_batch_reader, startup.pbtxt:6)");
}

TEST(CreateBatchReaderOp, RefusesSlotsThatAreDeclaredOtherwise) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(5));
  ExpectError(ErrorCode::kInvalidArgument,
              "slot 0: float32 [-1, 1] is declared, but the reader has int64 [-1, 1]", [&] {
                runner.Startup(Batch({{"batch_size", "i: 2"}}, {{"FP32", {-1, 1}}}));
              });
  ExpectError(ErrorCode::kInvalidArgument, "slot 0: int64 [-1, 2] is declared", [&] {
    runner.Startup(Batch({{"batch_size", "i: 2"}}, {{"INT64", {-1, 2}}}));
  });
  ExpectError(ErrorCode::kInvalidArgument, "2 slots are declared, but the reader has 1", [&] {
    runner.Startup(Batch({{"batch_size", "i: 2"}}, {{"INT64", {-1, 1}}, {"INT64", {-1, 1}}}));
  });
}

TEST(CreateBatchReaderOp, RefusesToStackRaggedSlots) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(5, true));
  ExpectError(ErrorCode::kInvalidArgument, "cannot be stacked", [&] {
    runner.Startup(Batch({{"batch_size", "i: 2"}, {"mode", "s: \"stack\""}}));
  });
}

TEST(CreateBatchReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(5));
  runner.ExpectProblem(Batch({{"batch_size", "i: 0"}}),
                       "attribute 'batch_size' is 0; it must be at least 1");
  runner.ExpectProblem(Batch({{"batch_size", "i: -1"}}), "attribute 'batch_size' is -1");
  runner.ExpectProblem(Batch({{"batch_size", "i: 1"}, {"mode", "s: \"stak\""}}),
                       "did you mean 'stack'?");
  runner.ExpectProblem(Batch({}), "attribute 'batch_size' is missing");
}

}  // namespace
}  // namespace millhopper
