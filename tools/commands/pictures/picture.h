// SPDX-License-Identifier: Apache-2.0
// A picture that is drawn in memory and written as PNG.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PICTURES_PICTURE_H_
#define MILLHOPPER_TOOLS_COMMANDS_PICTURES_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

struct Color {
  uint8_t red, green, blue;
};

class Picture {
 public:
  // Filled with one colour. Throws kResourceLimit if it has too many pixels.
  Picture(size_t width, size_t height, Color color);

  size_t width() const { return width_; }
  size_t height() const { return height_; }
  // A pixel within the picture.
  void Set(size_t x, size_t y, Color color);
  // Gives it the mean of the colour that it has and this one.
  void Tint(size_t x, size_t y, Color color);
  // A PNG file.
  std::string ToPng() const;

 private:
  const size_t width_, height_;
  std::vector<uint8_t> rgb_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PICTURES_PICTURE_H_
