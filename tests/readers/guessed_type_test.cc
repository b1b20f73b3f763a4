// SPDX-License-Identifier: Apache-2.0
// The types that columns of text seem to have.
#include "readers/guessed_type.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "readers/fields.h"

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
  EXPECT_EQ(TypeOf({"1", ""}), "int64[] default=0");
  EXPECT_EQ(TypeOf({"", ""}), "int64[] default=0");
  EXPECT_EQ(TypeOf({"1", "x"}), "bytes");
}

TEST(GuessedType, KnowsWhatStandsForNoValue) {
  EXPECT_EQ(TypeOf({"1", "NULL", "2"}), "int64[] null=NULL default=0");
  EXPECT_EQ(TypeOf({"1", "\\N", "", "?"}), "int64[] null=\\N,? default=0");
  EXPECT_EQ(TypeOf({"1", "nan"}), "int64[] null=nan default=0");
  EXPECT_EQ(TypeOf({"1.5", "nan"}), "float32[]");
  EXPECT_EQ(TypeOf({"1.5", "nan", "NA"}), "float32[] null=NA default=0");
  EXPECT_EQ(TypeOf({"NULL", "NULL"}), "bytes");
  EXPECT_EQ(TypeOf({"x", "NULL"}), "bytes");
}

TEST(GuessedType, IsThatOfTimestamps) {
  EXPECT_EQ(TypeOf({"2024-01-31", "2024-02-01"}), "int64[] decode=timestamp");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05", "2024-02-01T00:00Z", ""}),
            "int64[] decode=timestamp default=0");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05.25", "2024-01-31"}), "int64[] decode=timestamp unit=ms");
  EXPECT_EQ(TypeOf({"2024-01-31 12:00:05.000001", "NULL"}),
            "int64[] decode=timestamp unit=us null=NULL default=0");
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

TEST(GuessedType, TellsText) {
  EXPECT_TRUE(IsTextType("bytes"));
  EXPECT_TRUE(IsTextType("bytes[-1] separator=|"));
  EXPECT_FALSE(IsTextType("int64[] decode=timestamp"));
}

}  // namespace
}  // namespace millhopper
