// SPDX-License-Identifier: Apache-2.0
// What is drawn over an image: the boxes, points and masks of the objects in it.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PICTURES_MARKS_H_
#define MILLHOPPER_TOOLS_COMMANDS_PICTURES_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millhopper {

class Picture;

constexpr uint8_t kMarkColors = 8;  // colours are numbers below

// In pixels of the image, from its left and top edges on. Nothing is believed of these numbers: NaN
// and those far away are not drawn, nor are boxes that end before they begin.
struct Marks {
  struct Box {
    double left, top, right, bottom;
    uint8_t color;
  };
  struct Point {
    double x, y;
    uint8_t color;
  };

  std::vector<Box> boxes;
  std::vector<Point> points;
  // Of each pixel, row after row: 0 if it is in no mask, or else the colour of one and 1. Empty
  // without masks.
  std::vector<uint8_t> tints;
};

// Where an image is in a picture, in whose pixels width and height are, too. A pixel of the image
// is zoom by zoom of them.
struct ShownImage {
  size_t left, top, width, height, zoom;
};

// Draws masks, which the image shines through, over them the outlines of boxes, as far as they are
// within the image, and points as crosses.
void DrawMarks(const Marks& marks, const ShownImage& image, Picture* picture);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PICTURES_MARKS_H_
