// SPDX-License-Identifier: Apache-2.0
// Columns in Arrow's memory, built by hand: types, nulls, lists, structs, dictionaries, names and
// arrays that contradict themselves.
#include "readers/arrow/arrow_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/arrow/arrow_guess.h"
#include "tests/files/arrow_arrays.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// The rows that a chunk lists, as text. What is wrong with one is the last of them.
Strings RowsOf(const ArrowFields& fields, const Ref<Chunk>& chunk) {
  Strings texts;
  for (const Piece piece : chunk->pieces) {
    Ticket ticket;
    ticket.owner = chunk.get();
    if (chunk->holder) {
      ticket.index = piece.offset;
    } else {
      ticket.bytes = chunk->bytes->data() + piece.offset;
      ticket.size = piece.size;
    }
    Rows rows(SlotsOf(fields.fields()));
    try {
      fields.Load(&ticket, 1, &rows);
    } catch (const Error& error) {
      texts.push_back(error.message());
      break;
    }
    std::vector<LoDTensor> element;
    rows.MoveTo(&element);
    texts.push_back(TextOf(element));
  }
  return texts;
}

std::unique_ptr<ArrowOwned<ArrowArray>> Shared(const ArrowArray& array) {
  auto shared = std::make_unique<ArrowOwned<ArrowArray>>();
  *shared->out() = array;
  return shared;
}

// All rows at once give the same values as one by one, in any order.
void CheckManyAtOnce(const ArrowFields& fields, const Ref<Chunk>& chunk, bool backwards) {
  std::vector<Ticket> tickets(chunk->pieces.size());
  Rows together(SlotsOf(fields.fields())), single(SlotsOf(fields.fields()));
  for (size_t i = 0; i < tickets.size(); ++i) {
    Ticket& ticket = tickets[backwards ? tickets.size() - 1 - i : i];
    ticket.owner = chunk.get();
    ticket.index = chunk->pieces[i].offset;
  }
  fields.Load(tickets.data(), tickets.size(), &together);
  for (const Ticket& ticket : tickets) fields.Load(&ticket, 1, &single);
  std::vector<LoDTensor> all, one_by_one;
  together.MoveTo(&all);
  single.MoveTo(&one_by_one);
  EXPECT_EQ(TextOf(all), TextOf(one_by_one));
}

// The rows of a batch as text, which is the same for records and for rows of a table. What went
// wrong is the last of them.
Strings Read(const ArrowColumnValues& batch, const Strings& entries) {
  const ArrowFields fields(ParseFields(entries, Lists::kOfLists));
  const Ref<Chunk> records = Pool<Chunk>::Take(), columns = Pool<Chunk>::Take();
  std::shared_ptr<const ArrowRows> rows;
  std::string problem_of_records, problem_of_columns;
  try {
    FieldColumns found = FindColumns(fields, batch.schema);
    std::reverse(found.begin(), found.end());  // their order means nothing
    rows = std::make_shared<ArrowRows>(fields, batch.schema, std::move(found));
  } catch (const Error& error) {
    return {error.message()};
  }
  try {
    rows->AppendRecords(batch.array, 0, batch.array.length, 10, records.get());
  } catch (const Error& error) {
    problem_of_records = error.message();
  }
  try {
    const Ref<ArrowPart> part(new ArrowPart(rows, nullptr));
    for (int i = 0; i < 2; ++i) part->Add(Shared(batch.array));  // rows are counted on
    const Ref<ArrowTable> table(new ArrowTable(1, "group 7: "));
    table->Set(0, part);
    const auto length = static_cast<uint64_t>(batch.array.length);
    table->ListRows(length, 2 * length, columns.get());
    columns->holder = Ref<RecordHolder>(table.get());
  } catch (const Error& error) {
    problem_of_columns = error.message();
  }
  Strings texts = RowsOf(fields, records), same = RowsOf(fields, columns);
  if (!problem_of_records.empty()) texts.push_back(problem_of_records);
  if (!problem_of_columns.empty()) same.push_back(problem_of_columns);
  const std::string place = "group 7: row ";
  if (!same.empty() && same.back().compare(0, place.size(), place) == 0) {
    const size_t colon = same.back().find(": ", place.size());
    const int64_t row = std::stoll(same.back().substr(place.size())) - batch.array.length + 10;
    same.back() = StrCat("row ", row, same.back().substr(colon));
  } else if (!same.empty() && problem_of_columns.empty()) {
    CheckManyAtOnce(fields, columns, false);
    CheckManyAtOnce(fields, columns, true);
  }
  EXPECT_EQ(texts, same);
  return texts;
}
Strings Read(const ColumnPtr& column, const std::string& entry) {
  return Read(*Batch({column}), Strings{entry});
}

// The levels of detail and the values of the rows of a column.
Strings LevelsOf(const ColumnPtr& column, const std::string& entry) {
  const ColumnPtr batch = Batch({column});
  Read(*batch, Strings{entry});  // gives the same for records and for a table
  const ArrowFields fields(ParseFields({entry}, Lists::kOfLists));
  const ArrowRows rows(fields, batch->schema, FindColumns(fields, batch->schema));
  const Ref<Chunk> chunk = Pool<Chunk>::Take();
  rows.AppendRecords(batch->array, 0, batch->array.length, 0, chunk.get());
  Strings texts;
  for (const Piece piece : chunk->pieces) {
    Ticket ticket;
    ticket.owner = chunk.get();
    ticket.bytes = chunk->bytes->data() + piece.offset;
    ticket.size = piece.size;
    Rows loaded(SlotsOf(fields.fields()));
    fields.Load(&ticket, 1, &loaded);
    std::vector<LoDTensor> element;
    loaded.MoveTo(&element);
    std::string text;
    for (const LodLevel& level : element[0].lod()) {
      std::string offsets;
      for (const uint64_t offset : level) offsets += StrCat(offsets.empty() ? "" : ", ", offset);
      text += StrCat(text.empty() ? "{" : " {", offsets, "}");
    }
    texts.push_back(StrCat(text, ": ", TextOf(element)));
  }
  return texts;
}

