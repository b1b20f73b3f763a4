// SPDX-License-Identifier: Apache-2.0
// The operator create_py_reader.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "readers/sources/element_queue.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Queue = std::shared_ptr<ElementQueue>;

const SlotsText kSlots = {{"INT64", {-1, 1}}};
const std::string kQueueText = "vars { name: \"queue\" persistable: true type { type: RAW } }";

std::string Program(const SlotsText& slots = kSlots, const AttributeTexts& attributes = {}) {
  return BlockText(0, -1,
                   {kQueueText, ReaderText("out", slots),
                    OpText("create_py_reader", {{"blocking_queue", {"queue"}}}, {{"Out", {"out"}}},
                           attributes)});
}

std::vector<LoDTensor> Of(const std::vector<int64_t>& numbers) {
  return {MakeTensor<int64_t>({static_cast<int64_t>(numbers.size()), 1}, numbers)};
}

Queue PutQueue(ProgramRunner* runner) {
  auto queue = std::make_shared<ElementQueue>(10);
  *runner->scope().Var("queue")->GetMutable<Queue>() = queue;
  return queue;
}

TEST(CreatePyReaderOp, YieldsWhatIsPushed) {
  ProgramRunner runner;
  const Queue queue = PutQueue(&runner);
  runner.Startup(Program());
  queue->Push(0, Of({1, 2}));
  queue->Push(0, Of({3}));
  queue->Close(0);
  EXPECT_EQ(runner.ReadAllOf("out"),
            (std::vector<ElementValue>{ValueOf(Of({1, 2})), ValueOf(Of({3}))}));
  EXPECT_EQ(runner.Reader("out").origin(), "reader 'out' (create_py_reader, startup.pbtxt:5)");
}

TEST(CreatePyReaderOp, TakesSlotsAsTheLineageDeclaresThem) {
  ProgramRunner runner;
  PutQueue(&runner);
  runner.Startup(Program({}, {{"shape_concat", "ints: -1 ints: 3 ints: -1 ints: 1"},
                              {"ranks", "ints: 2 ints: 2"},
                              {"lod_levels", "ints: 0 ints: 1"},
                              {"dtypes", "ints: 5 ints: 3"}}));
  const std::vector<SlotSpec>& slots = runner.Reader("out").slots();
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(ToString(slots[0]), "float32 [-1, 3]");
  EXPECT_EQ(ToString(slots[1]), "int64 [-1, 1] with 1 level of detail");
}

TEST(CreatePyReaderOp, NeedsAQueueThatSomebodyHasMade) {
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "variable 'queue' holds no queue",
              [&] { runner.Startup(Program()); });
  runner.ExpectProblem(
      BlockText(0, -1,
                {ReaderText("out", kSlots),
                 OpText("create_py_reader", {{"blocking_queue", {"queueu"}}}, {{"Out", {"out"}}})}),
      "variable 'queueu' is not declared");
  PutQueue(&runner);
  ExpectError(ErrorCode::kInvalidArgument, "must be declared",
              [&] { runner.Startup(Program({})); });
}

// while (has_next) { read; sum } reset, twice: the provider makes both passes.
TEST(CreatePyReaderOp, FeedsAProgramThatLoopsAndBeginsAnew) {
  ProgramRunner runner;
  const Queue queue = PutQueue(&runner);
  runner.Startup(Program());
  std::thread provider([&queue, generation = queue->Attach()]() mutable {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t i = 0; i < 30; ++i) queue->Push(generation, Of({i + int64_t{100} * pass}));
      queue->Close(generation);
      const auto next = queue->AwaitNext(std::chrono::minutes(1), generation);
      if (!next) return;
      generation = *next;
    }
  });
  const std::string has_next = OpText("has_next", {{"Reader", {"out"}}}, {{"Out", {"more"}}});
  runner.Main(
      BlockText(
          0, -1,
          {TensorText("more", "BOOL", {1}), TensorText("sum", "INT64", {1, 1}),
           OpText("fill_constant", {}, {{"Out", {"sum"}}},
                  {{"shape", "ints: 1 ints: 1"}, {"dtype", "i: 3"}, {"value", "f: 0"}}),
           has_next,
           OpText("while", {{"Condition", {"more"}}}, {}, {{"sub_block", "block_idx: 1"}}),
           OpText("print", {{"In", {"sum"}}}, {}), OpText("reset", {{"Reader", {"out"}}}, {})}) +
      BlockText(1, 0,
                {TensorText("number", "INT64", {-1, 1}),
                 OpText("read", {{"Reader", {"out"}}}, {{"Out", {"number"}}}),
                 OpText("sum", {{"X", {"sum", "number"}}}, {{"Out", {"sum"}}}), has_next}));
  runner.Again();
  queue->Detach();
  provider.join();
  EXPECT_EQ(runner.printed(),
            "sum: int64 [1, 1] = {435}\n"
            "sum: int64 [1, 1] = {3435}\n");
}

}  // namespace
}  // namespace millhopper
