// SPDX-License-Identifier: Apache-2.0
// For operators that take images of bytes, uint8 [N, H, W, C] with 1 or 3 channels: gray or colors.
#ifndef MILLHOPPER_OPERATORS_BYTE_IMAGES_H_
#define MILLHOPPER_OPERATORS_BYTE_IMAGES_H_

#include <algorithm>
#include <cstdint>

#include "operators/image_argument.h"

namespace millhopper {

constexpr char kWantedBytes[] = "this operator takes uint8 images with 1 or 3 channels";

inline bool IsGrayOrColors(int64_t channels) { return channels == 1 || channels == 3; }

// The dims of X, -1 where unknown. For OpSchema::Infer; throws unless X may hold such images.
inline Dims InferByteImages(const InferContext& context) {
  const Dims dims = InferImages(context);
  if (context.In("X").dtype.value_or(DataType::kUint8) != DataType::kUint8 ||
      !(dims[3] < 0 || IsGrayOrColors(dims[3]))) {
    context.ThrowUnfit("X", kWantedBytes);
  }
  return dims;
}

inline void InferSameByteImages(InferContext& context) {
  SetOutImages(context, InferByteImages(context));
}

// Allocates Out with as many images as X, each with so many channels, and calls function(from, to,
// i) for every image i. Out may be X. Throws unless X holds images of bytes.
template <typename Function>
void MapByteImages(OpContext& context, int64_t channels, Function function) {
  ImageShape shape = ShapeOfImages(context);
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  RequireInput(x.dtype() == DataType::kUint8 && IsGrayOrColors(shape.channels), context, "X",
               kWantedBytes);
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

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_BYTE_IMAGES_H_
