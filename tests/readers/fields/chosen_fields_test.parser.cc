// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/chosen_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

const FittingFields kFound = {{"id int64[]", "\"driver's age\" int64[] missing=mask", "I1 int64[]",
                               "I2 float64[] default=nan", "I3 int64[]", "I1-I2 bytes"},
                              {"'m': it is a map"}};

Texts Chosen(const Texts& entries, const Texts& exclude = {}) {
  return ChooseFields(entries, exclude, kFound);
}

void ExpectProblem(const std::string& problem, const Texts& entries, const Texts& exclude = {}) {
  ExpectError(ErrorCode::kInvalidArgument, problem, [&] { Chosen(entries, exclude); });
}

TEST(ChosenFields, AreThoseWithoutTypes) {
  for (const char* const entry :
       {"id", "*", "driver's age", "\"driver's age\"", "a = b", "I1-I3"}) {
    EXPECT_TRUE(AreChosenByName({"x int64[]", entry})) << entry;
  }
  EXPECT_TRUE(AreChosenByName({}));
  EXPECT_FALSE(AreChosenByName(
      {"x int64[]", "y bytes", "a = \"b c\" float32[] default=1", "z int64", "* int64[]"}));
}

TEST(ChosenFields, HaveTheTypesThatFit) {
  EXPECT_EQ(Chosen({"I2", "id"}), (Texts{"I2 float64[] default=nan", "id int64[]"}));
  EXPECT_EQ(Chosen({"driver's age"}), Chosen({"\"driver's age\""}));
  EXPECT_EQ(Chosen({"id float32[]", "I3"}), (Texts{"id float32[]", "I3 int64[]"}));
  EXPECT_EQ(Chosen({"unknown bytes missing=default"}), Texts{"unknown bytes missing=default"});
}

TEST(ChosenFields, MayHaveOtherNames) {
  EXPECT_EQ(Chosen({"age = driver's age", "\"the id\" = id"}),
            (Texts{"age = \"driver's age\" int64[] missing=mask", "\"the id\" = id int64[]"}));
  EXPECT_EQ(Chosen({"id = id"}), Texts{"id int64[]"});
  ExpectProblem("'i = I2-I3' gives several columns one name", {"i = I2-I3"});
}

TEST(ChosenFields, OfRanges) {
  EXPECT_EQ(Chosen({"I2-I3"}), (Texts{"I2 float64[] default=nan", "I3 int64[]"}));
  EXPECT_EQ(Chosen({"I1-I2"}), Texts{"I1-I2 bytes"});  // a column is called so
  ExpectProblem("there is no 'I4', of 'I2-I4'; did you mean 'I1'?", {"I2-I4"});
  ExpectProblem("the range 'I3-I2' ends before it begins", {"I3-I2"});
  ExpectError(ErrorCode::kResourceLimit, "the range 'I1-I999999999' has 999999999 names",
              [] { Chosen({"I1-I999999999"}); });
  ExpectProblem("there is no 'I1-I9999999999999999999'", {"I1-I9999999999999999999"});
  for (const char* const name : {"I1-", "-I1", "I1-J2", "-", "I-J"}) {
    ExpectProblem(StrCat("there is no '", name, "'"), {name});
  }
  const FittingFields padded = {{"C01 bytes", "C02 int64[]"}, {}};
  EXPECT_EQ(ChooseFields({"C01-C02"}, {}, padded), padded.entries);
}

TEST(ChosenFields, AreAllThatNoOtherNames) {
  ExpectProblem("not all that is in it can be read: 'm': it is a map; the rest is read with fields",
                {});
  Texts all = kFound.entries;
  EXPECT_EQ(Chosen({}, {"m"}), all);
  EXPECT_EQ(Chosen({"*"}, {"m"}), all);
  EXPECT_EQ(Chosen({"I1-I2", "*"}, {"m", "I1", "I2", "driver's age"}),
            (Texts{"I1-I2 bytes", "id int64[]", "I3 int64[]"}));
  EXPECT_EQ(Chosen({"*", "x = id float32[]"}, {"m", "I1-I2", "I2-I3", "driver's age"}),
            (Texts{"I1 int64[]", "x = id float32[]"}));
}

// Booleans that are called like the mask of another column would be taken for it.
TEST(ChosenFields, HaveNoNamesOfMasks) {
  FittingFields found = {
      {"a int64[]", "a.valid bool[]", "b.valid bool[]", "c int64[]", "c.valid int64[]"}, {}};
  const auto refused = [&](const Texts& entries, const std::string& named) {
    ExpectError(ErrorCode::kInvalidArgument,
                "'a.valid' has the name of the mask of 'a', by which filter, statistics and write "
                "know where that has no value; rename that one, as in fields: [\"*\", \"other = " +
                    named + "\"]",
                [&] { ChooseFields(entries, {}, found); });
  };
  refused({}, "a.valid");
  refused({"a.valid", "a"}, "a.valid");
  refused({"a.valid = b.valid", "a"}, "b.valid");
  EXPECT_EQ(ChooseFields({}, {"a"}, found).size(), 4);
  EXPECT_EQ(ChooseFields({"a.valid"}, {}, found).size(), 1);
  EXPECT_EQ(ChooseFields({"*", "other = a.valid"}, {}, found).back(), "other = a.valid bool[]");
  found.holds_masks = true;
  EXPECT_EQ(ChooseFields({}, {}, found), found.entries);
}

TEST(ChosenFields, MustBeThere) {
  ExpectProblem("there is no 'ids'; did you mean 'id'?; there are 'id', 'driver's age', 'I1'",
                {"ids"});
  ExpectProblem("there is no 'id int65'", {"id int65"});
  ExpectProblem("it cannot be read: 'm': it is a map", {"m"});
  ExpectProblem("there is no 'ids'", {"*"}, {"ids"});
}

}  // namespace
}  // namespace millhopper
