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
  EXPECT_EQ(TypeOf({"1", "2.5"}), "float32[]");
  EXPECT_EQ(TypeOf({"1", ""}), "int64[-1] missing=default");
  EXPECT_EQ(TypeOf({"1.5", ""}), "float32[] default=nan");
  EXPECT_EQ(TypeOf({"", ""}), "bytes");
  EXPECT_EQ(TypeOf({"1", "x"}), "bytes");
}

TEST(GuessedType, KeepsNumbersAsTheyAreWritten) {
  EXPECT_EQ(TypeOf({"18446744073709551615", "1"}), "uint64[]");
  EXPECT_EQ(TypeOf({"18446744073709551615", "-1"}), "float64[]");
  EXPECT_EQ(TypeOf({"18446744073709551615", ""}), "uint64[-1] missing=default");
  EXPECT_EQ(TypeOf({"0.1", "-2.5e-3", "0.3333333", "1e30", "100"}), "float32[]");
  EXPECT_EQ(TypeOf({"inf", "-inf", "nan", "0"}), "float32[]");
  EXPECT_EQ(TypeOf({"48.85837009", "1"}), "float64[]");
  EXPECT_EQ(TypeOf({"1700000000.125"}), "float64[]");
  EXPECT_EQ(TypeOf({"0.5", "16777217"}), "float64[]");
  EXPECT_EQ(TypeOf({"1e300", "NA"}), "float64[] null=NA default=nan");
  EXPECT_EQ(TypeOf({"12345678.91|1", "2"}), "float64[-1] separator=|");
}

TEST(GuessedType, KnowsWhatStandsForNoValue) {
  EXPECT_EQ(TypeOf({"1", "NULL", "2"}), "int64[-1] null=NULL missing=default");
  EXPECT_EQ(TypeOf({"1", "\\N", "", "?"}), "int64[-1] null=\\N,? missing=default");
  EXPECT_EQ(TypeOf({"1", "nan"}), "int64[-1] null=nan missing=default");
  EXPECT_EQ(TypeOf({"1.5", "nan"}), "float32[]");
  EXPECT_EQ(TypeOf({"1.5", "nan", "NA"}), "float32[] null=NA default=nan");
  EXPECT_EQ(TypeOf({"NULL", "NULL"}), "bytes");
  EXPECT_EQ(TypeOf({"x", "NULL"}), "bytes");
}

TEST(GuessedType, IsThatOfTimestamps) {
  EXPECT_EQ(TypeOf({"2024-01-31", "2024-02-01"}), "int64[] decode=timestamp");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05", "2024-02-01T00:00Z", ""}),
            "int64[] decode=timestamp default=-9223372036854775808");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05.25", "2024-01-31"}), "int64[] decode=timestamp unit=ms");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05.000001", "NULL"}),
            "int64[] decode=timestamp unit=us null=NULL default=-9223372036854775808");
  EXPECT_EQ(TypeOf({"2024-01-31", "2024-02-30"}), "bytes");
  EXPECT_EQ(GuessedTimestampType({"2024-01-31 12:00:05.000000001"}),
            "int64[] decode=timestamp unit=ns");
  EXPECT_EQ(GuessedTimestampType({}), "");
  EXPECT_EQ(GuessedTimestampType({"2024-01-31", ""}), "");
}

TEST(GuessedType, IsThatOfSeveralValues) {
  EXPECT_EQ(TypeOf({"Action|Crime", "Drama"}), "bytes[-1] separator=|");
  EXPECT_EQ(TypeOf({"1|2", "3"}), "int64[-1] separator=|");
  EXPECT_EQ(TypeOf({"1;2.5", "3"}), "float32[-1] separator=;");
  EXPECT_EQ(TypeOf({"1 2", "", "3"}), "int64[-1]");
  EXPECT_EQ(TypeOf({"1 2", "NA"}), "int64[-1] null=NA missing=default");
  for (const char* const text : {"One | two", "a|", "one; two", "one two", "1,200"}) {
    EXPECT_EQ(TypeOf({text, "x"}), "bytes") << text;
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
    if (field.sequence || field.bytes) {
      EXPECT_FALSE(field.has_default);
    } else if (IsFloat(field.slot.dtype)) {
      EXPECT_EQ(OrMissing(type), StrCat(type, " default=nan"));
    } else {
      EXPECT_EQ(OrMissing(type), StrCat(type, " default=-9223372036854775808"));  // numpy's NaT
    }
  }
  EXPECT_EQ(OrMissing("int64[2, 2] null=NA"), "int64[-1] null=NA missing=default");
}

TEST(GuessedType, TellsText) {
  EXPECT_TRUE(IsTextType("bytes"));
  EXPECT_TRUE(IsTextType("bytes[-1] separator=|"));
  EXPECT_FALSE(IsTextType("int64[] decode=timestamp"));
}

}  // namespace
}  // namespace millhopper