TEST(ArrowColumns, NumbersBecomeTheTypeOfTheField) {
  EXPECT_EQ(Read(Numbers<int64_t>("a", "l", {1, -2}), "a int64[]"), (Strings{"1", "-2"}));
  EXPECT_EQ(Read(Numbers<int8_t>("a", "c", {1, -2}), "a int64[]"), (Strings{"1", "-2"}));
  EXPECT_EQ(Read(Numbers<uint8_t>("a", "C", {255}), "a int16[]"), (Strings{"255"}));
  EXPECT_EQ(Read(Numbers<uint16_t>("a", "S", {65535}), "a int32[]"), (Strings{"65535"}));
  EXPECT_EQ(Read(Numbers<uint64_t>("a", "L", {7}), "a int8[]"), (Strings{"7"}));
  EXPECT_EQ(Read(Numbers<uint64_t>("a", "L", {uint64_t{1} << 63}), "a float32[]"),
            (Strings{"9.223372e+18"}));
  EXPECT_EQ(Read(Numbers<float>("a", "f", {1.5f}), "a float32[] scale=2"), (Strings{"3.0"}));
  EXPECT_EQ(Read(Numbers<double>("a", "g", {4}), "a int8[]"), (Strings{"4"}));
  EXPECT_EQ(Read(Numbers<uint16_t>("a", "e", {0x3e00}), "a float32[]"), (Strings{"1.5"}));
  EXPECT_EQ(Read(Make("a", "b", 3, {"", Bits({1, 0, 1})}), "a bool[]"),
            (Strings{"true", "false", "true"}));
  EXPECT_EQ(Read(Numbers<int32_t>("a", "tdD", {-3}), "a int64[]"), (Strings{"-3"}));
  EXPECT_EQ(Read(Numbers<int64_t>("a", "tsu:Europe/Berlin", {5}), "a int64[]"), (Strings{"5"}));
}

TEST(ArrowColumns, NumbersOutOfRangeNameRowAndColumn) {
  EXPECT_EQ(Read(Numbers<int32_t>("a", "i", {1, 300, 2}), "a int8[]"),
            (Strings{"1", "row 11: column 'a': 300 is no int8"}));
  EXPECT_EQ(Read(Numbers<uint64_t>("a", "L", {uint64_t{1} << 63}), "a int64[]"),
            (Strings{"row 10: column 'a': 9223372036854775808 is no int64"}));
  EXPECT_EQ(Read(Numbers<double>("a", "g", {0.5}), "a int64[]"),
            (Strings{"row 10: column 'a': 0.5 is no int64"}));
}

TEST(ArrowColumns, TheFirstRowThatIsWrongIsTold) {
  const ColumnPtr batch =
      Batch({Numbers<int32_t>("a", "i", {1, 2, 300}), Numbers<int32_t>("b", "i", {1, 400, 1})});
  EXPECT_EQ(Read(*batch, {"a int8[]", "b int8[]"}),
            (Strings{"1 | 1", "row 11: column 'b': 400 is no int8"}));
}

TEST(ArrowColumns, DecimalsAreReadFromTheirDigits) {
  const auto decimals = [](const std::vector<int64_t>& values, const std::string& format) {
    std::vector<int64_t> wide;
    for (const int64_t value : values) wide.insert(wide.end(), {value, value < 0 ? -1 : 0});
    return Make("a", format, static_cast<int64_t>(values.size()), {"", Raw(wide)});
  };
  EXPECT_EQ(Read(decimals({12345, -5, 0, 100}, "d:9,2"), "a float64[]"),
            (Strings{"123.45", "-0.05", "0.0", "1.0"}));
  EXPECT_EQ(Read(decimals({700, -1200}, "d:9,2"), "a int64[]"), (Strings{"7", "-12"}));
  EXPECT_EQ(Read(decimals({7, 0}, "d:9,-2"), "a int64[]"), (Strings{"700", "0"}));
  EXPECT_EQ(Read(decimals({701}, "d:9,2"), "a int64[]"),
            (Strings{"row 10: column 'a': '7.01' is no int64"}));
  EXPECT_EQ(Read(Numbers<int32_t>("a", "d:9,2,32", {-150}), "a float32[]"), (Strings{"-1.5"}));
}

TEST(ArrowColumns, BytesOfAllKinds) {
  EXPECT_EQ(Read(Texts("a", {"x", "", "yz"}), "a bytes"), (Strings{"'x'", "''", "'yz'"}));
  EXPECT_EQ(Read(Make("a", "Z", 2, {"", Raw<int64_t>({0, 2, 3}), "abc"}), "a bytes"),
            (Strings{"'ab'", "'c'"}));
  EXPECT_EQ(Read(Make("a", "w:2", 2, {"", "abcd"}), "a bytes"), (Strings{"'ab'", "'cd'"}));
  std::string views = Raw<int32_t>({3}) + "short"  // only three of them
                      + std::string(7, '\0') + Raw<int32_t>({14}) + "a lo" + Raw<int32_t>({0, 2});
  EXPECT_EQ(
      Read(Make("a", "vu", 2, {"", views, "--a long string!", Raw<int64_t>({16})}), "a bytes"),
      (Strings{"'sho'", "'a long string!'"}));
  EXPECT_EQ(
      Read(Make("a", "vu", 2, {"", views, "--a long string!", Raw<int64_t>({15})}), "a bytes"),
      (Strings{"'sho'", "row 11: column 'a': its values go from 2 to 16 of 15"}));
}

TEST(ArrowColumns, TextBecomesNumbers) {
  EXPECT_EQ(Read(Texts("a", {"12", "x"}), "a int32[] decode=text"),
            (Strings{"12", "row 11: column 'a': 'x' is no int32"}));
  EXPECT_EQ(Read(Texts("a", {"12"}), "a int64[] hash=1"), (Strings{"0"}));
  const TempFile words("words.txt", "no\nyes\n");
  EXPECT_EQ(
      Read(Texts("a", {"yes", "maybe", "no"}), "a int64[] missing=skip vocab=" + words.path()),
      (Strings{"1", "0"}));
  EXPECT_EQ(Read(Texts("a", {"yes", "maybe"}), "a int64[] default=-1 vocab=" + words.path()),
            (Strings{"1", "-1"}));
}

