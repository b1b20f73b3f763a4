// SPDX-License-Identifier: Apache-2.0
// The text of slots: what it tells, and how wrong ones are refused.
#include "readers/fields/named_slots.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(NamedSlots, AreReadAsTheyAreWritten) {
  for (const char* text : {"", "uint8[1,28,28] int64[1,1]", "image uint8[1,28,28] label int64[1,1]",
                           "x uint8[-1]:1", "title str[-1]:1 words str[-1]:2",
                           R"("user id" int64[1] "a\"b\\c" float32[2] float32 float32[3])",
                           "\u00fc-1.b_/#5 bfloat16[9]", R"("[" bool[1] "x:y" uint64[0])"}) {
    EXPECT_EQ(ToText(ParseSlots(text)), text);
  }
  const NamedSlots slots = ParseSlots("\n image  uint8[ 1 , -1 ]:2,label\tint64[1];");
  EXPECT_EQ(slots.names, (std::vector<std::string>{"image", "label"}));
  EXPECT_EQ(slots.slots, (std::vector<SlotSpec>{{DataType::kUint8, {1, -1}, 2, true},
                                                {DataType::kInt64, {1}, 0, true}}));
}

TEST(NamedSlots, AreTextWhereTheySaySo) {
  const std::vector<SlotSpec> slots = ParseSlots("str[-1]:1 uint8[-1]:1").slots;
  EXPECT_TRUE(slots[0].text);
  EXPECT_FALSE(slots[1].text);
  EXPECT_EQ(slots[0], slots[1]);
  CommonSlots common;
  common.Add(ParseSlots("str[-1]:1 str[-1]:1").slots);
  common.Add(slots);
  EXPECT_EQ(ToText({*common.slots(), {}}), "str[-1]:1 uint8[-1]:1");
}

TEST(NamedSlots, HaveNamesOfOneLine) {
  const std::vector<SlotSpec> two(2, {DataType::kInt64, {1}, 0, true});
  EXPECT_EQ(ToText({two, {"a\nb", "\xff"}}), R"("a\\nb" int64[1] "\\xff" int64[1])");
  EXPECT_EQ(ToText({two, {"a", "a"}}), "int64[1] int64[1]");
  EXPECT_EQ(ToText({two, {"a", ""}}), "int64[1] int64[1]");
}

TEST(NamedSlots, ThatAreWrongAreRefused) {
  const auto expect = [](const std::string& text, const std::string& words) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { ParseSlots(text); });
  };
  expect("float32", "'float32' is no slot; one looks like float32[1,784]");
  expect("float[1]", "no type 'float'");
  expect("x str[-1]", "'x str[-1]' is no slot of text; one is str[-1]:1");
  expect("str[3]:1 int64[1]", "'str[3]:1 int64[1]' is no slot of text");
  expect("flot32[1]", "did you mean 'float32'?");
  expect("x y float32[1]", "'x y float32[1]' is no slot");
  expect("int64[1] float32[", "'float32[' is no slot");
  expect("int64[]", "'int64[]' is no slot");
  expect("int64[1", "'int64[1' is no slot");
  expect("int64[1,]", "'int64[1,]' is no slot");
  expect("int64[1]x", "'int64[1]x' is no slot");
  expect("int64[1]:", "'int64[1]:' is no slot");
  expect("int64[99999999999999999999]", "is no slot");
  expect("int64[1]:99", "99 levels of detail");
  expect("int64[-2]", "an axis is -1 (any) or more");
  expect("\"x int64[1]", "is no slot");
  expect("\"x\\", "is no slot");
  expect("\"\" int64[1]", "is no slot");
  expect("x", "'x' is no slot");
  expect("[1]", "'[1]' is no slot");
  expect("x" + std::string(1000, '?'), "x" + std::string(59, '?') + "...' is no slot");
  expect("x int64[1] int64[1]", "only some of the slots have names");
  expect("x int64[1] x int64[1]", "two slots have one name");
  std::string many;
  for (size_t i = 0; i <= kMaxSlots; ++i) many += "bool[1] ";
  expect(many, "the limit is 4096");
  std::string deep = "bool[1";
  for (int i = 0; i < 1000; ++i) deep += ",1";
  ExpectError(ErrorCode::kResourceLimit, "the limit is", [&] { ParseSlots(deep + "]"); });
}

TEST(CommonSlots, FitEveryElement) {
  CommonSlots common;
  EXPECT_EQ(common.slots(), std::nullopt);
  const auto text = [&] { return common.slots() ? ToText({*common.slots(), {}}) : "none"; };
  common.Add(ParseSlots("float32[1,3,4] uint8[5]:1").slots);
  EXPECT_EQ(text(), "float32[1,3,4] uint8[-1]:1");
  common.Add(ParseSlots("float32[1,2,4] uint8[-1]:1").slots);
  EXPECT_EQ(text(), "float32[1,-1,4] uint8[-1]:1");
  for (const char* other : {"float32[1,2,4]", "float32[1,2] uint8[5]:1", "int32[1,2,4] uint8[5]:1",
                            "float32[1,2,4] uint8[5]"}) {
    CommonSlots differing = common;
    differing.Add(ParseSlots(other).slots);
    EXPECT_EQ(differing.slots(), std::nullopt) << other;
    differing.Add(ParseSlots("float32[1,2,4] uint8[-1]:1").slots);
    EXPECT_EQ(differing.slots(), std::nullopt) << other;
  }
  common.GiveUp();
  EXPECT_EQ(common.slots(), std::nullopt);
  CommonSlots none_first;
  none_first.Add(std::vector<SlotSpec>());
  none_first.Add(ParseSlots("float32[1]").slots);
  EXPECT_EQ(none_first.slots(), std::nullopt);
}

}  // namespace
}  // namespace millhopper
