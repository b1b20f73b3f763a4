// SPDX-License-Identifier: Apache-2.0
// The operator create_chain_reader.
#include <gtest/gtest.h>

#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers(int64_t records, bool ragged = false) {
  SourceSpec spec;
  spec.records = records;
  spec.ragged = ragged;
  return MakePlannedSource(spec);
}

std::string Make(const std::vector<std::string>& below, const AttributeTexts& attributes = {}) {
  std::vector<std::string> parts;
  for (const char* name : {"a", "b", "out"}) parts.push_back(ReaderText(name));
  parts.push_back(OpText("create_chain_reader", {{"UnderlyingReaders", below}}, {{"Out", {"out"}}},
                         attributes));
  return BlockText(0, -1, parts);
}

TEST(CreateChainReaderOp, YieldsOneReaderAfterAnother) {
  ProgramRunner runner;
  runner.Reader("a").Reset(Numbers(2));
  runner.Reader("b").Reset(Numbers(3));
  runner.Startup(Make({"b", "a"}));
  std::vector<ElementValue> expected = ReadAll(Numbers(3).get());
  for (const ElementValue& element : ReadAll(Numbers(2).get())) expected.push_back(element);
  EXPECT_EQ(runner.ReadAllOf("out"), expected);
  EXPECT_EQ(runner.Reader("out").Chain().below.size(), 2u);
  runner.Reader("a").ReInit();  // restarts what stands on it, and so the other reader, too
  EXPECT_EQ(runner.ReadAllOf("out"), expected);
}

TEST(CreateChainReaderOp, RefusesReadersThatCannotBeCombined) {
  ProgramRunner runner;
  runner.Reader("a").Reset(Numbers(3));
  runner.Reader("b").Reset(Numbers(3, true));
  runner.ExpectProblem(Make({"a", "a"}), "reader 'a' is given twice");
  ExpectError(ErrorCode::kInvalidArgument, "readers can be joined only if they have the same slots",
              [&] {
                runner.Startup(Make({"a", "b"}));
              });
}

TEST(CreateChainReaderOp, RefusesDeclaredSlotsThatDifferWhenChecked) {
  const std::string text = BlockText(
      0, -1,
      {ReaderText("a", {{"FP32", {1, 2}}}), ReaderText("b", {{"INT64", {1, 1}}}), ReaderText("out"),
       OpText("create_chain_reader", {{"UnderlyingReaders", {"a", "b"}}}, {{"Out", {"out"}}})});
  ProgramRunner runner;
  runner.Reader("a").Reset(Numbers(3));
  runner.Reader("b").Reset(Numbers(3));
  runner.ExpectProblem(text, "reader 'b' has int64 [1, 1] in slot 0, not float32 [1, 2]");
}

}  // namespace
}  // namespace millhopper
