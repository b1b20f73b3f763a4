// SPDX-License-Identifier: Apache-2.0
// condition: values, missing ones, texts of conditions that are wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "operators/math/logic/condition.h"
#include "tests/operators/run_op.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

struct Slot {
  std::string name;
  LoDTensor value;
};

LoDTensor Number(int64_t value) { return MakeTensor<int64_t>({1}, {value}); }
LoDTensor Bool(bool value) { return MakeTensor<bool>({1}, {value}); }

bool Holds(const std::string& condition, const std::vector<Slot>& slots) {
  SlotTensors inputs;
  Strings names;
  for (const Slot& slot : slots) {
    inputs.emplace_back("X", slot.value);
    names.push_back(slot.name);
  }
  const auto outs =
      RunOp("condition", inputs, {"Out"}, {{"condition", condition}, {"names", names}});
  return ValuesOf<bool>(outs.at("Out"))[0] != 0;
}

std::vector<Slot> Element() {
  return {{"label", Number(3)},
          {"lang", TextsOf({"en"})},
          {"good", Bool(true)},
          {"fare", MakeTensor<float>({1}, {0.1f})},
          {"user id", MakeTensor<uint64_t>({1}, {~uint64_t{0}})}};
}

TEST(ConditionOp, ComparesNumbersAndTexts) {
  for (const char* const condition : {"label >= 3",
                                      "label == 3.0",
                                      "3 <= label",
                                      "label<4",
                                      "label > -1",
                                      "label != 2",
                                      "lang == \"en\"",
                                      "lang == 'en'",
                                      "lang < \"fr\"",
                                      "lang != ''",
                                      "fare == 0.1",
                                      "fare <= 1e-1",
                                      "good",
                                      "good == true",
                                      "not good == false",
                                      "label in (1, 2, 3)",
                                      "lang not in ('de', \"fr\")",
                                      "`user id` == 18446744073709551615",
                                      "label == +3",
                                      "`user id` > 18446744073709551614",
                                      "true",
                                      "label in [1, 2, 3]",
                                      "lang not in ['de', 'fr']",
                                      "1 < label < 4",
                                      "label == 3 == label <= 3 != 4",
                                      "2 <= label - 1 < 3",
                                      "label > .5"}) {
    EXPECT_TRUE(Holds(condition, Element())) << condition;
    EXPECT_FALSE(Holds(StrCat("not (", condition, ")"), Element())) << condition;
  }
  // Neither is a float64 near the other.
  const std::vector<Slot> large = {{"x", Number((int64_t{1} << 53) + 1)}};
  EXPECT_FALSE(Holds("x == 9007199254740992", large));
  EXPECT_TRUE(Holds("x == 9007199254740993", large));
}

TEST(ConditionOp, JoinsByPrecedence) {
  const auto with = [](bool a, bool b, bool c) {
    return std::vector<Slot>{{"a", Bool(a)}, {"b", Bool(b)}, {"c", Bool(c)}};
  };
  for (int bits = 0; bits < 8; ++bits) {
    const bool a = bits & 1, b = bits & 2, c = bits & 4;
    EXPECT_EQ(Holds("a or b and c", with(a, b, c)), a || (b && c)) << bits;
    EXPECT_EQ(Holds("(a or b) and c", with(a, b, c)), (a || b) && c) << bits;
    EXPECT_EQ(Holds("not a and b or c", with(a, b, c)), (!a && b) || c) << bits;
    EXPECT_EQ(Holds("not (a and b)\n or not not c", with(a, b, c)), !(a && b) || c) << bits;
    EXPECT_EQ(Holds("a | b&c", with(a, b, c)), a || (b && c)) << bits;
    EXPECT_EQ(Holds("~(a | b) & c", with(a, b, c)), !(a || b) && c) << bits;
  }
  for (int x = 0; x < 5; ++x) {
    const std::vector<Slot> element = {{"x", Number(x)}};
    EXPECT_EQ(Holds("1 <= x < 3", element), 1 <= x && x < 3) << x;
    EXPECT_EQ(Holds("not 1 <= x < 3 or x == 2", element), !(1 <= x && x < 3) || x == 2) << x;
    EXPECT_EQ(Holds("3 > x != 1 > 0", element), 3 > x && x != 1) << x;
  }
}

