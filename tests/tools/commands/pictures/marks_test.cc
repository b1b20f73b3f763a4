// SPDX-License-Identifier: Apache-2.0
// Boxes, points and masks over an image.
#include "tools/commands/pictures/marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tests/files/encoded_images.h"
#include "tools/commands/pictures/picture.h"

namespace millhopper {
namespace {

// What is drawn of marks over a black image of 4 x 3 pixels, each 2 x 2 in the picture, with a
// frame of 1 around it: a letter for each pixel.
std::string Drawn(const Marks& marks) {
  Picture picture(10, 8, {0, 0, 0});
  DrawMarks(marks, {1, 1, 8, 6, 2}, &picture);
  const PngImage image = ReadPng(picture.ToPng());
  std::string letters;
  for (size_t y = 0; y < 8; ++y) {
    for (size_t x = 0; x < 10; ++x) {
      const auto red = static_cast<uint8_t>(image.rows[(y * 10 + x) * 3]);
      letters += red == 0 ? '.' : red == 230 ? 'B' : red == 115 ? 'm' : '?';
    }
    letters += '\n';
  }
  return letters;
}

const std::string& Nothing() {
  static const auto* const nothing = new std::string(Drawn({}));
  return *nothing;
}

TEST(Marks, OfBoxesEndAtTheEdgesOfTheImage) {
  EXPECT_EQ(std::count(Nothing().begin(), Nothing().end(), '.'), 80);
  EXPECT_EQ(Drawn({{{1, 0.5, 3, 2, 0}}, {}, {}}),
            "..........\n"
            "..........\n"
            "...BBBB...\n"
            "...B..B...\n"
            "...BBBB...\n"
            "..........\n"
            "..........\n"
            "..........\n");
  EXPECT_EQ(Drawn({{{-7, 1, 1.5, 99, 0}}, {}, {}}),
            "..........\n"
            "..........\n"
            "..........\n"
            ".BBB......\n"
            ".B.B......\n"
            ".B.B......\n"
            ".BBB......\n"
            "..........\n");
}

TEST(Marks, ThatAreNoneAreNotDrawn) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {kNan, kInfinity, -kInfinity, 1e300, -1e300, 1e7, -1e7}) {
    for (int i = 0; i < 4; ++i) {
      double box[4] = {0, 0, 2, 2};
      box[i] = bad;
      EXPECT_EQ(Drawn({{{box[0], box[1], box[2], box[3], 0}}, {}, {}}), Nothing()) << bad << i;
    }
    EXPECT_EQ(Drawn({{}, {{bad, 1, 0}, {1, bad, 0}}, {}}), Nothing()) << bad;
  }
  // Boxes that end before they begin, and those beside the image.
  EXPECT_EQ(Drawn({{{2, 0, 1, 2, 0}, {4, 0, 5, 2, 0}, {0, -3, 2, -1, 0}}, {}, {}}), Nothing());
}

TEST(Marks, OfPointsAreCrosses) {
  // Those beside the image are not drawn, and arms end at its edges.
  EXPECT_EQ(Drawn({{}, {{0.5, 1.5, 0}, {4, 1, 0}, {1, -0.1, 0}}, {}}),
            "..........\n"
            "..B.......\n"
            "..B.......\n"
            "..B.......\n"
            ".BBBBB....\n"
            "..B.......\n"
            "..B.......\n"
            "..........\n");
}

TEST(Marks, OfMasksLetTheImageShineThrough) {
  EXPECT_EQ(Drawn({{}, {}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}),
            "..........\n"
            ".mm.......\n"
            ".mm.......\n"
            "..........\n"
            "..........\n"
            ".......mm.\n"
            ".......mm.\n"
            "..........\n");
}

}  // namespace
}  // namespace millhopper
