// SPDX-License-Identifier: Apache-2.0
// The operator create_zip_reader.
#include <gtest/gtest.h>

#include <algorithm>

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
  parts.push_back(
      OpText("create_zip_reader", {{"UnderlyingReaders", below}}, {{"Out", {"out"}}}, attributes));
  return BlockText(0, -1, parts);
}

std::vector<ElementValue> SideBySide(size_t count) {
  const std::vector<ElementValue> left = ReadAll(Numbers(9).get());
  const std::vector<ElementValue> right = ReadAll(Numbers(9, true).get());
  std::vector<ElementValue> both;
  for (size_t i = 0; i < count; ++i) both.push_back({left[i][0], right[i][0]});
  return both;
}

TEST(CreateZipReaderOp, YieldsElementsSideBySide) {
  ProgramRunner runner;
  runner.Reader("a").Reset(Numbers(5));
  runner.Reader("b").Reset(Numbers(5, true));
  runner.Startup(Make({"a", "b"}));
  EXPECT_EQ(runner.ReadAllOf("out"), SideBySide(5));
}

void ExpectUnaligned(int64_t a, int64_t b, const std::string& words) {
  ProgramRunner runner;
  runner.Reader("a").Reset(Numbers(a));
  runner.Reader("b").Reset(Numbers(b, true));
  runner.Startup(Make({"a", "b"}));
  const std::unique_ptr<ReaderBase> reader = runner.Reader("out").NewHandle();
  for (int pass = 0; pass < 2; ++pass) {
    const auto shorter = static_cast<size_t>(std::min(a, b));
    EXPECT_EQ(ReadSome(reader.get(), shorter), SideBySide(shorter));
    ExpectError(ErrorCode::kDataLoss, words, [&] { reader->HasNext(); });
    reader->ReInit();
  }
}

TEST(CreateZipReaderOp, ChecksTheAlignment) {
  ExpectUnaligned(5, 4, "reader 1 has ended after 4 elements, and reader 0 has more");
  ExpectUnaligned(4, 5, "reader 0 has ended after 4 elements, and reader 1 has more");
  ExpectUnaligned(0, 1, "reader 0 has ended after 0 elements, and reader 1 has more");
}

TEST(CreateZipReaderOp, EndsWithTheShortestIfNothingIsChecked) {
  for (const int64_t a : {3, 9}) {
    ProgramRunner runner;
    runner.Reader("a").Reset(Numbers(a));
    runner.Reader("b").Reset(Numbers(12 - a, true));
    runner.Startup(Make({"a", "b"}, {{"check_alignment", "b: false"}}));
    EXPECT_EQ(runner.ReadAllOf("out"), SideBySide(3));
  }
}

TEST(CreateZipReaderOp, RefusesReadersThatCannotBeCombined) {
  ProgramRunner runner;
  runner.Reader("a").Reset(Numbers(3));
  runner.Reader("b").Reset(Numbers(3, true));
  runner.ExpectProblem(Make({"a", "a"}), "reader 'a' is given twice");
}

}  // namespace
}  // namespace millhopper