TEST(ArrowColumns, NullsAreMissing) {
  const ColumnPtr numbers = Numbers<int32_t>("a", "i", {1, 2, 3}, Bits({1, 0, 1}));
  EXPECT_EQ(Read(numbers, "a int32[]"),
            (Strings{"1",
                     "row 11: column 'a': it is null (default=, missing=mask or missing=skip after "
                     "the field allow that)"}));
  EXPECT_EQ(Read(numbers, "a int32[] default=-1"), (Strings{"1", "-1", "3"}));
  EXPECT_EQ(Read(numbers, "a int32[] missing=default"), (Strings{"1", "0", "3"}));
  EXPECT_EQ(Read(numbers, "a int32[] missing=skip"), (Strings{"1", "3"}));
  EXPECT_EQ(Read(Texts("a", {"x", "y"}, Bits({0, 1})), "a bytes missing=default"),
            (Strings{"''", "'y'"}));
  EXPECT_EQ(Read(Make("a", "n", 2, {}), "a int64[] default=4"), (Strings{"4", "4"}));
}

TEST(ArrowColumns, AnOffsetHoldsForNullsAndValues) {
  const ColumnPtr numbers = Numbers<int32_t>("a", "i", {1, 2, 3, 4}, Bits({0, 1, 0, 1}));
  numbers->array.offset = 1;
  numbers->array.length = 3;
  EXPECT_EQ(Read(numbers, "a int32[] default=0"), (Strings{"2", "0", "4"}));
  const ColumnPtr plain = Numbers<int64_t>("a", "l", {1, 2, 3, 4});
  plain->array.offset = 2;
  plain->array.length = 2;
  EXPECT_EQ(Read(plain, "a int64[]"), (Strings{"3", "4"}));
}

TEST(ArrowColumns, ListsAreSequencesOrTensors) {
  const auto list = [](const std::string& valid = "") {
    return List("a", {0, 2, 2, 4}, Numbers<int64_t>("item", "l", {1, 2, 3, 4}), valid);
  };
  EXPECT_EQ(Read(list(), "a int64[-1]"), (Strings{"1 2", "", "3 4"}));
  EXPECT_EQ(Read(list(), "a int32[-1,2]"), (Strings{"1 2", "", "3 4"}));
  EXPECT_EQ(Read(list(), "a int64[2]"),
            (Strings{"1 2", "row 11: column 'a': it has 0 values, 2 are declared"}));
  EXPECT_EQ(Read(list(Bits({1, 0, 1})), "a int64[2] default=9"), (Strings{"1 2", "9 9", "3 4"}));
  EXPECT_EQ(Read(list(Bits({1, 0, 1})), "a int64[2] missing=skip"), (Strings{"1 2", "3 4"}));
  EXPECT_EQ(Read(list(Bits({0, 1, 1})), "a int64[-1] missing=default"), (Strings{"", "", "3 4"}));
  const ColumnPtr with_null =
      List("a", {0, 1, 2}, Numbers<int64_t>("item", "l", {1, 2}, Bits({1, 0})));
  EXPECT_EQ(Read(with_null, "a int64[-1]"),
            (Strings{"1",
                     "row 11: column 'a': a value of it is null, and str decode=json reads it as "
                     "text of JSON (default=, missing=mask or missing=skip after "
                     "the field allow that)"}));
  EXPECT_EQ(Read(with_null, "a int64[-1] default=5"), (Strings{"1", "5"}));
  EXPECT_EQ(Read(with_null, "a int64[-1] missing=skip"), (Strings{"1"}));
  const ColumnPtr fixed = Make("a", "+w:2", 2, {""}, {Numbers<int16_t>("item", "s", {1, 2, 3, 4})});
  EXPECT_EQ(Read(fixed, "a int16[2]"), (Strings{"1 2", "3 4"}));
}

TEST(ArrowColumns, ListsOfListsAreNestedAsTheDims) {
  const ColumnPtr lists =
      List("a", {0, 2, 4},
           List("item", {0, 2, 4, 6, 7}, Numbers<int64_t>("item", "l", {1, 2, 3, 4, 5, 6, 7})));
  EXPECT_EQ(Read(lists, "a int64[2,2]"),
            (Strings{"1 2 3 4", "row 11: column 'a': a list of it has 1 values, 2 are declared"}));
  EXPECT_EQ(Read(lists, "a int64[-1]"),
            (Strings{"column 'a': it is a list of lists of int64, nested deeper than int64 [-1] "
                     "with 1 level of detail"}));
  EXPECT_EQ(Read(List("a", {0, 2}, Texts("item", {"x", "yz"})), "a bytes[-1]").size(), 1u);
}

TEST(ArrowColumns, ListsOfListsAreLevelsOfDetail) {
  const auto lists = [](const std::string& inner_valid = "") {
    return List(
        "a", {0, 2, 2, 4},
        List("item", {0, 2, 2, 3, 4}, Numbers<int64_t>("item", "l", {1, 2, 3, 4}), inner_valid));
  };
  const auto read = [](const ColumnPtr& column, const std::string& entry) {
    return LevelsOf(column, entry);
  };
  EXPECT_EQ(read(lists(), "a int64[-1,-1]"),
            (Strings{"{0, 2} {0, 2, 2}: 1 2", "{0, 0} {0}: ", "{0, 2} {0, 1, 2}: 3 4"}));
  EXPECT_EQ(read(List("a", {0, 1}, List("item", {0, 4}, Numbers<int64_t>("i", "l", {1, 2, 3, 4}))),
                 "a int64[-1,-1,2]"),
            (Strings{"{0, 1} {0, 2}: 1 2 3 4"}));
  EXPECT_EQ(read(List("a", {0, 2}, List("item", {0, 1, 3}, Texts("item", {"x", "yz", ""}))),
                 "a bytes[-1,-1]"),
            (Strings{"{0, 2} {0, 1, 3} {0, 1, 3, 3}: 120 121 122"}));
  EXPECT_EQ(
      Read(lists(Bits({1, 0, 1, 1})), "a int64[-1,-1] missing=mask"),
      (Strings{"row 10: column 'a': a list within it is null, and str decode=json reads it as text "
               "of JSON (missing=default after the field, without a mask, reads it as one without "
               "values)"}));
  EXPECT_EQ(read(lists(Bits({1, 0, 1, 1})), "a int64[-1,-1] missing=default").at(0),
            "{0, 2} {0, 2, 2}: 1 2");
  EXPECT_EQ(Read(Numbers<int64_t>("a", "l", {1}), "a int64[-1,-1]"),
            (Strings{"column 'a': it is int64, not nested as deep as int64 [-1] with 2 levels of "
                     "detail"}));
}

