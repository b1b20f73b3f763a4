// SPDX-License-Identifier: Apache-2.0
// Shares of a whole.
#include "tools/commands/pictures/shares.h"

#include <gtest/gtest.h>

#include "tools/commands/pictures/picture.h"

namespace millhopper {
namespace {

TEST(Shares, AreDrawnAsBars) {
  Shares shares;
  shares.Add("news", 1500);
  shares.Add("books", 500);
  shares.Add("web", 0);
  shares.Add("x", 31);
  EXPECT_EQ(shares.ToText("  "),
            "  news  ██████████████▊       73.9 %  1,500\n"
            "  books ████▉                 24.6 %  500\n"
            "  web                          0.0 %  0\n"
            "  x     ▎                      1.5 %  31\n");
}

TEST(Shares, OfNothingAreNone) {
  Shares shares;
  EXPECT_TRUE(shares.empty());
  shares.Add("one", 0);
  EXPECT_TRUE(shares.empty());
  EXPECT_EQ(shares.ToText(""), "one                        0.0 %  0\n");
}

TEST(Shares, OfOneAreAll) {
  Shares shares;
  shares.Add("a", 7);
  EXPECT_EQ(shares.ToText(""), "a ████████████████████ 100.0 %  7\n");
}

TEST(Shares, AreDrawnIntoAPicture) {
  Shares shares;
  shares.Add("a", 3);
  shares.Add("b", 1);
  Picture picture(8, 8, {0, 0, 0}), same(8, 8, {0, 0, 0});
  shares.Draw(0, 0, 8, 8, &picture);
  for (size_t y = 0; y < 8; ++y) {
    for (size_t x = 0; x < 8; ++x) {
      const bool bar = x < (y < 4 ? 6u : 2u);
      same.Set(x, y, bar ? Color{220, 220, 220} : Color{64, 64, 64});
    }
  }
  EXPECT_EQ(picture.ToPng(), same.ToPng());
}

}  // namespace
}  // namespace millhopper
