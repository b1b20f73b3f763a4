// SPDX-License-Identifier: Apache-2.0
// Attribute values and what their schemas allow.
#include "framework/base/attribute.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Strings = std::vector<std::string>;

std::string Refusal(const AttributeSchema& schema, const Attribute& given) {
  try {
    schema.Check(given);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
  return "it was taken";
}

TEST(Attribute, TypesAreNamedAsProgramsNameThem) {
  EXPECT_STREQ(AttributeTypeName(int32_t{1}), "INT");
  EXPECT_STREQ(AttributeTypeName(int64_t{1}), "LONG");
  EXPECT_STREQ(AttributeTypeName(1.0f), "FLOAT");
  EXPECT_STREQ(AttributeTypeName(1.0), "FLOAT64");
  EXPECT_STREQ(AttributeTypeName(true), "BOOLEAN");
  EXPECT_STREQ(AttributeTypeName("text"), "STRING");
  EXPECT_STREQ(AttributeTypeName(Ints{}), "INTS");
  EXPECT_STREQ(AttributeTypeName(Longs{}), "LONGS");
  EXPECT_STREQ(AttributeTypeName(std::vector<float>{}), "FLOATS");
  EXPECT_STREQ(AttributeTypeName(std::vector<double>{}), "FLOAT64S");
  EXPECT_STREQ(AttributeTypeName(Strings{}), "STRINGS");
  EXPECT_STREQ(AttributeTypeName(std::vector<bool>{}), "BOOLEANS");
  EXPECT_STREQ(AttributeTypeName(BlockIndex{1}), "BLOCK");
  EXPECT_STREQ(AttributeTypeName(std::vector<BlockIndex>{}), "BLOCKS");
}

TEST(Attribute, IsPrintedAsAPersonWouldWriteIt) {
  EXPECT_EQ(ToString(int32_t{-3}), "-3");
  EXPECT_EQ(ToString(0.5f), "0.5");
  EXPECT_EQ(ToString(true), "true");
  EXPECT_EQ(ToString("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(ToString(Ints{1, 2}), "[1, 2]");
  EXPECT_EQ(ToString(Strings{"a"}), "[\"a\"]");
  EXPECT_EQ(ToString(std::vector<bool>{true, false}), "[true, false]");
  EXPECT_EQ(ToString(BlockIndex{2}), "block 2");
  EXPECT_EQ(ToString(Ints(20, 7)),
            "[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, ... 20 in all]");
}

TEST(AttributeSchema, TakesItsOwnTypeAndIntWhereLongIsDeclared) {
  EXPECT_EQ(AttributeSchema("n", int32_t{}, "").Check(int32_t{5}), Attribute(int32_t{5}));
  EXPECT_EQ(AttributeSchema("n", int64_t{}, "").Check(int32_t{5}), Attribute(int64_t{5}));
  EXPECT_EQ(AttributeSchema("n", Longs{}, "").Check(Ints{5, 6}), Attribute(Longs{5, 6}));
  EXPECT_EQ(Refusal(AttributeSchema("n", int32_t{}, ""), int64_t{5}),
            "attribute 'n' is LONG 5; it must be INT");
  EXPECT_EQ(Refusal(AttributeSchema("n", 1.0f, ""), int32_t{5}),
            "attribute 'n' is INT 5; it must be FLOAT");
  EXPECT_EQ(Refusal(AttributeSchema("n", true, ""), int32_t{1}),
            "attribute 'n' is INT 1; it must be BOOLEAN");
}

TEST(AttributeSchema, ChecksTheLowestValueOfNumbersAndLists) {
  const AttributeSchema size = AttributeSchema("size", int32_t{1}, "").AtLeast(1);
  EXPECT_EQ(size.Check(int32_t{1}), Attribute(int32_t{1}));
  EXPECT_EQ(Refusal(size, int32_t{0}), "attribute 'size' is 0; it must be at least 1");
  const AttributeSchema shape = AttributeSchema("shape", Ints{}, "").AtLeast(-1);
  EXPECT_EQ(shape.Check(Ints{-1, 3}), Attribute(Ints{-1, 3}));
  EXPECT_EQ(Refusal(shape, Ints{3, -2}), "attribute 'shape' is -2; it must be at least -1");
  EXPECT_EQ(Refusal(AttributeSchema("f", 0.0f, "").AtLeast(0), -0.5f),
            "attribute 'f' is -0.5; it must be at least 0");
}

TEST(AttributeSchema, NotANumberIsBelowEveryLowestValue) {
  const AttributeSchema rate = AttributeSchema("rate", 0.0f, "").AtLeast(0);
  EXPECT_EQ(Refusal(rate, __builtin_nanf("")), "attribute 'rate' is nan; it must be at least 0");
}

TEST(AttributeSchema, ChecksWordsAndSuggestsTheNearest) {
  const AttributeSchema mode = AttributeSchema("mode", "concat", "").OneOf({"concat", "stack"});
  EXPECT_EQ(mode.Check("stack"), Attribute("stack"));
  EXPECT_EQ(Refusal(mode, "stak"),
            "attribute 'mode' is \"stak\"; it must be one of [\"concat\", \"stack\"]; did you mean "
            "'stack'?");
}

TEST(AttributeMap, GivesWhatWasSetAndNothingElse) {
  AttributeMap map;
  map.Set("n", int32_t{4});
  EXPECT_TRUE(map.Has("n"));
  EXPECT_FALSE(map.Has("m"));
  EXPECT_EQ(map.Get<int32_t>("n"), 4);
  for (const auto& wrong : {+[](const AttributeMap& m) { m.Get<int64_t>("n"); },
                            +[](const AttributeMap& m) { m.Get<int32_t>("m"); }}) {
    try {
      wrong(map);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
    }
  }
}

}  // namespace
}  // namespace millhopper
