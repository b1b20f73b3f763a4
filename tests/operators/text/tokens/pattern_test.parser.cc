// SPDX-License-Identifier: Apache-2.0
// Regular expressions, by what they match in small texts. tests/python/readers/test_tokenizers.py
// compares them with Oniguruma, and tests of pieces with what was written by hand.
#include "operators/text/tokens/pattern.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "operators/text/tokens/needle.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr auto kOniguruma = Pattern::Notation::kOniguruma;
constexpr auto kRust = Pattern::Notation::kRust;

using Found = std::vector<std::string>;

Found Matches(const std::string& expression, const std::string& text,
              Pattern::Notation notation = kOniguruma) {
  const Needle needle{Pattern(expression, notation)};
  // Memory of exactly this size, so that a sanitizer sees a read past its end.
  const std::vector<uint8_t> exact(text.begin(), text.end());
  const uint8_t* const end = exact.data() + exact.size();
  const uint8_t* here = exact.data();
  const uint8_t* first = nullptr;
  Found found;
  while (needle.Find(exact.data(), here, end, &first, &here)) found.emplace_back(first, here);
  return found;
}

TEST(Pattern, MatchesSetsAndRepetitions) {
  EXPECT_EQ(Matches("a", "banana"), (Found{"a", "a", "a"}));
  EXPECT_EQ(Matches("[a-cx]+", "abxdcc"), (Found{"abx", "cc"}));
  EXPECT_EQ(Matches("[^a-c]+", "ab\u00e9\ncx"), (Found{"\u00e9\n", "x"}));
  EXPECT_EQ(Matches("[-a]+", "a-b"), (Found{"a-"}));
  EXPECT_EQ(Matches("[a\\-\\]]+", "a-]b"), (Found{"a-]"}));
  EXPECT_EQ(Matches("a{2}", "aaaaa"), (Found{"aa", "aa"}));
  EXPECT_EQ(Matches("a{2,3}", "aaaaa"), (Found{"aaa", "aa"}));
  EXPECT_EQ(Matches("a{2,}", "aaaaa a"), (Found{"aaaaa"}));
  EXPECT_EQ(Matches("ba*?a", "baaa"), (Found{"ba"}));
  EXPECT_EQ(Matches("ba+?c", "baaac"), (Found{"baaac"}));
  EXPECT_EQ(Matches("a*+a", "aaa"), (Found{}));
  EXPECT_EQ(Matches("a*a", "aaa"), (Found{"aaa"}));
  EXPECT_EQ(Matches(".+", "a\u00e9\nb"), (Found{"a\u00e9", "b"}));
  EXPECT_EQ(Matches("[\u4e00-\u9fa5]+", "x\u4e2d\u6587y"), (Found{"\u4e2d\u6587"}));
  EXPECT_EQ(Matches("\\x41\\x{1F600}\\u00e9", "A\U0001f600\u00e9"), (Found{"A\U0001f600\u00e9"}));
}

TEST(Pattern, MatchesClassesOfUnicode) {
  EXPECT_EQ(Matches("\\p{L}+", "ab\u00e9\u4e2d1"), (Found{"ab\u00e9\u4e2d"}));
  EXPECT_EQ(Matches("\\P{L}+", "a1\u0660b"), (Found{"1\u0660"}));
  EXPECT_EQ(Matches("\\p{^L}", "a1"), (Found{"1"}));
  EXPECT_EQ(Matches("\\pL", "a1"), (Found{"a"}));
  EXPECT_EQ(Matches("[^\\s\\p{L}]+", "a \u0085\u3000!\u0301b"), (Found{"!\u0301"}));
  EXPECT_EQ(Matches("\\s+", "a \u0085\u3000\tb"), (Found{" \u0085\u3000\t"}));
  EXPECT_EQ(Matches("[\\S\\n]+", "a\n \u0085b"), (Found{"a\n", "b"}));
  EXPECT_EQ(Matches("\\d+\\D", "12\u0660x"), (Found{"12\u0660x"}));
  EXPECT_EQ(Matches("\\p{Lu}\\p{Ll}", "\u00c9\u00e9Aa"), (Found{"\u00c9\u00e9", "Aa"}));
}

