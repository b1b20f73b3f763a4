// SPDX-License-Identifier: Apache-2.0
// Histograms.
#include "tools/commands/pictures/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tools/commands/pictures/picture.h"

namespace millhopper {
namespace {

std::string TextOf(const std::vector<double>& values) {
  Histogram histogram;
  for (const double value : values) histogram.Add(value);
  return histogram.ToText();
}

TEST(Histogram, DrawsABlockForEachBin) {
  EXPECT_EQ(TextOf({}), "");
  EXPECT_EQ(TextOf({7}), "7 █ 7");
  EXPECT_EQ(TextOf({3, 1, 1, 1, 1, 2, 2}), "1 █▄▂ 3");
  EXPECT_EQ(TextOf({-1, 1}), "-1 █ █ 1");
  EXPECT_EQ(TextOf({0.5, 0.5, 1.5}).substr(0, 7), "0.5 █");
}

TEST(Histogram, LeavesOutWhatIsNotFinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(TextOf({std::nan(""), infinite, 4, -infinite}), "4 █ 4");
}

// The order in which values come does not matter, however far apart they are.
TEST(Histogram, WidensItsBinsToHoldAllValues) {
  std::vector<double> values;
  values.reserve(1024);
  for (int i = 0; i < 1024; ++i) values.push_back(i);
  std::string blocks;
  for (int i = 0; i < 64; ++i) blocks += "█";
  EXPECT_EQ(TextOf(values), "0 " + blocks + " 1023");
  EXPECT_EQ(TextOf({values.rbegin(), values.rend()}), "0 " + blocks + " 1023");
  std::vector<double> outwards;
  for (int i = 0; i < 512; ++i) {
    outwards.push_back(511 - i);
    outwards.push_back(512 + i);
  }
  EXPECT_EQ(TextOf(outwards), "0 " + blocks + " 1023");
  EXPECT_EQ(TextOf({1e-300, 1e300, -1e300, 0}).substr(0, 7), "-1e+300");
}

TEST(Histogram, DrawsIntoAPicture) {
  Histogram histogram;
  for (const double value : {0, 0, 1}) histogram.Add(value);
  Picture picture(4, 4, {0, 0, 0});
  histogram.Draw(0, 0, 4, 4, &picture);
  EXPECT_EQ(picture.ToPng().substr(1, 3), "PNG");
}

}  // namespace
}  // namespace millhopper
