// SPDX-License-Identifier: Apache-2.0
// For operators that take images of bytes, uint8 [N, H, W, C] with 1 or 3 channels: gray or colors.
#ifndef MILLHOPPER_OPERATORS_IMAGE_BYTE_IMAGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_BYTE_IMAGES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"

namespace millhopper {

constexpr char kWantedBytes[] = "this operator takes uint8 images with 1 or 3 channels";

inline bool IsGrayOrColors(int64_t channels) { return channels == 1 || channels == 3; }

// The dims of an input, -1 where unknown. For OpSchema::Infer; throws unless it may hold such
// images.
inline Dims InferByteImages(const InferContext& context, std::string_view parameter = "X",
                            size_t i = 0) {
  const Dims dims = InferImages(context, parameter, i);
  if (context.In(parameter, i).dtype.value_or(DataType::kUint8) != DataType::kUint8 ||
      !(dims[3] < 0 || IsGrayOrColors(dims[3]))) {
    context.ThrowUnfit(parameter, kWantedBytes, i);
  }
  return dims;
}

// The shape of the images of an input. Throws unless they are of bytes.
inline ImageShape RequireByteImages(const OpContext& context, std::string_view parameter = "X",
                                    size_t i = 0) {
  const ImageShape shape = ShapeOfImages(context, parameter, i);
  if (context.In(parameter, i).dtype() != DataType::kUint8 || !IsGrayOrColors(shape.channels)) {
    ThrowUnfit(context, parameter, kWantedBytes, i);
  }
  return shape;
}

inline void InferSameByteImages(InferContext& context) {
  SetOutImages(context, InferByteImages(context));
}

// Allocates Out with as many images as X, each with so many channels, and calls function(from, to,
// i) for every image i. Out may be X. Throws unless X holds images of bytes.
template <typename Function>
void MapByteImages(OpContext& context, int64_t channels, Function function) {
  ImageShape shape = RequireByteImages(context);
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  shape.channels = channels;
  auto* const values = context.Out("Out")->Allocate<uint8_t>(
      {x.dims()[0], shape.height, shape.width, shape.channels});
  for (int64_t i = 0; i < x.dims()[0]; ++i) {
    function(ImageOf<uint8_t>(x, i), Contiguous(values + i * shape.values(), shape),
             static_cast<uint64_t>(i));
  }
}

// The same for operators that change a copy of each image: calls function(image, i).
template <typename Function>
void ChangeByteImages(OpContext& context, Function function) {
  MapByteImages(context, ShapeOfImages(context).channels,
                [&](const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to, uint64_t i) {
                  std::copy_n(from.values, from.shape.values(), to.values);
                  function(to, i);
                });
}

// ---- For operators that change each image with probability `p`, that is, if its draw 0 is below
// p. ----

// The schema; `doc` says what becomes of an image that is changed. A check of more attributes has
// to check `p` too (RequireProbability).
inline OpSchema SomeByteImagesSchema(const std::string& doc) {
  return RandomImageSchema(doc +
                               " An image is changed with probability p: if draw 0, a number in "
                               "[0, 1) of 24 bits, is below p. X is uint8 with 1 or 3 channels.",
                           "images with dims and type of X; may be X")
      .Attr({"p", 1.0f, "probability, from 0 to 1"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RequireProbability(attributes);
      })
      .Infer(InferSameByteImages);
}

// Makes Out of X: calls function(from, to) for every image that is changed, and copies the others.
template <typename Function>
void MapSomeByteImages(OpContext& context, Function function) {
  const float p = context.Attr<float>("p");
  const RandomKey key = ImageKey(context);
  MapByteImages(context, ShapeOfImages(context).channels,
                [&](const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to, uint64_t i) {
                  if (ToUnitFloat(key.Bits(i, 0)) < p) {
                    function(from, to);
                  } else {
                    CopyPixels(from, to);
                  }
                });
}

// The same for operators that change a copy of an image: calls function(image).
template <typename Function>
void ChangeSomeByteImages(OpContext& context, Function function) {
  MapSomeByteImages(context, [&](const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to) {
    CopyPixels(from, to);
    function(to);
  });
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_BYTE_IMAGES_H_
