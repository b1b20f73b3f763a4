// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/pictures/marks.h"

#include <algorithm>
#include <cmath>

#include "tools/commands/pictures/picture.h"

namespace millhopper {
namespace {

// Colours that people with any sight tell apart, on dark and on bright images. (Source: Okabe and
// Ito, "Color Universal Design"; white in place of their black.)
constexpr Color kColors[kMarkColors] = {{230, 159, 0}, {86, 180, 233},  {0, 158, 115},
                                        {213, 94, 0},  {204, 121, 167}, {240, 228, 66},
                                        {0, 114, 178}, {255, 255, 255}};
constexpr size_t kWideFrom = 12;   // pixels of a box's sides from which on its lines are 2 wide
constexpr size_t kArm = 3;         // pixels of a cross to each side of its middle
constexpr double kFarthest = 1e6;  // pixels from an image; numbers beyond are taken for errors

// Pixels [begin, end) along one axis of an image.
struct Span {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

// The pixels that numbers of the image span, cut to those it has; at least one if the span touches
// the image. Empty if it does not, or if the numbers are none.
Span Visible(double begin, double end, size_t zoom, size_t size) {
  const auto limit = static_cast<double>(size), times = static_cast<double>(zoom);
  // Written so that NaN is refused.
  if (!(begin <= end && begin > -kFarthest && end < kFarthest)) return {0, 0};
  if (end < 0 || begin * times >= limit) return {0, 0};
  const auto first = static_cast<size_t>(std::max(0.0, std::floor(begin * times)));
  const auto past = static_cast<size_t>(std::min(limit, std::ceil(end * times)));
  return {first, std::max(past, first + 1)};
}

void Fill(const Span& x, const Span& y, const ShownImage& image, Color color, Picture* picture) {
  for (size_t row = y.begin; row < y.end; ++row) {
    for (size_t column = x.begin; column < x.end; ++column) {
      picture->Set(image.left + column, image.top + row, color);
    }
  }
}

void DrawBox(const Marks::Box& box, const ShownImage& image, Picture* picture) {
  const Span x = Visible(box.left, box.right, image.zoom, image.width);
  const Span y = Visible(box.top, box.bottom, image.zoom, image.height);
  const size_t shorter = std::min(x.size(), y.size());
  if (shorter == 0) return;
  const size_t line = shorter >= kWideFrom ? 2 : 1;
  const Color color = kColors[box.color];
  Fill(x, {y.begin, y.begin + line}, image, color, picture);
  Fill(x, {y.end - line, y.end}, image, color, picture);
  Fill({x.begin, x.begin + line}, y, image, color, picture);
  Fill({x.end - line, x.end}, y, image, color, picture);
}

void DrawCross(const Marks::Point& point, const ShownImage& image, Picture* picture) {
  const Span x = Visible(point.x, point.x, image.zoom, image.width);
  const Span y = Visible(point.y, point.y, image.zoom, image.height);
  if (x.size() == 0 || y.size() == 0) return;
  const auto arms = [](const Span& middle, size_t size) {
    return Span{middle.begin - std::min(middle.begin, kArm),
                std::min(size, middle.begin + kArm + 1)};
  };
  Fill(arms(x, image.width), y, image, kColors[point.color], picture);
  Fill(x, arms(y, image.height), image, kColors[point.color], picture);
}

void DrawTints(const std::vector<uint8_t>& tints, const ShownImage& image, Picture* picture) {
  const size_t columns = image.width / image.zoom;
  for (size_t y = 0; y < image.height; ++y) {
    for (size_t x = 0; x < image.width; ++x) {
      const uint8_t tint = tints[y / image.zoom * columns + x / image.zoom];
      if (tint > 0) picture->Tint(image.left + x, image.top + y, kColors[tint - 1]);
    }
  }
}

}  // namespace

void DrawMarks(const Marks& marks, const ShownImage& image, Picture* picture) {
  if (!marks.tints.empty()) DrawTints(marks.tints, image, picture);
  for (const Marks::Box& box : marks.boxes) DrawBox(box, image, picture);
  for (const Marks::Point& point : marks.points) DrawCross(point, image, picture);
}

}  // namespace millhopper
