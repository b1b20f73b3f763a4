// SPDX-License-Identifier: Apache-2.0
// The types that columns of text seem to have.
#include "readers/fields/guessed_type.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/base/error.h"
#include "readers/fields/fields.h"

namespace millhopper {
namespace {

// What is guessed is a field, too.
std::string TypeOf(const std::vector<std::string>& cells) {
  const std::string type = GuessedCellType(cells);
  EXPECT_EQ(ParseFields({"x " + type}).size(), 1u);
  return type;
}

TEST(GuessedType, IsThatOfNumbers) {
  EXPECT_EQ(TypeOf({"1", "-2"}), "int64[]");
  EXPECT_EQ(TypeOf({"1", "2.5"}), "float64[]");
  EXPECT_EQ(TypeOf({" 1", "2 "}), "int64[]");
  EXPECT_EQ(TypeOf({"1", ""}), "int64[] missing=mask");
  EXPECT_EQ(TypeOf({"1.5", ""}), "float64[] default=nan");
  EXPECT_EQ(TypeOf({"", ""}), "str missing=mask");
  EXPECT_EQ(TypeOf({"1", "x"}), "str");
  // Zeros before a number would be lost.
  EXPECT_EQ(TypeOf({"007", "8"}), "str");
  EXPECT_EQ(TypeOf({"-01", "8"}), "str");
  EXPECT_EQ(TypeOf({"00.5", "8"}), "str");
  EXPECT_EQ(TypeOf({"0", "0.5", "-0.5"}), "float64[]");
  for (const char* text : {"1_000", "1,000", "0x1f", "1e", "--1", "1 2"}) {
    EXPECT_EQ(TypeOf({text}), "str") << text;
  }
}

TEST(GuessedType, IsThatOfDatesInOneForm) {
  EXPECT_EQ(TypeOf({"31.12.2024", "1.2.2024"}),
            "int64[] decode=timestamp unit=d format=\"%d.%m.%Y\"");
  EXPECT_EQ(TypeOf({"12/31/2024 23:59", ""}),
            "int64[] decode=timestamp unit=us format=\"%m/%d/%Y %H:%M\" "
            "default=-9223372036854775808 missing=mask");
  EXPECT_EQ(TypeOf({"5 Jan 2024", "6 May 2024"}),
            "int64[] decode=timestamp unit=d format=\"%d %b %Y\"");
  EXPECT_EQ(TypeOf({"May 5, 2024", "May 6, 2024"}),
            "int64[] decode=timestamp unit=d format=\"%b %d, %Y\"");
  EXPECT_EQ(TypeOf({"01/02/2024", "03/04/2024"}), "str");  // of January or of February
  EXPECT_EQ(TypeOf({"31.12.2024", "12/31/2024"}), "str");
}

TEST(GuessedType, KeepsNumbersAsTheyAreWritten) {
  EXPECT_EQ(TypeOf({"18446744073709551615", "1"}), "uint64[]");
  EXPECT_EQ(TypeOf({"18446744073709551615", "-1"}), "str");
  EXPECT_EQ(TypeOf({"18446744073709551616"}), "float64[]");
  EXPECT_EQ(TypeOf({"18446744073709551617"}), "str");
  EXPECT_EQ(TypeOf({"18446744073709551615", ""}), "uint64[] missing=mask");
  EXPECT_EQ(TypeOf({"inf", "-inf", "nan", "0"}), "float64[]");
  EXPECT_EQ(TypeOf({"0.000123456789012345", "-1234567890.12345e-3", "1.50000000000000000000"}),
            "float64[]");
  // As Python and numpy.savetxt write them.
  EXPECT_EQ(TypeOf({"0.30000000000000004", "1.000000000000000056e-01", "5e-324"}), "float64[]");
  EXPECT_EQ(TypeOf({"0.5", "1e-400"}), "str");  // is no 0
  EXPECT_EQ(TypeOf({"1.234e-322"}), "str");     // a float64 has fewer digits there
  EXPECT_EQ(TypeOf({"0.5", "0.0e-400"}), "float64[]");
  EXPECT_EQ(TypeOf({"0.1234567890123456789"}), "str");
  EXPECT_EQ(TypeOf({"9007199254740993", "0.5"}), "str");
  EXPECT_EQ(TypeOf({"1e400", "1"}), "str");
  EXPECT_EQ(TypeOf({"1e300", "NA"}), "float64[] null=NA default=nan");
}

TEST(GuessedType, IsThatOfTruth) {
  EXPECT_EQ(TypeOf({"true", "False", "TRUE"}), "bool[]");
  EXPECT_EQ(TypeOf({"true", ""}), "bool[] missing=mask");
  EXPECT_EQ(TypeOf({"true", "1"}), "str");
  EXPECT_EQ(TypeOf({"0", "1"}), "int64[]");
  EXPECT_EQ(TypeOf({"yes", "no", "Yes"}), "bool[] format=yes/no");
  EXPECT_EQ(TypeOf({"t", "F", ""}), "bool[] format=t/f missing=mask");
  // Words that may mean something else, such as Norway.
  EXPECT_EQ(TypeOf({"no", "no"}), "str");
  EXPECT_EQ(TypeOf({"t", "no"}), "str");
  EXPECT_EQ(TypeOf({"yes", "maybe"}), "str");
}

TEST(GuessedType, KnowsWhatStandsForNoValue) {
  EXPECT_EQ(TypeOf({"1", "NULL", "2"}), "int64[] null=NULL missing=mask");
  EXPECT_EQ(TypeOf({"1", "\\N", "", "?"}), "int64[] null=\\N,? missing=mask");
  EXPECT_EQ(TypeOf({"1", "nan"}), "int64[] null=nan missing=mask");
  EXPECT_EQ(TypeOf({"1.5", "nan"}), "float64[]");
  EXPECT_EQ(TypeOf({"1.5", "nan", "NA"}), "float64[] null=NA default=nan");
  EXPECT_EQ(TypeOf({"NULL", "NULL"}), "str");
  EXPECT_EQ(TypeOf({"x", "NULL"}), "str");
  EXPECT_EQ(TypeOf({"x", ""}), "str missing=mask");
}

TEST(GuessedType, IsThatOfTimestamps) {
  EXPECT_EQ(TypeOf({"2024-01-31", "2024-02-01"}), "int64[] decode=timestamp unit=d");
  EXPECT_EQ(TypeOf({"2024-01-31", "", "NULL"}),
            "int64[] decode=timestamp unit=d null=NULL "
            "default=-9223372036854775808 missing=mask");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05", "2024-02-01T00:00Z", ""}),
            "int64[] decode=timestamp unit=us default=-9223372036854775808 missing=mask");
  EXPECT_EQ(TypeOf({"2024-01-31 00:00", "2024-01-31"}), "int64[] decode=timestamp unit=us");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05.000001"}), "int64[] decode=timestamp unit=us");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05.000000001"}), "int64[] decode=timestamp unit=ns");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05.000001000"}), "int64[] decode=timestamp unit=us");
  // Nanoseconds reach from 1677 to 2262 only.
  EXPECT_EQ(TypeOf({"1500-01-31 12:00:05.000000001"}), "str");
  EXPECT_EQ(TypeOf({"2024-01-31", "2024-02-30"}), "str");
  EXPECT_EQ(GuessedTimestampType({}), "");
  EXPECT_EQ(GuessedTimestampType({"2024-01-31", ""}), "");
}

