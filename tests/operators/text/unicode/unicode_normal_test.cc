// SPDX-License-Identifier: Apache-2.0
// Normalization forms. tests/python/readers/test_tokenizers.py compares them with the original for
// nearly all characters.
#include "operators/text/unicode/unicode_normal.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "operators/text/unicode/unicode_classes.h"
#include "tests/operators/text/texts.h"

namespace millhopper {
namespace {

constexpr NormalForm kForms[] = {NormalForm::kNfc, NormalForm::kNfd, NormalForm::kNfkc,
                                 NormalForm::kNfkd};

std::string Normal(NormalForm form, const std::string& text) {
  TextBytes out;
  AppendNormal(form, reinterpret_cast<const uint8_t*>(text.data()), text.size(), &out);
  return {out.begin(), out.end()};
}

bool IsCertain(NormalForm form, const std::string& text) {
  return IsCertainlyNormal(form, reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

std::string Lower(uint32_t point) {
  TextBytes out;
  AppendLower(point, &out);
  return {out.begin(), out.end()};
}

TEST(UnicodeNormal, FormsAreThoseOfTheStandard) {
  struct Case {
    std::string text, nfc, nfd, nfkc, nfkd;
  };
  const std::string e = "\u00e9", parts = "e\u0301";
  const Case cases[] = {
      {"", "", "", "", ""},
      {"abc", "abc", "abc", "abc", "abc"},
      {parts, e, parts, e, parts},
      {e, e, parts, e, parts},
      {"\ufb01\u00bd", "\ufb01\u00bd", "\ufb01\u00bd", "fi1\u20442", "fi1\u20442"},
      // Of marks the lower class comes first; a mark of one class is not passed by.
      {"q\u0307\u0323", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307"},
      {"a\u0315\u0300", "\u00e0\u0315", "a\u0300\u0315", "\u00e0\u0315", "a\u0300\u0315"},
      {"\u1e9b\u0323", "\u1e9b\u0323", "\u017f\u0323\u0307", "\u1e69", "s\u0323\u0307"},
      {"\uac01", "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"},
      {"\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"},
      {"\u1100\u1161\u1161", "\uac00\u1161", "\u1100\u1161\u1161", "\uac00\u1161",
       "\u1100\u1161\u1161"},
      // Not composed: the Angstrom sign, Hebrew points, two marks.
      {"\u212b", "\u00c5", "A\u030a", "\u00c5", "A\u030a"},
      {"\u05d9\u05b4", "\u05d9\u05b4", "\u05d9\u05b4", "\u05d9\u05b4", "\u05d9\u05b4"},
      {"\u0308\u0301", "\u0308\u0301", "\u0308\u0301", "\u0308\u0301", "\u0308\u0301"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Normal(NormalForm::kNfc, one.text), one.nfc);
    EXPECT_EQ(Normal(NormalForm::kNfd, one.text), one.nfd);
    EXPECT_EQ(Normal(NormalForm::kNfkc, one.text), one.nfkc);
    EXPECT_EQ(Normal(NormalForm::kNfkd, one.text), one.nfkd);
  }
}

TEST(UnicodeNormal, FormsOfFormsAreTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = RandomText(&random, 1 + i % 12, true);
    for (const NormalForm form : kForms) {
      const std::string normal = Normal(form, text);
      ASSERT_EQ(Normal(form, normal), normal);
      if (IsCertain(form, text)) {
        ASSERT_EQ(normal, text);
      }
    }
    const std::string decomposed = Normal(NormalForm::kNfd, text);
    ASSERT_EQ(Normal(NormalForm::kNfc, decomposed), Normal(NormalForm::kNfc, text));
    ASSERT_EQ(Normal(NormalForm::kNfkc, decomposed), Normal(NormalForm::kNfkc, text));
  }
}

TEST(UnicodeNormal, EveryCharacterIsCertainOnlyIfItIsNormal) {
  for (uint32_t point = 0; point < 0x110000; ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;
    const std::string text = Utf8(point);
    for (const NormalForm form : kForms) {
      if (IsCertain(form, text)) {
        ASSERT_EQ(Normal(form, text), text) << point;
      }
    }
  }
  EXPECT_TRUE(IsCertain(NormalForm::kNfc, "\u4e2d\u00e9\uac00\U0001f600"));
  EXPECT_FALSE(IsCertain(NormalForm::kNfd, "\u00e9"));
  EXPECT_FALSE(IsCertain(NormalForm::kNfc, "e\u0301"));
}

TEST(UnicodeNormal, SmallLettersAreThoseOfEachCharacter) {
  EXPECT_EQ(Lower('A'), "a");
  EXPECT_EQ(Lower('1'), "1");
  EXPECT_EQ(Lower(0xc9), "\u00e9");
  EXPECT_EQ(Lower(0x100), "\u0101");
  EXPECT_EQ(Lower(0x101), "\u0101");
  EXPECT_EQ(Lower(0x130), "i\u0307");
  EXPECT_EQ(Lower(0x3a3), "\u03c3");
  EXPECT_EQ(Lower(0x1c5), "\u01c6");
  EXPECT_EQ(Lower(0x10400), "\U00010428");
  EXPECT_EQ(Lower(0x16ea0), "\U00016ebb");  // new in Unicode 17
}

TEST(UnicodeClasses, HaveTheVersionOfTheirUse) {
  EXPECT_TRUE(IsBertPunctuation('$'));
  EXPECT_TRUE(IsBertPunctuation(0x2014));
  EXPECT_FALSE(IsBertPunctuation(0x20ac));  // the euro is a symbol
  EXPECT_FALSE(IsBertPunctuation(0x2e43));  // new in Unicode 9
  EXPECT_TRUE(IsMark(0x8d4));               // new in Unicode 9
  EXPECT_FALSE(IsMark(0x8d3));              // new in Unicode 11
  EXPECT_FALSE(IsBertMark(0x8d4));
  EXPECT_TRUE(IsBertMark(0x301));
  EXPECT_TRUE(IsBertControl(0xad));
  EXPECT_FALSE(IsBertControl(0x8e2));  // new in Unicode 9
  EXPECT_TRUE(IsNumeric(0x11de0));     // new in Unicode 17
  EXPECT_TRUE(IsWordCharacter('_'));
  EXPECT_TRUE(IsWordCharacter(0x24b6));
  EXPECT_FALSE(IsWordCharacter(0xb2));
  EXPECT_TRUE(IsSpace(0x85));
}

}  // namespace
}  // namespace millhopper
