// SPDX-License-Identifier: Apache-2.0
// What the attributes of operators on images ask for. Each step is read from checked attributes
// once, and says what becomes of an image without touching its pixels, so that an operator and a
// fused run of several operators do the same.
#ifndef MILLHOPPER_OPERATORS_IMAGE_STEPS_H_
#define MILLHOPPER_OPERATORS_IMAGE_STEPS_H_

#include <cstdint>

#include "framework/base/random.h"
#include "operators/image/image_decoder.h"

namespace millhopper {

class AttributeMap;

// decode_image: how encoded images are read.
struct DecodeStep {
  explicit DecodeStep(const AttributeMap& attributes);
  // The channels that an image gets.
  int64_t ChannelsOf(const ImageHeader& header) const {
    return channels == 0 ? header.stored.channels : channels;
  }
  // The orientation that is applied; 1 changes nothing.
  int OrientationOf(const ImageHeader& header) const { return orient ? header.orientation : 1; }
  // The shape that an image is decoded to.
  ImageShape ShapeOf(const ImageHeader& header) const;

  int64_t channels;  // 0: those of the image
  bool orient;
  bool partial;
  int64_t max_pixels;
  bool exact;  // a fused run may not decode at a scale
};

// flip: mirrors an image with a probability.
struct FlipStep {
  explicit FlipStep(const AttributeMap& attributes);
  // Whether image i is mirrored.
  bool Draw(const RandomKey& key, uint64_t i) const { return ToUnitFloat(key.Bits(i, 0)) < p; }

  bool horizontal;
  float p;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_STEPS_H_