// Several values in a cell are text, which loses nothing of it.
TEST(GuessedType, IsThatOfText) {
  for (const char* const text : {"Action|Crime", "1|2", "1;2.5", "1 2", "1,200"}) {
    EXPECT_EQ(TypeOf({text, text}), "str") << text;
  }
}

// What is proposed for records without a value makes none that could be a label.
TEST(GuessedType, StandsForNoValueByNoNumber) {
  for (const char* const type :
       {"int64[]", "uint64[]", "bool[]", "int64[] decode=text", "int64[3]", "int64[2, 2]",
        "int64[-1]", "int64[-1, 2]", "float32[]", "float64[3]", "float32[-1]", "bytes",
        "bytes[-1] separator=|", "int64[] null=NA,?", "int64[] decode=timestamp unit=ms"}) {
    SCOPED_TRACE(type);
    const Field field = ParseFields({StrCat("x ", OrMissing(type))}).front();
    EXPECT_EQ(field.missing, Field::Missing::kDefault);
    if (field.decode == Field::Decode::kTimestamp) {
      EXPECT_EQ(OrMissing(type), StrCat(type, " default=-9223372036854775808 missing=mask"));
    } else if (IsFloat(field.slot.dtype) && !field.sequence) {
      EXPECT_EQ(OrMissing(type), StrCat(type, " default=nan"));
    } else {
      EXPECT_EQ(OrMissing(type), StrCat(type, " missing=mask"));
    }
  }
}

// Pairs and triples of cells of all kinds, each many times, in any order.
TEST(GuessedType, FewOfTheTextsTellWhatAllAre) {
  const std::vector<std::string> cells = {"",
                                          "NA",
                                          "nan",
                                          "?",
                                          "1",
                                          "-1",
                                          " 5",
                                          "9007199254740993",
                                          "18446744073709551615",
                                          "2.5",
                                          "1e5",
                                          "0.1234567890123456789",
                                          "007",
                                          "true",
                                          "FALSE",
                                          "yes",
                                          "no",
                                          "t",
                                          "F",
                                          "y",
                                          "x",
                                          "2024-01-31",
                                          "2500-01-01",
                                          "2024-01-31 12:00:00.5",
                                          "2024-01-31T12:00:00.123456789Z",
                                          "31.12.2024",
                                          "05/05/2024",
                                          "01/02/2024",
                                          "13/02/2024",
                                          "02/13/2024",
                                          "5 Jan 2024"};
  const auto check = [](const std::vector<std::string>& all) {
    SeenTexts seen;
    for (int i = 0; i < 3; ++i) {
      for (const std::string& cell : all) seen.Add(cell);
    }
    EXPECT_LE(seen.kept().size(), all.size());
    EXPECT_EQ(GuessedCellType(seen.kept()), GuessedCellType(all)) << testing::PrintToString(all);
    EXPECT_EQ(GuessedTimestampType(seen.kept()), GuessedTimestampType(all))
        << testing::PrintToString(all);
  };
  for (const std::string& a : cells) {
    for (const std::string& b : cells) {
      for (const std::string& c : cells) check({a, b, c});
    }
  }
  SeenTexts numbers, texts;
  for (int i = 0; i < 100000; ++i) {
    numbers.Add(std::to_string(i * 7919 - 5000));
    texts.Add("text " + std::to_string(i));
  }
  EXPECT_LE(numbers.kept().size(), 3u);
  EXPECT_EQ(texts.kept().size(), 1u);
}

TEST(GuessedType, TellsText) {
  EXPECT_TRUE(IsTextType("str"));
  EXPECT_TRUE(IsTextType("bytes"));
  EXPECT_TRUE(IsTextType("bytes[-1] separator=|"));
  EXPECT_FALSE(IsTextType("int64[] decode=timestamp"));
}

}  // namespace
}  // namespace millhopper