TEST(ArrowColumns, DecimalsAreTexts) {
  const auto decimal = [](const std::vector<int64_t>& words, const std::string& format) {
    return Make("a", format, 1, {"", Raw(words)});
  };
  EXPECT_EQ(Read(decimal({-150, -1}, "d:38,2"), "a bytes"), (Strings{"'-1.50'"}));
  EXPECT_EQ(Read(decimal({5, 0}, "d:38,3"), "a bytes"), (Strings{"'0.005'"}));
  EXPECT_EQ(Read(decimal({7, 0}, "d:38,-3"), "a bytes"), (Strings{"'7000'"}));
  EXPECT_EQ(
      Read(decimal({0, 0, 0, INT64_MIN}, "d:76,0,256"), "a bytes"),
      (Strings{
          "'-57896044618658097711785492504343953926634992332820282019728792003956564819968'"}));
  EXPECT_EQ(Read(List("a", {0, 1}, Numbers<int64_t>("item", "d:18,1,64", {-1})), "a bytes[-1]"),
            (Strings{"45 48 46 49"}));  // "-0.1"
}

TEST(ArrowColumns, TimesHaveTheUnitOfTheField) {
  const ColumnPtr micros = Numbers<int64_t>("a", "tsu:UTC", {1'500'000, -1'000'000});
  EXPECT_EQ(Read(micros, "a int64[] decode=timestamp unit=us"), (Strings{"1500000", "-1000000"}));
  EXPECT_EQ(Read(micros, "a int64[] decode=timestamp unit=ms"), (Strings{"1500", "-1000"}));
  EXPECT_EQ(Read(micros, "a int64[] decode=timestamp"),
            (Strings{"row 10: column 'a': 1500000 us since 1970 is no int64 of s; unit=us after "
                     "decode=timestamp keeps it"}));
  EXPECT_EQ(Read(Numbers<int32_t>("a", "tdD", {2}), "a int64[] decode=timestamp"),
            (Strings{"172800"}));
  EXPECT_EQ(
      Read(Numbers<int64_t>("a", "tss:", {INT64_MAX}), "a int64[] decode=timestamp unit=ns"),
      (Strings{"row 10: column 'a': 9223372036854775807 s since 1970 is no int64 of ns; unit=s "
               "after decode=timestamp keeps it"}));
  EXPECT_EQ(Read(Numbers<int32_t>("a", "tdD", {-2}), "a int64[] decode=timestamp unit=d"),
            (Strings{"-2"}));
  EXPECT_EQ(Read(Numbers<int64_t>("a", "tdm", {-86400000, 1}), "a int64[] decode=timestamp unit=d"),
            (Strings{"-1",
                     "row 11: column 'a': 1 ms since 1970 is no int64 of d; unit=ms after "
                     "decode=timestamp keeps it"}));
}

TEST(ArrowColumns, TimesOfAllTypesHaveOneUnit) {
  const auto guess = [](const char* type, const std::vector<int64_t>& values,
                        const ArrowFacts& known = {}) {
    const ColumnPtr batch = Batch({Numbers<int64_t>("t", type, values)});
    return FieldsFor(GuessArrowColumns(batch->schema, &batch->array, known)).entries.at(0);
  };
  for (const char* const type : {"tss:", "tsm:UTC", "tsu:", "tsn:"}) {
    EXPECT_EQ(guess(type, {-1000, 0, 2000}), "t int64[] decode=timestamp unit=us") << type;
  }
  EXPECT_EQ(guess("tdm", {-86400000}), "t int64[] decode=timestamp unit=d");
  EXPECT_EQ(guess("tdm", {-86400000, 1}), "t int64[] decode=timestamp unit=us");
  EXPECT_EQ(guess("tsn:", {1000, 1001}), "t int64[] decode=timestamp unit=ns");
  EXPECT_EQ(guess("tsn:", {1000}, {{}, {0}}), "t int64[] decode=timestamp unit=ns");
  // What microseconds do not hold.
  EXPECT_EQ(guess("tss:", {int64_t{1} << 50}), "t int64[] decode=timestamp unit=s");
  // The unit is another one only for a value that is looked at, not for what lies beside it.
  const auto by_schema = [](const char* type, const ArrowFacts& known = {}) {
    const ColumnPtr batch = Batch({Numbers<int64_t>("t", type, {1})});
    return FieldsFor(GuessArrowColumns(batch->schema, nullptr, known)).entries.at(0);
  };
  for (const char* const type : {"tss:", "tsm:", "tsu:", "tsn:"}) {
    EXPECT_EQ(by_schema(type), "t int64[] decode=timestamp unit=us") << type;
    EXPECT_EQ(guess(type, {}), "t int64[] decode=timestamp unit=us") << type;
  }
  EXPECT_EQ(by_schema("tsn:", {{}, {0}}), "t int64[] decode=timestamp unit=ns");
}

TEST(ArrowColumns, IntegersAreNotRounded) {
  EXPECT_EQ(Read(Numbers<int64_t>("a", "l", {1, (int64_t{1} << 53) + 1}), "a float64[]"),
            (Strings{"1.0",
                     "row 11: column 'a': 9007199254740993 is no float64, which would round it; "
                     "int64 and uint64 hold it, and str decode=json has its digits as text"}));
}