TEST(Pattern, MatchesGroups) {
  EXPECT_EQ(Matches("ab|a|c", "abac"), (Found{"ab", "a", "c"}));
  EXPECT_EQ(Matches("(?:ab)+c?", "ababc ab"), (Found{"ababc", "ab"}));
  EXPECT_EQ(Matches("(a|bc){2,3}x", "abcax aax"), (Found{"abcax", "aax"}));
  EXPECT_EQ(Matches("(?:a|ab)(?:c|bcd)", "abcd"), (Found{"abcd"}));
  EXPECT_EQ(Matches("(?>a|ab)c", "abc ac"), (Found{"ac"}));
  EXPECT_EQ(Matches("(?:ab)++a", "ababa"), (Found{"ababa"}));
  EXPECT_EQ(Matches("(?:a|b)*?c", "abcc"), (Found{"abc", "c"}));
  EXPECT_EQ(Matches("a(?=b)|b(?!b)", "abb"), (Found{"a", "b"}));
  EXPECT_EQ(Matches("\\s+(?!\\S)|\\s+", "a   b  "), (Found{"  ", " ", "  "}));
  EXPECT_EQ(Matches("(?i:'s|'re)+", "'S'rE'\u017f"), (Found{"'S'rE'\u017f"}));
  EXPECT_EQ(Matches("(?i:[k-l])", "K\u212aLm"), (Found{"K", "\u212a", "L"}));
}

TEST(Pattern, KnowsTheEndsOfEachNotation) {
  EXPECT_EQ(Matches("^a|b$", "a\nab\nab"), (Found{"a", "a", "b", "a", "b"}));
  EXPECT_EQ(Matches("^a|b$", "a\nab\nab", kRust), (Found{"a", "b"}));
  EXPECT_EQ(Matches("\\Aa|b\\z", "ab\nab"), (Found{"a", "b"}));
  EXPECT_EQ(Matches("a{1,2}+a", "aaa", kRust), (Found{"aaa"}));
  EXPECT_EQ(Matches("a{1,2}+a", "aa", kRust), (Found{}));
}

