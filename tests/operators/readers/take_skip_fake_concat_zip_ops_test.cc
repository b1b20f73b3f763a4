// SPDX-License-Identifier: Apache-2.0
// The operators create_take_reader, create_skip_reader, create_fake_reader, create_concat_reader
// and create_zip_reader: a table of what they yield, and below it what holds for some of them only.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "readers/decorate/skip_reader.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// A program that makes the reader `out` of readers called "a" and "b".
std::string Make(const std::string& type, const std::vector<std::string>& below,
                 const AttributeTexts& attributes = {}) {
  const bool takes_one =
      type == "create_take_reader" || type == "create_skip_reader" || type == "create_fake_reader";
  const std::string input = takes_one ? "UnderlyingReader" : "UnderlyingReaders";
  return BlockText(0, -1,
                   {ReaderText("a"), ReaderText("b"), ReaderText("out"),
                    OpText(type, {{input, below}}, {{"Out", {"out"}}}, attributes)});
}

struct Row {
  std::string name;
  std::string type;
  AttributeTexts attributes;
  std::vector<int64_t> below;  // how many records each reader below has
  // The records in their order; those of a zip have the next record of the second reader beside
  // them.
  std::vector<int64_t> yields;
  std::string error = "";  // in place of an end; "" if there is none
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

AttributeTexts Count(const std::string& value) { return {{"count", value}}; }
const AttributeTexts kUnchecked = {{"check_alignment", "b: false"}};
const char kSecondEnds[] = "reader 1 has ended after 4 elements, and reader 0 has more";
const char kFirstEnds[] = "reader 0 has ended after 4 elements, and reader 1 has more";
const char kFirstIsEmpty[] = "reader 0 has ended after 0 elements, and reader 1 has more";

const Row kRows[] = {
    {"take_some", "create_take_reader", Count("i: 3"), {7}, {0, 1, 2}},
    {"take_all", "create_take_reader", Count("i: 7"), {7}, {0, 1, 2, 3, 4, 5, 6}},
    {"take_more", "create_take_reader", Count("i: 8"), {7}, {0, 1, 2, 3, 4, 5, 6}},
    {"take_none", "create_take_reader", Count("i: 0"), {7}, {}},

    {"skip_some", "create_skip_reader", Count("i: 3"), {7}, {3, 4, 5, 6}},
    {"skip_none", "create_skip_reader", Count("i: 0"), {7}, {0, 1, 2, 3, 4, 5, 6}},
    {"skip_all", "create_skip_reader", Count("i: 7"), {7}, {}},
    {"skip_more", "create_skip_reader", Count("i: 8"), {7}, {}},
    {"skip_most", "create_skip_reader", Count("l: 9223372036854775807"), {7}, {}},

    {"fake", "create_fake_reader", Count("i: 300"), {7}, std::vector<int64_t>(300, 0)},
    {"fake_none", "create_fake_reader", Count("i: 0"), {7}, {}},
    {"fake_of_none", "create_fake_reader", Count("i: 3"), {0}, {}},

    {"concat", "create_concat_reader", {}, {3, 2}, {0, 1, 2, 0, 1}},
    {"concat_by_its_former_name", "create_chain_reader", {}, {3, 2}, {0, 1, 2, 0, 1}},
    {"concat_of_one", "create_concat_reader", {}, {3}, {0, 1, 2}},
    {"concat_from_none", "create_concat_reader", {}, {0, 2}, {0, 1}},

    {"zip", "create_zip_reader", {}, {5, 5}, {0, 1, 2, 3, 4}},
    {"zip_more_with_less", "create_zip_reader", {}, {5, 4}, {0, 1, 2, 3}, kSecondEnds},
    {"zip_less_with_more", "create_zip_reader", {}, {4, 5}, {0, 1, 2, 3}, kFirstEnds},
    {"zip_none_with_one", "create_zip_reader", {}, {0, 1}, {}, kFirstIsEmpty},
    {"zip_to_the_first_end", "create_zip_reader", kUnchecked, {3, 9}, {0, 1, 2}},
    {"zip_to_the_second_end", "create_zip_reader", kUnchecked, {9, 3}, {0, 1, 2}},
};

class TakeSkipFakeConcatZip : public testing::TestWithParam<Row> {};

TEST_P(TakeSkipFakeConcatZip, YieldInEachPass) {
  const Row& row = GetParam();
  const bool zips = row.type == "create_zip_reader";
  ProgramRunner runner;
  std::vector<std::string> names;
  for (const int64_t records : row.below) {
    const bool is_second = !names.empty();  // their names are in no order
    names.push_back(is_second ? "a" : "b");
    runner.Reader(names.back())
        .Reset(zips && is_second
                   ? std::make_unique<SkipReader>(MakePlannedSource(records + 1, true), 1)
                   : MakePlannedSource(records));
  }
  const std::vector<ElementValue> left = ReadAll(MakePlannedSource(9).get());
  const std::vector<ElementValue> right = ReadAll(MakePlannedSource(9, true).get());
  std::vector<ElementValue> wanted;
  for (const int64_t number : row.yields) {
    const auto i = static_cast<size_t>(number);
    wanted.push_back(zips ? ElementValue{left[i][0], right[i + 1][0]} : left[i]);
  }

  runner.Startup(Make(row.type, names, row.attributes));
  EXPECT_EQ(runner.Reader("out").PassLength(), wanted.size());
  const std::unique_ptr<ReaderBase> reader = runner.Reader("out").NewHandle();
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(ReadSome(reader.get(), wanted.size()), wanted);
    if (row.error.empty()) {
      EXPECT_FALSE(reader->HasNext());
    } else {
      ExpectError(ErrorCode::kDataLoss, row.error, [&] { reader->HasNext(); });
    }
    reader->ReInit();
  }
}