TEST(ArrowColumns, ViewsOfListsAndRuns) {
  const ColumnPtr view = Make("a", "+vl", 3, {"", Raw<int32_t>({2, 0, 1}), Raw<int32_t>({1, 0, 2})},
                              {Numbers<int64_t>("item", "l", {1, 2, 3})});
  EXPECT_EQ(Read(view, "a int64[-1]"), (Strings{"3", "", "2 3"}));
  const ColumnPtr beyond = Make("a", "+vl", 1, {"", Raw<int32_t>({2}), Raw<int32_t>({2})},
                                {Numbers<int64_t>("item", "l", {1, 2, 3})});
  EXPECT_EQ(Read(beyond, "a int64[-1]"),
            (Strings{"row 10: column 'a': its values go from 2 to 4 of 3"}));
  const auto runs = [](const std::vector<int32_t>& ends) {
    return Make(
        "a", "+r", 4, {},
        {Numbers<int32_t>("run_ends", "i", ends), Texts("values", {"x", "y"}, Bits({1, 0}))});
  };
  EXPECT_EQ(Read(runs({3, 4}), "a bytes missing=default"), (Strings{"'x'", "'x'", "'x'", "''"}));
  EXPECT_EQ(Read(runs({1, 3}), "a bytes missing=default"),
            (Strings{"'x'", "''", "''", "row 13: column 'a': its values go from 2 to 3 of 2"}));
}

TEST(ArrowColumns, FieldsHoldWhatAllFilesHave) {
  const auto guess = [](const ColumnPtr& batch) {
    return GuessArrowColumns(batch->schema, &batch->array);
  };
  ArrowGuesses columns =
      guess(Batch({Numbers<int32_t>("a", "i", {1}), Make("n", "n", 1, {}), Texts("s", {"x"}),
                   Numbers<int64_t>("t", "tsm:", {1}), Numbers<float>("f", "f", {1}),
                   Numbers<int8_t>("x", "c", {1}), Numbers<int64_t>("z", "tsm:", {1})}));
  const ColumnPtr other =
      Batch({Numbers<int64_t>("a", "l", {1}), Numbers<int16_t>("n", "s", {1}),
             Numbers<int64_t>("t", "tsu:", {1}), Numbers<int32_t>("f", "i", {1}), Texts("x", {"1"}),
             Texts("y", {"1"}), Numbers<int64_t>("z", "l", {1})});
  AddArrowColumns(guess(other), "b.parquet", &columns);
  const FittingFields fields = FieldsFor(columns);
  EXPECT_EQ(fields.entries,
            (Strings{"a int64[]", "n int16[] missing=mask", "s str missing=mask",
                     "t int64[] decode=timestamp unit=us", "f float64[]", "y str missing=mask"}));
  EXPECT_EQ(fields.left_out,
            (Strings{"'x': in b.parquet it is text, in files before it int8",
                     "'z': in b.parquet it is int64, in files before it a timestamp"}));
}

TEST(ArrowColumns, StructsAreNamedWithPoints) {
  const ColumnPtr user =
      Make("user", "+s", 3, {Bits({1, 0, 1})},
           {Numbers<int32_t>("age", "i", {1, 2, 3}), Texts("a.b", {"x", "y", "z"})});
  EXPECT_EQ(Read(user, "user.age int32[] default=-1"), (Strings{"1", "-1", "3"}));
  EXPECT_EQ(Read(user, "user.a.b bytes missing=skip"), (Strings{"'x'", "'z'"}));
  EXPECT_EQ(Read(user, "user int32[]"),
            (Strings{"column 'user': it is a struct; name one of its columns: 'age', 'a.b'"}));
  const ColumnPtr items = List(
      "items", {0, 1, 3}, Make("item", "+s", 3, {""}, {Numbers<float>("price", "f", {1, 2, 3})}));
  EXPECT_EQ(Read(items, "items.price float32[-1]"), (Strings{"1.0", "2.0 3.0"}));
}

TEST(ArrowColumns, FieldsMayStandInAnyOrder) {
  const ColumnPtr batch =
      Batch({Numbers<double>("a", "g", {0.5, 1.5}), Texts("s", {"x", "yz"}),
             Make("u", "+s", 2, {""}, {Numbers<int64_t>("n", "l", {7, 8}), Texts("s", {"p", "q"})}),
             Numbers<float>("b", "f", {2, 3}),
             List("l", {0, 1, 3}, Numbers<int64_t>("i", "l", {4, 5, 6}))});
  EXPECT_EQ(Read(*batch, {"b float32[]", "u.s bytes", "l int64[-1]", "a float32[]", "s bytes",
                          "u.n int64[]", "b float64[]", "a float64[]"}),
            (Strings{"2.0 | 'p' | 4 | 0.5 | 'x' | 7 | 2.0 | 0.5",
                     "3.0 | 'q' | 5 6 | 1.5 | 'yz' | 8 | 3.0 | 1.5"}));
  EXPECT_EQ(Read(*batch, {"u.n int8[]", "a float32[]"}), (Strings{"7 | 0.5", "8 | 1.5"}));
}

TEST(ArrowColumns, FindsTheSameInNarrowerSchemas) {
  const FieldColumns columns = {{0, {5, 0, 3}}, {1, {2}}, {2, {5, 0, 1}}, {3, {2}}, {4, {9, 4}}};
  const auto ways = [](const FieldColumns& some) {
    std::vector<ArrowColumn> ways;
    for (const FieldColumn& one : some) ways.push_back(one.column);
    return ways;
  };
  EXPECT_EQ(ways(Narrowed(columns, 1)),
            (std::vector<ArrowColumn>{{1, 0, 3}, {0}, {1, 0, 1}, {0}, {2, 4}}));
  EXPECT_EQ(ways(Narrowed(columns, 9)),
            (std::vector<ArrowColumn>{{1, 0, 1}, {0}, {1, 0, 0}, {0}, {2, 0}}));
}

