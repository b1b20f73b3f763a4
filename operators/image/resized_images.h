// SPDX-License-Identifier: Apache-2.0
// For operators that resize images.
#ifndef MILLHOPPER_OPERATORS_IMAGE_RESIZED_IMAGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_RESIZED_IMAGES_H_

#include <type_traits>

#include "framework/base/ref_counted.h"
#include "operators/image/image_argument.h"
#include "operators/image/pixels/resample.h"

namespace millhopper {

// A Resampler of a pool, so that its memory is used again.
class PooledResampler final : public RefCounted {
 public:
  Resampler resampler;

 private:
  void Dispose() override { Pool<PooledResampler>::Give(this); }
};

// Makes Out of X: the part box(i) of image i, resized.
template <typename BoxOf>
void MakeResized(OpContext& context, const Resize& resize, BoxOf box_of) {
  const Ref<PooledResampler> pooled = Pool<PooledResampler>::Take();
  Resampler& resampler = pooled->resampler;
  MakeImages(context, resize.height, resize.width, [&](uint64_t i, auto from, auto to) {
    const Box box = box_of(i);
    const auto part = from.Crop(box);
    resampler.Plan(part.shape, WholeOf(part.shape), resize, {0, 0, resize.width, resize.height});
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

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_RESIZED_IMAGES_H_
