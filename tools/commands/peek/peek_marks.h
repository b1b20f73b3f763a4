// SPDX-License-Identifier: Apache-2.0
// The slots of an element that say where objects are in its images, for peek --png.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_MARKS_H_
#define MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/program/program.h"
#include "framework/tensor/tensor.h"
#include "operators/image/geometry/boxes.h"
#include "operators/image/pixels/image.h"
#include "tools/commands/pictures/marks.h"

namespace millhopper {

// How boxes are written that a program yields: as the last of its formats and operators says that
// tells a notation, or else by their corners, in pixels. Points are relative if boxes are.
BoxNotation BoxNotationOf(const Program& program);

// An image of an element, and how it is shown.
struct MarkedImage {
  int64_t index, count;  // of the images of a slot
  ImageShape stored;     // what boxes, points and masks speak of
  ImageShape shown;      // each of its pixels is `by` by `by` of those stored
  int64_t by;
};

// Slots by their names:
//
//   boxes, bbox, bboxes  [.., 4], in the notation; with _xyxy, _xywh or _cxcywh at the end in that
//   points, keypoints    [.., 2] or [.., 3]; points whose third number is 0 (not labelled) are none
//   polygons             [n, 2] with three levels of detail: objects, polygons and points
//   runs                 integers with two levels of detail: objects and the lengths of runs, off
//   and
//                        on by turns, column after column, as long as the image together
//   mask, masks          integers or bool, [.., H, W] or [.., H, W, 1] with the image's sides: of
//                        objects, or, if there is one an image and no level of detail, of classes
//   labels, label        as many as there are boxes or masks: objects of one have one colour
//
// Polygons and runs are those that object_masks takes. The outermost level of detail tells what is
// in which image; without levels all is in an only image, and several images have as much each.
// Slots that do not fit are passed over.
class MarkSlots {
 public:
  // `names` are those of all slots; there may be none.
  MarkSlots(const std::vector<std::string>& names, const BoxNotation& notation);

  // Whether no slot says anything of images.
  bool empty() const {
    return boxes_.empty() && points_.empty() && polygons_.empty() && runs_.empty() &&
           masks_.empty();
  }
  // Whether a slot is of masks, over which nothing is drawn.
  bool IsMask(size_t slot) const;
  // What is in an image of an element, in pixels that are shown: 1,000 marks of each kind at most.
  Marks Of(const std::vector<LoDTensor>& element, const MarkedImage& image) const;

 private:
  struct Boxes {
    size_t slot;
    BoxNotation notation;
  };
  const BoxNotation notation_;  // of what says nothing else
  std::vector<Boxes> boxes_;
  std::vector<size_t> points_, polygons_, runs_, masks_, labels_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_MARKS_H_