TEST(ArrowColumns, PartsHaveNeighboursOfOneSize) {
  const auto divided = [](uint64_t size) {
    const FieldColumns columns = {{0, {5, 0}}, {1, {2}}, {2, {5, 1}}, {3, {0}}, {4, {3}}};
    std::vector<std::vector<size_t>> parts;
    for (const FieldColumns& part :
         Divided(columns, [size](const FieldColumns& some) { return size * some[0].column[0]; })) {
      parts.emplace_back();
      for (const FieldColumn& one : part) parts.back().push_back(one.field);
    }
    return parts;
  };
  using Parts = std::vector<std::vector<size_t>>;
  EXPECT_EQ(divided(0), (Parts{{3, 1, 4, 0, 2}}));
  EXPECT_EQ(divided(size_t{1} << 18), (Parts{{3, 1, 4}, {0, 2}}));
  EXPECT_EQ(divided(size_t{1} << 20), (Parts{{3, 1}, {4}, {0, 2}}));
}

TEST(ArrowColumns, NamesThatTellNothingAreNumbered) {
  const ColumnPtr inner = Make("a", "+s", 1, {""},
                               {Numbers<int32_t>("b", "i", {1}), Numbers<int32_t>("c", "i", {2}),
                                Numbers<int32_t>("c", "i", {3}), Numbers<int32_t>("#0", "i", {4})});
  const ColumnPtr batch =
      Batch({inner, Numbers<int32_t>("a.b", "i", {5}), Numbers<int32_t>("d", "i", {6}),
             Numbers<int32_t>("d", "i", {7}), Numbers<int32_t>("", "i", {8}),
             Numbers<int32_t>("#1", "i", {9}), Numbers<int32_t>("x\ny", "i", {10}),
             Numbers<int32_t>("\xff", "i", {11}), Numbers<int32_t>("x[0]", "i", {12}),
             Numbers<int32_t>("\xc3\xbc", "i", {13})});
  const Strings guessed = FieldsFor(GuessArrowColumns(batch->schema, &batch->array)).entries;
  EXPECT_EQ(guessed,
            (Strings{"#0.b int32[]", "a.#1 int32[]", "a.#2 int32[]", "a.#0 int32[]", "a.b int32[]",
                     "#2 int32[]", "#3 int32[]", "#4 int32[]", "#1 int32[]", "\"x\ny\" int32[]",
                     "#7 int32[]", "\"x[0]\" int32[]", "\xc3\xbc int32[]"}));
  EXPECT_EQ(Read(*batch, guessed),
            Strings{"1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13"});
  EXPECT_EQ(Read(*batch, {"\"\" int32[]"}), Strings{"8"});
  EXPECT_EQ(Read(*batch, {"a.c int32[]"}),
            Strings{"2 columns are named 'c'; by their numbers they are '#1', '#2'"});
  EXPECT_EQ(Read(*batch, {"a.#4 int32[]"}).at(0).substr(0, 31), "no column is named 'a.#4'; ther");
  EXPECT_EQ(Read(*batch, {"#99999999999999999999 int32[]"}).at(0).substr(0, 18),
            "no column is named");
}

TEST(ArrowColumns, ADictionaryIsWhatItStandsFor) {
  const auto words = [](const std::vector<int8_t>& places, const std::string& valid) {
    const ColumnPtr column = Numbers<int8_t>("a", "c", places);
    return column->SetDictionary(column, Texts("", {"x", "y"}, valid));
  };
  EXPECT_EQ(Read(words({1, 0, 1}, ""), "a bytes"), (Strings{"'y'", "'x'", "'y'"}));
  EXPECT_EQ(Read(words({1, 0}, Bits({0, 1})), "a bytes missing=default"), (Strings{"'y'", "''"}));
  EXPECT_EQ(Read(words({1, 2}, ""), "a bytes"),
            (Strings{"'y'", "row 11: column 'a': its values go from 2 to 3 of 2"}));
  EXPECT_EQ(Read(words({-1}, ""), "a bytes"),
            (Strings{"row 10: column 'a': its values go from -1 to 0 of 2"}));
}

TEST(ArrowColumns, NamesThatFindNothingOrTooMuch) {
  const ColumnPtr twice = Batch({Numbers<int32_t>("a", "i", {1}), Numbers<int32_t>("a", "i", {2})});
  EXPECT_EQ(Read(*twice, {"a int32[]"}),
            Strings{"2 columns are named 'a'; by their numbers they are '#0', '#1'"});
  EXPECT_EQ(Read(*twice, {"b int32[]"}),
            Strings{"no column is named 'b'; there are 'a', 'a'; did you mean 'a'?"});
  EXPECT_EQ(Read(Numbers<int32_t>("a", "i", {1}), "#0 int32[]"), Strings{"1"});
  EXPECT_EQ(Read(Numbers<int32_t>("a", "i", {1}), "#1 int32[]"),
            Strings{"no column is named '#1'; there are 'a'"});
}

TEST(ArrowColumns, TypesThatDoNotFitAreToldBeforeAnyRow) {
  EXPECT_EQ(Read(Texts("a", {"1"}), "a int64[]"),
            Strings{"column 'a': it is string, int64 [1] is declared (decode=text reads a number "
                    "from text, decode=timestamp a date or time, hash= and vocab= number it)"});
  EXPECT_EQ(Read(Numbers<int32_t>("a", "i", {1}), "a bytes"),
            Strings{"column 'a': it is int32, bytes is declared"});
  EXPECT_EQ(Read(Make("a", "tiD", 1, {"", "12345678"}), "a int32[]"),
            Strings{"column 'a': it is day_time_interval, which is not read"});
  EXPECT_EQ(Read(Make("a", "+ud:0", 1, {}), "a int32[]"),
            Strings{"column 'a': it is union, which is not read"});
}

