// SPDX-License-Identifier: Apache-2.0
// What the attributes of operators on images ask for. Each step is read from checked attributes
// once, and computes what the operator does to an image without touching pixels, so that an
// operator and a fused run of several operators do the same. Draw number k of image i is Bits(i, k)
// of `key`.
#ifndef MILLHOPPER_OPERATORS_IMAGE_RUNS_IMAGE_STEPS_H_
#define MILLHOPPER_OPERATORS_IMAGE_RUNS_IMAGE_STEPS_H_

#include <cstdint>
#include <vector>

#include "framework/base/random.h"
#include "operators/image/codecs/image_decoder.h"
#include "operators/image/pixels/image.h"
#include "operators/image/pixels/resample.h"

namespace millhopper {

class AttributeMap;
struct OpSchema;

// A size that is given as [height, width].
struct ImageSize {
  int64_t height, width;
};

// Declares the attribute `mode` of decode_image: which numbers images are decoded to.
void AddModeAttribute(OpSchema* schema);
// Declares the attribute `size`: how large an operator makes images.
void AddSizeAttribute(OpSchema* schema);
// Declares the attributes `interpolation` and `antialias`.
void AddResizeAttributes(OpSchema* schema);

// The attribute `size`. Throws kInvalidArgument unless it has two values.
ImageSize ImageSizeOf(const AttributeMap& attributes);
// The attributes of AddResizeAttributes; the size is not set.
Resize ResizeOf(const AttributeMap& attributes);
// The size of an image of this shape times a factor, rounded down, 1 each way at least. Throws
// kInvalidArgument if it has no pixels.
ImageSize ScaledSize(const ImageShape& shape, double factor);

// crop: the part of an image that begins at a place.
struct CropStep {
  explicit CropStep(const AttributeMap& attributes);
  // Throws kInvalidArgument if the image is too small.
  Box Of(const ImageShape& shape) const;

  Box box;
};

// center_crop: the part in the middle.
struct CenterCropStep {
  explicit CenterCropStep(const AttributeMap& attributes);
  Box Of(const ImageShape& shape) const;

  ImageSize size;
};

// random_crop: a part anywhere.
struct RandomCropStep {
  explicit RandomCropStep(const AttributeMap& attributes);
  Box Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const;

  ImageSize size;
};

// resize: another size.
struct ResizeStep {
  explicit ResizeStep(const AttributeMap& attributes);
  Resize Of(const ImageShape& shape) const;

  std::vector<int32_t> size;
  bool long_side;
  int64_t most;   // of the longer side; 0: any
  Resize resize;  // its size is not used
};

// scale_jitter: a size that is drawn, in proportion to a target.
struct ScaleJitterStep {
  explicit ScaleJitterStep(const AttributeMap& attributes);
  ImageSize Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const;

  ImageSize target;
  Resize resize;  // its size is not used
  double low, high;
};

// resize_keep_ratio: a size of the same proportions, or nearly, for a target.
struct ResizeKeepRatioStep {
  explicit ResizeKeepRatioStep(const AttributeMap& attributes);
  ImageSize Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const;

  // A factor that is drawn, or 1.
  struct Factor {
    float p;
    double low, high;
  };

  ImageSize target;
  Resize resize;  // its size is not used
  double longest;
  Factor scale, aspect;
  bool scale_area;
};

// random_shortest_size: one of several lengths of the shorter side.
struct RandomShortestSizeStep {
  explicit RandomShortestSizeStep(const AttributeMap& attributes);
  ImageSize Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const;

  std::vector<int32_t> lengths;
  double most;    // of the longer side; 0: any
  Resize resize;  // its size is not used
};

// random_resized_crop: a part of random size and place, resized.
struct RandomResizedCropStep {
  explicit RandomResizedCropStep(const AttributeMap& attributes);
  Box Of(const ImageShape& shape, const RandomKey& key, uint64_t i) const;

  Resize resize;
  double low_scale, high_scale, low_ratio, high_ratio;
};

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

  DecodeMode mode;
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

// normalize: value * factor + offset, for each channel.
struct NormalizeStep {
  explicit NormalizeStep(const AttributeMap& attributes);
  // Throws kInvalidArgument if mean or std have neither one value nor one for each channel.
  void Check(int64_t channels) const;
  float factor(int64_t channel) const { return Of(factors, channel); }
  float offset(int64_t channel) const { return Of(offsets, channel); }

  std::vector<float> factors, offsets;  // one for all channels, or one for each

 private:
  static float Of(const std::vector<float>& values, int64_t channel) {
    return values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_RUNS_IMAGE_STEPS_H_