TEST(Pattern, NamesWhatIsNotSupported) {
  struct Case {
    std::string expression, problem;
  };
  const std::vector<Case> cases = {
      {"(", "character 1: a group has no )"},
      {")", "a ) ends no group"},
      {"[a", "a set has no ]"},
      {"[]", "a set is empty"},
      {"[[:alpha:]]", "a class such as [:alpha:]"},
      {"[a&&]", "a part of a set is empty"},
      {"(?i:[a[b]])", "a set within a set without case"},
      {"(?i:[a&&b])", "&& without case"},
      {"(?i:\\p{Han})", "characters without case beyond ASCII"},
      {"[b-a]", "this range is not known"},
      {"*", "there is nothing to repeat"},
      {"a**", "what is repeated is not repeated"},
      {"(?:a|b*)+", "what may match no character is not repeated"},
      {"a*", "all of it may match no character"},
      {"a|", "all of it may match no character"},
      {"(?=a)", "all of it may match no character"},
      {"a{1001}", "a count above 1000"},
      {"a{3,2}", "a count is"},
      {"a{1,2}+", "a + after a count"},
      {"(?<=a+)b", "a lookbehind of more than 255 characters"},
      {"(?<=a)", "all of it may match no character"},
      {"(?<name>a)", "this kind of group is not known"},
      {"\\bword", "\\b is not known"},
      {"(a)\\1", "\\1 is not known"},
      {"\\p{Klingon}", "the property 'Klingon' is not known"},
      {"\\p{Script=Han}", "the property 'Script=Han' is not known"},
      {"\\p{L", "a property has no }"},
      {"\\x4", "a code point is"},
      {"\\", "it ends too early"},
      {"(?i:\u00e9)", "characters without case beyond ASCII"},
      {"(?i:\\p{Lu})", "characters without case beyond ASCII"},
      {"(?i:mass)", "a ligature"},
      {"a\xff", "it is not UTF-8"},
  };
  for (const Case& one : cases) {
    ExpectError(ErrorCode::kInvalidArgument, one.problem,
                [&] { Pattern(one.expression, kOniguruma); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "groups in more than",
              [] { Pattern(std::string(60, '(') + "a" + std::string(60, ')'), kOniguruma); });
  ExpectError(ErrorCode::kInvalidArgument, "more than 10000 steps",
              [] { Pattern("(?:(?:ab){100}){1000}", kOniguruma); });
  ExpectError(ErrorCode::kInvalidArgument, "sets in more than",
              [] { Pattern(std::string(60, '[') + "a" + std::string(60, ']'), kOniguruma); });
  std::string many;
  for (int i = 0; i < 1001; ++i) many += StrCat("\\x{", 4000 + i, "}");
  ExpectError(ErrorCode::kInvalidArgument, "more than 1000 sets",
              [&] { Pattern(many, kOniguruma); });
  ExpectError(ErrorCode::kInvalidArgument, "a difference of sets", [] { Pattern("[+--]", kRust); });
}

TEST(Pattern, MatchesSetsOfSets) {
  EXPECT_EQ(Matches("[a-f&&[^b-d]]+", "abcdefg"), (Found{"a", "ef"}));
  EXPECT_EQ(Matches("[^a[c-d]]+", "abcde"), (Found{"b", "e"}));
  EXPECT_EQ(Matches("[^a-d&&b-e]+", "abcde"), (Found{"a", "e"}));
  EXPECT_EQ(Matches("[+--]+", "+,-.", kOniguruma), (Found{"+,-"}));
  EXPECT_EQ(Matches("(?i:[a\\p{N}]+)", "aA1b"), (Found{"aA1"}));
}

TEST(Pattern, MatchesScripts) {
  EXPECT_EQ(Matches("\\p{Han}+", "a\u4e2d\u6587\u3042"), (Found{"\u4e2d\u6587"}));
  EXPECT_EQ(Matches("\\p{Script=greek}|\\p{sc=Old Italic}", "a\u03b1", kRust), (Found{"\u03b1"}));
}

TEST(Pattern, LooksBehind) {
  EXPECT_EQ(Matches("(?<=a)b", "abbab"), (Found{"b", "b"}));
  EXPECT_EQ(Matches("(?<!a)b", "babbb"), (Found{"b", "b", "b"}));
  EXPECT_EQ(Matches("(?<=\u00e9|ab)c", "c\u00e9cabcbc"), (Found{"c", "c"}));
  EXPECT_EQ(Matches("(?<=(?<=a)b)c", "abc bc"), (Found{"c"}));
  EXPECT_EQ(Matches("(?<=a{2,3})b", "ab aab"), (Found{"b"}));
  EXPECT_EQ(Matches("(?<=^)a", "aa\na"), (Found{"a", "a"}));
  EXPECT_EQ(Matches("(?:(?<=a)b|a)+", "aabba"), (Found{"aab", "a"}));
}

TEST(Pattern, OfManyWaysIsALimit) {
  ExpectError(ErrorCode::kResourceLimit, "too many ways",
              [] { Matches("(?:a|b)*c", std::string(size_t{1} << 21, 'a')); });
  // Few are open at a time, but there are 2^40 in all.
  ExpectError(ErrorCode::kResourceLimit, "too many ways",
              [] { Matches("(?:a|aa)+b", std::string(60, 'a')); });
  ExpectError(ErrorCode::kInvalidArgument, "it has more than 65536 bytes",
              [] { Matches(std::string((size_t{1} << 16) + 1, 'a'), "a"); });
  // Groups that fail at once, 255^4 times.
  const std::string nested =
      "(?<=(?>a{0,254})(?<=(?>a{0,254})(?<=(?>a{0,254})(?<=(?>a{0,254})b))))c";
  ExpectError(ErrorCode::kResourceLimit, "too many ways",
              [&] { Matches(nested, std::string(600, 'a')); });
  // Few ways, each of which reads the rest of the text: by a repetition, by a group's.
  ExpectError(ErrorCode::kResourceLimit, "too many ways",
              [] { Matches("(?:a*+b|a)*c", std::string(400000, 'a')); });
  std::string pairs;
  for (int i = 0; i < 100000; ++i) pairs += "ab";
  ExpectError(ErrorCode::kResourceLimit, "too many ways",
              [&] { Matches("(?:(?>(?:ab)*)c|a|b)*d", pairs); });
  // Lookbehinds that never come to what they look for.
  std::string behinds = "c";
  for (int i = 0; i < 100; ++i) behinds = "(?!(?<=b{255}))" + behinds;
  ExpectError(ErrorCode::kResourceLimit, "too many ways",
              [&] { Matches("(?:a(?!" + behinds + "))*d", std::string(400000, 'a')); });
  // The expressions of tokenizers go back over a run of white space once.
  EXPECT_NO_THROW(Matches("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", std::string(size_t{1} << 20, ' ')));
}

}  // namespace
}  // namespace millhopper
