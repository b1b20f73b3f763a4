// SPDX-License-Identifier: Apache-2.0
// Grapheme clusters. tests/python/readers/test_precompiled.py compares them with the original for
// nearly all characters.
#include "operators/text/unicode/graphemes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millhopper {
namespace {

using Parts = std::vector<std::string>;

Parts Divided(const std::string& text) {
  Parts parts;
  const auto* here = reinterpret_cast<const uint8_t*>(text.data());
  const auto* const end = here + text.size();
  while (here != end) {
    const uint8_t* const next = EndOfGrapheme(here, end);
    parts.emplace_back(here, next);
    here = next;
  }
  return parts;
}

TEST(Graphemes, MarksJoinLetters) {
  EXPECT_EQ(Divided("ae\u0301\u0302o"), (Parts{"a", "e\u0301\u0302", "o"}));
  EXPECT_EQ(Divided("\u0600\u0661\u0903"), (Parts{"\u0600\u0661\u0903"}));
  EXPECT_EQ(Divided("\u0301"), (Parts{"\u0301"}));
}

TEST(Graphemes, LinesEndOnce) {
  EXPECT_EQ(Divided("a\r\n\r\u0301\n"), (Parts{"a", "\r\n", "\r", "\u0301", "\n"}));
}

TEST(Graphemes, LettersOfHangulAreSyllables) {
  EXPECT_EQ(Divided("\u1112\u1161\u11ab\u1112\uac00\u1161\u11a8\uac01\u1161"),
            (Parts{"\u1112\u1161\u11ab", "\u1112\uac00\u1161\u11a8", "\uac01", "\u1161"}));
}

TEST(Graphemes, EmojiAreJoined) {
  EXPECT_EQ(Divided("\U0001f468\u200d\U0001f469\U0001f44d\U0001f3fd"),
            (Parts{"\U0001f468\u200d\U0001f469", "\U0001f44d\U0001f3fd"}));
  EXPECT_EQ(Divided("a\u200d\U0001f469"), (Parts{"a\u200d", "\U0001f469"}));
  EXPECT_EQ(Divided("\U0001f1e9\U0001f1ea\U0001f1eb"),
            (Parts{"\U0001f1e9\U0001f1ea", "\U0001f1eb"}));
}

TEST(Graphemes, ConsonantsAreLinked) {
  EXPECT_EQ(Divided("\u0915\u094d\u200d\u0937\u0915\u093c\u0937"),
            (Parts{"\u0915\u094d\u200d\u0937", "\u0915\u093c", "\u0937"}));
}

}  // namespace
}  // namespace millhopper