INSTANTIATE_TEST_SUITE_P(Table, TakeSkipFakeConcatZip, testing::ValuesIn(kRows),
                         [](const auto& info) { return info.param.name; });

TEST(TakeSkipFakeOps, NeedACountThatIsNotNegative) {
  for (const char* type : {"create_take_reader", "create_skip_reader", "create_fake_reader"}) {
    ProgramRunner runner;
    runner.Reader("a").Reset(MakePlannedSource(7));
    runner.ExpectProblem(Make(type, {"a"}, Count("i: -1")),
                         "attribute 'count' is -1; it must be at least 0");
    runner.ExpectProblem(Make(type, {"a"}), "attribute 'count' is missing");
  }
}

TEST(ChainZipOps, NeedReadersThatDiffer) {
  for (const char* type : {"create_concat_reader", "create_zip_reader"}) {
    ProgramRunner runner;
    runner.Reader("a").Reset(MakePlannedSource(3));
    runner.ExpectProblem(Make(type, {"a", "a"}), "reader 'a' is given twice");
  }
}

TEST(TakeOp, LeavesTheRestToOthers) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(7));
  runner.Startup(Make("create_take_reader", {"a"}, Count("i: 3")));
  runner.ReadAllOf("out");
  EXPECT_EQ(ReadSome(runner.Reader("a").NewHandle().get(), 1),
            std::vector<ElementValue>{ReadAll(MakePlannedSource(7).get())[3]});
}

TEST(FakeOp, LoadsItsElementOnce) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(7));
  runner.Startup(Make("create_fake_reader", {"a"}, Count("i: 300")));
  runner.ReadAllOf("out");
  EXPECT_EQ(runner.Reader("a").Chain().elements, 1u);
}

TEST(ConcatOp, IsRestartedWithOneOfItsReaders) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(3));
  runner.Reader("b").Reset(MakePlannedSource(2));
  runner.Startup(Make("create_concat_reader", {"a", "b"}));
  EXPECT_EQ(runner.Reader("out").Chain().below.size(), 2u);
  const std::vector<ElementValue> all = runner.ReadAllOf("out");
  runner.Reader("b").ReInit();
  EXPECT_EQ(runner.ReadAllOf("out"), all);
}

TEST(ConcatOp, NeedsReadersOfTheSameSlots) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(3));
  runner.Reader("b").Reset(MakePlannedSource(3, true));
  ExpectError(ErrorCode::kInvalidArgument, "readers can be joined only if they have the same slots",
              [&] {
                runner.Startup(Make("create_concat_reader", {"a", "b"}));
              });
}

TEST(ConcatOp, NeedsDeclarationsOfTheSameSlots) {
  ProgramRunner runner;
  runner.Reader("a").Reset(MakePlannedSource(3));
  runner.Reader("b").Reset(MakePlannedSource(3));
  runner.ExpectProblem(BlockText(0, -1,
                                 {ReaderText("a", {{"FP32", {1, 2}}}),
                                  ReaderText("b", {{"INT64", {1, 1}}}), ReaderText("out"),
                                  OpText("create_concat_reader",
                                         {{"UnderlyingReaders", {"a", "b"}}}, {{"Out", {"out"}}})}),
                       "reader 'b' has int64 [1, 1] in slot 0, not float32 [1, 2]");
}

}  // namespace
}  // namespace millhopper