TEST(ArrowColumns, ArraysThatContradictThemselves) {
  EXPECT_EQ(Read(List("a", {0, 3}, Numbers<int64_t>("item", "l", {1, 2})), "a int64[-1]"),
            Strings{"row 10: column 'a': its values go from 0 to 3 of 2"});
  EXPECT_EQ(Read(List("a", {1, 0}, Numbers<int64_t>("item", "l", {1, 2})), "a int64[-1]"),
            Strings{"row 10: column 'a': its values go from 1 to 0 of 2"});
  const ColumnPtr short_column = Numbers<int32_t>("a", "i", {1});
  const ColumnPtr batch = Make("", "+s", 2, {""}, {short_column});
  EXPECT_EQ(Read(*batch, {"a int32[] default=0"}).back(),
            "row 11: column 'a': its values go from 1 to 2 of 1");
  EXPECT_EQ(Read(Make("a", "u", 1, {"", Raw<int32_t>({0, 1}), ""}), "a bytes"),
            Strings{"row 10: column 'a': its values go from 0 to 1 of 0"});
  const ColumnPtr nothing = Make("a", "i", 2, {"", ""});
  EXPECT_EQ(Read(nothing, "a int32[]"), Strings{"column 'a': an array of 2 values without memory"});
}

TEST(ArrowColumns, FieldsAreGuessed) {
  const ColumnPtr words = Numbers<int8_t>("w", "c", {0, 1});
  const ColumnPtr batch = Batch(
      {Numbers<int32_t>("a", "i", {1, 2}), Numbers<uint32_t>("b c", "I", {1, 2}, Bits({1, 0})),
       Texts("s", {"x", "y"}), List("l", {0, 0, 1}, Numbers<float>("item", "f", {1})),
       Make("f", "+w:2", 2, {""}, {Numbers<int16_t>("item", "s", {1, 2, 3, 4})}),
       words->SetDictionary(words, Texts("", {"p", "q"})),
       Make("u", "+s", 2, {Bits({0, 1})}, {Numbers<int32_t>("d", "tdD", {1, 2})}),
       Make("m", "d:5,2", 2, {"", std::string(32, '\0')}), Make("n", "n", 2, {})});
  const Strings guessed = FieldsFor(GuessArrowColumns(batch->schema, &batch->array)).entries;
  const std::string date =
      "u.d int64[] decode=timestamp unit=d default=-9223372036854775808 missing=mask";
  EXPECT_EQ(guessed,
            (Strings{"a int32[]", "\"b c\" uint32[] missing=mask", "s str", "l float32[-1]",
                     "f int16[2]", "w str", date, "m float64[]", "n float64[] default=nan"}));
  EXPECT_EQ(Read(*batch, guessed),
            (Strings{"1 | 1 | 'x' |  | 1 2 | 'p' | -9223372036854775808 | 0.0 | nan | true | false",
                     "2 | 0 | 'y' | 1.0 | 3 4 | 'q' | 2 | 0.0 | nan | false | true"}));
}

// What is proposed for nulls is no number that could be a label.
TEST(ArrowColumns, FieldsThatAreGuessedMakeNoValuesOfNulls) {
  const ColumnPtr batch =
      Batch({Numbers<float>("f", "f", {1, 2}, Bits({0, 1})), Texts("s", {"x", "y"}, Bits({0, 1})),
             List("l", {0, 1, 2}, Numbers<int64_t>("item", "l", {1, 2}, Bits({0, 1}))),
             Make("p", "+w:2", 2, {Bits({0, 1})}, {Numbers<int16_t>("item", "s", {1, 2, 3, 4})})});
  const Strings guessed = FieldsFor(GuessArrowColumns(batch->schema, &batch->array)).entries;
  EXPECT_EQ(guessed,
            (Strings{"f float32[] default=nan", "s str missing=mask",
                     "l float64[-1] default=nan missing=mask", "p int16[2] missing=mask"}));
  EXPECT_EQ(Read(*batch, guessed), (Strings{"nan | '' | nan | 0 0 | false | true | false",
                                            "2.0 | 'y' | 2.0 | 3 4 | true | true | true"}));
}

// What no value and no mask tells is text of JSON.
TEST(ArrowColumns, NullsWithinListsAreTextOfJson) {
  const std::string valid = Bits({1, 0, 1});
  const ColumnPtr batch = Batch(
      {List("t", {0, 2, 2, 3}, Texts("item", {"p\"\n\\\x1f", "", "é"}, Bits({1, 0, 1})), valid),
       List("b", {0, 1, 2, 3}, Make("item", "b", 3, {Bits({1, 1, 0}), Bits({1, 0, 0})})),
       List(
           "l", {0, 2, 2, 3},
           List("item", {0, 2, 2, 2}, Numbers<double>("item", "g", {1, 2.5e300}), Bits({1, 0, 1}))),
       List("s", {0, 0, 1, 1}, Texts("item", {"x"}))});
  const Strings guessed = FieldsFor(GuessArrowColumns(batch->schema, &batch->array)).entries;
  EXPECT_EQ(guessed, (Strings{"t str decode=json missing=mask", "b str decode=json",
                              "l str decode=json", "s str[-1]"}));
  EXPECT_EQ(Read(*batch, {"t bytes decode=json"}),
            (Strings{R"('["p\"\u000a\\\u001f", null]')", "'null'", "'[\"é\"]'"}));
  EXPECT_EQ(Read(*batch, {"t bytes decode=json missing=mask", "b bytes decode=json"}).at(1),
            "'' | '[false]' | false");
  EXPECT_EQ(Read(*batch, {"t bytes decode=json missing=skip", "b bytes decode=json"}).size(), 2u);
  EXPECT_EQ(
      Read(*batch, {"l bytes decode=json", "b bytes decode=json"}),
      (Strings{"'[[1.0, 2.5e+300], null]' | '[true]'", "'[]' | '[false]'", "'[[]]' | '[null]'"}));
  EXPECT_EQ(Read(Numbers<float>("f", "f", {0.1F, NAN, -INFINITY}), "f bytes decode=json"),
            (Strings{"'0.10000000149011612'", "'NaN'", "'-Infinity'"}));
  EXPECT_EQ(Read(Texts("x", {"\xff"}), "x bytes decode=json"),
            (Strings{"row 10: column 'x': '\\xff' is no text in UTF-8, which JSON is; bytes, in "
                     "lists bytes[-1], hold it"}));
  EXPECT_EQ(Read(Numbers<int64_t>("t", "tsu:", {1, -1}), "t bytes decode=json"),
            (Strings{"'\"1970-01-01 00:00:00.000001\"'", "'\"1969-12-31 23:59:59.999999\"'"}));
}