// Tables of SQL: unknown is neither true nor false.
TEST(ConditionOp, WhatIsMissingIsNeitherTrueNorFalse) {
  const std::vector<Slot> element = {{"x", MakeTensor<float>({1}, {NAN})}, {"age", Number(0)},
                                     {"age.valid", Bool(false)},           {"name", TextsOf({""})},
                                     {"name.valid", Bool(true)},           {"yes", Bool(true)}};
  for (const char* const condition :
       {"x == 0", "x != 0", "not x == 0", "age < 5", "not age < 5", "age == age", "x in (1)",
        "x not in (1)", "yes and age == 0", "age == 0 or not yes", "not (yes and age == 0)",
        "name is missing", "age is not missing", "age is not None", "name is null",
        "0 <= age < 5"}) {
    EXPECT_FALSE(Holds(condition, element)) << condition;
  }
  for (const char* const condition :
       {"x is missing", "age is missing", "name is not missing", "x is null", "age is None",
        "name == ''", "yes or age == 0", "age == 0 or yes", "not (age == 0 and not yes)"}) {
    EXPECT_TRUE(Holds(condition, element)) << condition;
  }
}

// Beside the random ones of tests/python/readers/test_tables.py.
TEST(ConditionOp, ComputesAsPythonDoes) {
  const std::vector<Slot> element = {{"x", Number(7)},
                                     {"low", Number(INT64_MIN)},
                                     {"high", MakeTensor<uint64_t>({1}, {~uint64_t{0}})},
                                     {"half", MakeTensor<double>({1}, {0.5})},
                                     {"tenth", MakeTensor<float>({1}, {0.1f})}};
  for (const char* const condition : {"x % 2 == 1",
                                      "x%4==3",
                                      "-x % 4 == 1",
                                      "x % -4 == -1",
                                      "x // 2 == 3",
                                      "-x // 2 == -4",
                                      "x / 2 == 3.5",
                                      "(x + 1) * 2 - 6 == 10",
                                      "((x)) == 7",
                                      "10 - 2 - 3 == 5",
                                      "x-1 == 6",
                                      "2 + x * 3 == 23",
                                      "12 / 2 / 3 == 2",
                                      "x % 2 in (1, -1)",
                                      "not x % 2 == 0",
                                      "(x - 7 == 0) and (x) > 6",
                                      "low + high == 9223372036854775807",
                                      "high - 1 < high",
                                      "high % 10 == 5",
                                      "low % 10 == 2",
                                      "-low == 9223372036854775808",
                                      "-half % 2 == 1.5",
                                      "half * 3 == 1.5",
                                      "5.5 // -2 == -3",
                                      "tenth * 1 > 0.1",
                                      "tenth == 0.1",
                                      "0.1 + 0.2 != 0.3",
                                      "-9223372036854775808 == low",
                                      "+x == - -7",
                                      "+tenth != 0.1"}) {
    EXPECT_TRUE(Holds(condition, element)) << condition;
  }
  const auto refused = [&](const std::string& words, const std::string& condition) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { Holds(condition, element); });
  };
  refused("'x - 7' is 0, by which % divides", "x % (x - 7) == 0");
  refused("'0' is 0, by which / divides", "half / 0 > 1");
  refused("'1e-400' is 0, by which / divides", "half / 1e-400 > 1");
  refused("'low' - '1' is an integer beyond 64 bits; with a 1.0 * before it", "low - 1 + 2 < 0");
  refused("'high' * 'high' is an integer beyond 64 bits", "high * high > 0");
  EXPECT_FALSE(Holds("x != 7 and 1 / (x - 7) > 0", element));
  // What is missing stays so, and so does what is no number.
  const std::vector<Slot> missing = {{"x", MakeTensor<float>({1}, {NAN})},
                                     {"huge", MakeTensor<double>({1}, {INFINITY})}};
  for (const char* const condition :
       {"x + 1 > 0", "not x + 1 > 0", "huge - huge == 0", "huge % 2 != 1"}) {
    EXPECT_FALSE(Holds(condition, missing)) << condition;
  }
  EXPECT_TRUE(Holds("huge + 1 == huge", missing));
}

