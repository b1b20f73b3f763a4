// SPDX-License-Identifier: Apache-2.0
// For operators that resize images.
#ifndef MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_RESIZED_IMAGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_RESIZED_IMAGES_H_

#include <type_traits>

#include "framework/base/ref_counted.h"
#include "operators/image/geometry/geometric.h"
#include "operators/image/pixels/resample.h"

namespace millhopper {

// A Resampler of a pool, so that its memory is used again.
class PooledResampler final : public RefCounted {
 public:
  Resampler resampler;

 private:
  void Dispose() override { Pool<PooledResampler>::Give(this); }
};

// Moves the part box_of(i) of image i, resized.
template <typename BoxOf>
void MoveResized(OpContext& context, const Resize& resize, BoxOf box_of) {
  MovePlaces(context, resize.height, resize.width,
             [&](uint64_t i) { return MapOfPart(box_of(i), resize.height, resize.width); });
  Resize nearest = resize;
  nearest.interpolation = Interpolation::kNearest;
  const Ref<PooledResampler> pooled = Pool<PooledResampler>::Take();
  Resampler& resampler = pooled->resampler;
  const Box whole{0, 0, resize.width, resize.height};
  MoveImages(context, resize.height, resize.width, [&](uint64_t i, auto from, auto to, bool mask) {
    const auto part = from.Crop(box_of(i));
    resampler.Plan(part.shape, WholeOf(part.shape), mask ? nearest : resize, whole);
    const auto needed = part.Crop(resampler.needed());
    if constexpr (std::is_same_v<std::decay_t<decltype(*to.values)>, uint8_t>) {
      const int64_t values = to.shape.width * to.shape.channels;
      resampler.Run(needed,
                    [&](int64_t y, const uint8_t* row) { std::copy_n(row, values, to.row(y)); });
    } else {
      resampler.RunInDouble(needed, to);
    }
  });
}

// Moves all of each image, resized to the size that size_of(i) is for image i. Throws
// kInvalidArgument unless it is one.
template <typename SizeOf>
void MoveResizedWhole(OpContext& context, Resize resize, SizeOf size_of) {
  const ImageShape shape = ShapeOfImages(context);
  const ImageSize size = OneSize(context, size_of);
  resize.height = size.height;
  resize.width = size.width;
  MoveResized(context, resize, [&](uint64_t) { return Box{0, 0, shape.width, shape.height}; });
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_RESIZED_IMAGES_H_
