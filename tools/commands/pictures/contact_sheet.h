// SPDX-License-Identifier: Apache-2.0
// Draws the images in the slots of a reader side by side in one PNG file.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PICTURES_CONTACT_SHEET_H_
#define MILLHOPPER_TOOLS_COMMANDS_PICTURES_CONTACT_SHEET_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "framework/tensor/tensor.h"
#include "tools/commands/pictures/marks.h"

namespace millhopper {

// Collects images and draws them in rows. A slot is taken for images if its values are uint8,
// uint16 or floats without levels of detail, and one step along its axis 0 is [H, W], [1 or 3, H,
// W], [H, W, 1 or 3], or as many values as a square image has. Black is 0, or the lowest value of
// the slot if that is negative; white is the highest value. Small images are magnified.
class ContactSheet {
 public:
  // Takes the images of an element, until a slot has `most` of them in all.
  void Add(const std::vector<LoDTensor>& element, size_t most);
  // The height and the width of an image that was added.
  std::pair<size_t, size_t> image_size(size_t slot, size_t image) const;
  // What is drawn over an image that was added.
  void SetMarks(size_t slot, size_t image, Marks marks);
  // How many images a slot has given so far.
  size_t image_count(size_t slot) const;
  // The largest number of images that any slot has given so far.
  size_t image_count() const;
  // The sheet as a PNG file. Throws kInvalidArgument if there is no image, kResourceLimit if there
  // are too many.
  std::string ToPng() const;

 private:
  struct Image {
    size_t height, width;
    std::vector<float> rgb;
    Marks marks;
  };
  std::vector<std::vector<Image>> slots_;  // images by slot
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PICTURES_CONTACT_SHEET_H_