TEST(ConditionOp, SaysWhatIsWrong) {
  const Strings names = {"label", "lang"};
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "character 1: a slot, a number or a text in quotes is wanted, and it ends"},
      {"label >=", "character 9: a slot, a number or a text in quotes is wanted, and it ends"},
      {"label = 3", "character 7: == is wanted, and '=' stands there"},
      {"label >= 3 lang", "character 12: and, or, or the end is wanted, and 'lang' stands there"},
      {"1 < label <", "character 12: a slot, a number or a text in quotes is wanted, and it ends"},
      {"label in [1)", "character 12: ] is wanted"},
      {"label between 1 and 3", "'between' stands there; low <= x <= high is between"},
      {"lang like 'e%'", "'like' stands there; patterns of texts are for a function"},
      {"label > 1 && label < 3", "'&' stands there; `and` joins conditions"},
      {"label > 1 || label < 3", "'|' stands there; `or` joins conditions"},
      {"!lang", "'!' stands there; `not` is before what shall not hold"},
      {"label <> 3", "'>' stands there; what is not equal is !="},
      {"label > 1 AND label < 3", "'AND' stands there; it is written in small letters"},
      {"NOT label > 1", "there is no slot 'NOT'; it is written in small letters"},
      {"abs(label) > 1", "no slot 'abs'; a condition has no functions: Reader.filter(function)"},
      {"lable > 1", "there is no slot 'lable'; did you mean 'label'?"},
      {"x > 1", "there is no slot 'x'; there are label, lang"},
      {"lang == \"en", "character 9: the quote \" is not closed"},
      {"(label > 1", "character 11: ) is wanted, and it ends"},
      {"label in 3", "character 10: ( is wanted"},
      {"label in (lang)", "character 11: a slot, a number or a text in quotes is wanted"},
      {"label not 3", "character 11: in is wanted"},
      {"3 is missing", "slot is missing is wanted"},
      {"label > 1x", "a number is wanted, and '1x' stands there"},
      {"label > -inf", "there is no slot 'inf'"},
      {"label > 1..2", "a number is wanted"},
      {"label > .inf", "a number is wanted"},
      {"label > 0x10", "a number is wanted"},
      {"label > -", "a slot, a number or a text in quotes is wanted, and it ends"},
      {"label in (-lang)", "a number is wanted, and 'lang' stands there"},
      {"label % (2 == 0)", "character 12: ) is wanted, and '==' stands there"},
      {"(label > 1) + 2 > 1", "character 13: and, or, or the end is wanted, and '+' stands there"},
      {"label + 1 is missing", "slot is missing is wanted"},
      {"label ** 2 > 1",
       "a slot, a number or a text in quotes is wanted, and '*' stands there; a power"},
      {"label > " + std::string(1000, '-') + "1", "it is nested too deeply"},
      {"label ; 3", "';' stands there"},
      {std::string(1000, '('), "it is nested too deeply"},
      {std::string(70000, 'x'), "at most 65536 are possible"},
  };
  for (const auto& [text, words] : wrong) {
    SCOPED_TRACE(text.substr(0, 100));
    ExpectError(ErrorCode::kInvalidArgument, words, [&, text = text] { Condition(text, names); });
  }
}

TEST(ConditionOp, RefusesKindsThatDoNotFit) {
  const auto refused = [](const std::string& words, const std::string& condition) {
    SlotTensors inputs;
    Strings names;
    for (const Slot& slot : Element()) {
      inputs.emplace_back("X", slot.value);
      names.push_back(slot.name);
    }
    ExpectRefused(words, "condition", inputs, {"Out"},
                  {{"condition", condition}, {"names", names}});
  };
  refused("slot 'lang' is text, and '3' is a number; only what is of one kind", "lang == 3");
  refused("slot 'label' is a number, and 'en' is text", "label in (3, 'en')");
  refused("slot 'good' is true or false, and '1' is a number", "good == 1");
  refused("'label' is a number, which is neither true nor false; compare it, as in != 0", "label");
  refused("'lang' is text, which is neither true nor false", "not lang");
  refused("'label + 1' is a number, which is neither true nor false", "label + 1");
  refused("'good' is true or false, and + computes with numbers", "good + 1 > 1");
  refused("'en' is text, and * computes with numbers", "label * 'en' == 3");
  refused("'label % 2' is a number, and 'en' is text", "label % 2 == 'en'");
  ExpectError(ErrorCode::kInvalidArgument, "slot 'v' has 2 values in an element", [] {
    Holds("v > 1", {{"v", MakeTensor<int64_t>({2}, {1, 2})}});
  });
}

}  // namespace
}  // namespace millhopper