// A null list would be one without times, and times that are null have a value of their own.
TEST(ArrowColumns, NullListsOfTimesAreTextOfJson) {
  const ColumnPtr times = Numbers<int64_t>("item", "tsm:", {0, 1500, 0}, Bits({1, 1, 0}));
  const ColumnPtr batch = Batch(
      {List("t", {0, 2}, List("item", {0, 2, 2}, times, Bits({1, 0}))), List("n", {0, 2}, times)});
  const Strings guessed = FieldsFor(GuessArrowColumns(batch->schema, &batch->array)).entries;
  EXPECT_EQ(guessed, (Strings{"t str decode=json", "n int64[-1] decode=timestamp unit=us"}));
  EXPECT_EQ(Read(*batch, guessed),
            (Strings{"'[[\"1970-01-01 00:00:00.000\", \"1970-01-01 00:00:01.500\"], null]' | 0 "
                     "1500000"}));
}

// Bytes are JSON only as far as they are text.
TEST(ArrowColumns, ListsOfBytesWithNulls) {
  const auto lists = [](const Strings& values) {
    const ColumnPtr items = Texts("item", values, Bits({1, 0}));
    items->schema.format = "z";
    return Batch({List("b", {0, 2}, items)});
  };
  const ColumnPtr words = lists({"x", ""}), bytes = lists({"\xff", ""});
  EXPECT_EQ(FieldsFor(GuessArrowColumns(words->schema, &words->array)).entries,
            Strings{"b str decode=json"});
  const FittingFields found = FieldsFor(GuessArrowColumns(bytes->schema, &bytes->array));
  EXPECT_EQ(found.entries, Strings{});
  EXPECT_EQ(
      found.left_out,
      Strings{"'b.item': there are nulls within its lists, beside bytes that are no text; bytes "
              "with missing=default have empty ones in their place"});
  EXPECT_EQ(Read(*bytes, {"b bytes[-1] missing=default"}), Strings{"255"});
  const std::string is_null = "row 10: column 'b': a value of it is null";
  EXPECT_EQ(Read(*bytes, {"b bytes[-1]"}),
            Strings{is_null + " (missing=default, missing=mask or missing=skip after the field "
                              "allow that)"});
  const std::string hint = is_null + ", and str decode=json reads it as text of JSON";
  EXPECT_EQ(Read(*words, {"b str[-1]"}).at(0).substr(0, hint.size()), hint);
}

TEST(ArrowColumns, TellsTheUnitsOfTimesOfDayAndDurations) {
  const ColumnPtr batch =
      Batch({Numbers<int32_t>("t", "ttm", {1}), Numbers<int64_t>("d", "tDn", {1}),
             Numbers<int64_t>("n", "l", {1}), Numbers<int64_t>("s", "tsn:", {1})});
  EXPECT_EQ(FieldsFor(GuessArrowColumns(batch->schema, &batch->array)).notes,
            (Strings{"'t' has the numbers of time32[ms], as they are stored",
                     "'d' has the numbers of duration[ns], as they are stored"}));
}

TEST(ArrowColumns, MasksTellNullsOfAllKinds) {
  const std::string valid = Bits({1, 0, 1});
  const ColumnPtr batch =
      Batch({Numbers<int32_t>("a", "i", {1, 2, 3}, valid), Texts("s", {"x", "y", "z"}, valid),
             List("l", {0, 1, 1, 2}, Numbers<int64_t>("item", "l", {4, 5}), valid),
             List("t", {0, 1, 1, 2}, Texts("item", {"p", "q"}), valid),
             Numbers<int8_t>("b", "c", {7, 8, 9})});
  EXPECT_EQ(
      Read(*batch, {"a int32[] missing=mask", "s bytes missing=mask", "l int64[-1] missing=mask",
                    "t bytes[-1] missing=mask", "b int8[] missing=mask", "c bytes missing=mask"}),
      (Strings{"1 | 'x' | 4 | 112 | 7 | '' | true | true | true | true | true | false",
               "0 | '' |  |  | 8 | '' | false | false | false | false | true | false",
               "3 | 'z' | 5 | 113 | 9 | '' | true | true | true | true | true | false"}));
}

TEST(ArrowColumns, AColumnThatIsNotThereIsMissing) {
  const ColumnPtr batch = Batch({Numbers<int32_t>("a", "i", {1, 2})});
  EXPECT_EQ(
      Read(*batch, {"b int64[] default=-1", "a int32[]", "c bytes missing=default",
                    "u.d float32[2] default=0.5", "l int64[-1] missing=default",
                    "w bytes[-1] missing=default", "#7 bool[] missing=default"}),
      (Strings{"-1 | 1 | '' | 0.5 0.5 |  |  | false", "-1 | 2 | '' | 0.5 0.5 |  |  | false"}));
  EXPECT_EQ(Read(*batch, {"b int64[] default=-1"}), (Strings{"-1", "-1"}));
  EXPECT_EQ(Read(*batch, {"a int32[]", "b int64[] missing=skip"}), Strings{});
  EXPECT_EQ(Read(*batch, {"b int64[]"}),
            Strings{"no column is named 'b'; there are 'a'; did you mean 'a'?"});
}

TEST(ArrowColumns, ManyRowsOfManySizes) {
  constexpr int kRows = 40000;  // more than are made at once
  std::vector<int64_t> numbers;
  std::vector<int32_t> offsets{0};
  Strings expected;
  for (int i = 0; i < kRows; ++i) {
    numbers.push_back(i);
    offsets.push_back(offsets.back() + (i % 3 == 0 ? 1 : 0));
    expected.push_back(StrCat(i, " | ", i % 3 == 0 ? StrCat(offsets[i]) : ""));
  }
  const ColumnPtr batch = Batch({Numbers<int64_t>("a", "l", numbers),
                                 List("b", offsets, Numbers<int64_t>("item", "l", numbers))});
  EXPECT_EQ(Read(*batch, {"a int64[]", "b int64[-1]"}), expected);
}

}  // namespace
}  // namespace millhopper
