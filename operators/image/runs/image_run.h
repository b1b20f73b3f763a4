// SPDX-License-Identifier: Apache-2.0
// Operators on images that follow one another in a block and can be run as one (fused_images.h).
#ifndef MILLHOPPER_OPERATORS_IMAGE_RUNS_IMAGE_RUN_H_
#define MILLHOPPER_OPERATORS_IMAGE_RUNS_IMAGE_RUN_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/attribute.h"

namespace millhopper {

class Program;

// decode_image, then any of: crops (crop, center_crop, random_crop), one operator that resizes
// (resize, random_resized_crop, random_shortest_size, scale_jitter, resize_keep_ratio), crops and
// flips, normalize, and transpose to [N, C, H, W], in this order. Each takes the result of the one
// before it, whose values no other operator uses; masks, boxes and points may move with the image,
// and operators may ask for the size of what a step makes (object_masks, sanitize_boxes).
struct ImageRun {
  struct Step {
    size_t op;  // its number in the block
    std::string type;
    AttributeMap attributes;
    std::string out;  // the variable that it writes
  };
  std::vector<Step> steps;
  std::string source;      // the variable with the encoded image
  bool only_sink = false;  // whether the result is one sink, and nothing else uses it
  size_t outlined = 0;     // of how many of the first steps others need the size

  const std::string& result() const { return steps.back().out; }
};

// The run of two or more operators in a block of a checked program that begins with operator `op`,
// a decode_image; nothing if there is none. `sinks` are variables of the block that are read after
// it has run.
std::optional<ImageRun> FindImageRun(const Program& program, int block, int op,
                                     const std::vector<std::string>& sinks);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_RUNS_IMAGE_RUN_H_
