// SPDX-License-Identifier: Apache-2.0
// Compiled once for each set of instructions, as resample_kernels.cc is. Multiplication and
// addition are rounded one after the other everywhere (-ffp-contract=off), so that all give the
// same values.
#include "operators/image/pixels/image_finish.h"

#include <algorithm>

#include "operators/image/pixels/mirror.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/image/pixels/image_finish.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace millhopper::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A row of three channels becomes a row of each of three planes. Returns how many pixels it has
// done, from the left; the caller does the rest.
int64_t ToPlanes(const ImageFinish& finish, const uint8_t* row, int64_t width,
                 float* const* planes) {
  const hn::ScalableTag<float> floats;
  const hn::Rebind<int32_t, decltype(floats)> numbers;
  const hn::Rebind<uint8_t, decltype(floats)> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
  int64_t x = 0;
  for (; x + lanes <= width; x += lanes) {
    hn::VFromD<decltype(bytes)> channels[3];
    hn::LoadInterleaved3(bytes, row + 3 * x, channels[0], channels[1], channels[2]);
    for (int c = 0; c < 3; ++c) {
      const auto values = hn::ConvertTo(floats, hn::PromoteTo(numbers, channels[c]));
      const auto made = hn::Add(hn::Mul(values, hn::Set(floats, finish.factor[c])),
                                hn::Set(floats, finish.offset[c]));
      if (finish.mirrored) {
        hn::StoreU(hn::Reverse(floats, made), floats, planes[c] + width - x - lanes);
      } else {
        hn::StoreU(made, floats, planes[c] + x);
      }
    }
  }
  return x;
}

}  // namespace millhopper::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace millhopper {
namespace {

HWY_EXPORT(ToPlanes);

// Writes pixels from `first` on; value(v, c) is that of channel c.
template <typename T, typename Value>
void Put(const ImageFinish& finish, const ImageShape& shape, int64_t y, const uint8_t* row,
         int64_t first, T* result, Value value) {
  const int64_t channel_step = finish.planes ? shape.height * shape.width : 1;
  const int64_t pixel_step = finish.planes ? 1 : shape.channels;
  T* const to = result + y * shape.width * pixel_step;
  for (int64_t x = first; x < shape.width; ++x) {
    const int64_t place = (finish.mirrored ? shape.width - 1 - x : x) * pixel_step;
    for (int64_t c = 0; c < shape.channels; ++c) {
      to[place + c * channel_step] = value(row[x * shape.channels + c], c);
    }
  }
}

}  // namespace

void ImageFinish::PutRow(const ImageShape& shape, int64_t y, const uint8_t* row,
                         void* result) const {
  if (upside_down) y = shape.height - 1 - y;
  if (!normalized) {
    auto* const values = static_cast<uint8_t*>(result);
    uint8_t* const pixels = values + y * shape.width * shape.channels;
    if (!mirrored && !planes) {
      std::copy_n(row, shape.width * shape.channels, pixels);
    } else if (!planes) {
      MirrorRow(row, shape.width, shape.channels, pixels);
    } else {
      Put(*this, shape, y, row, 0, values, [](uint8_t value, int64_t) { return value; });
    }
    return;
  }
  auto* const values = static_cast<float*>(result);
  int64_t done = 0;
  if (planes && shape.channels == 3) {
    const int64_t plane = shape.height * shape.width;
    float* const first = values + y * shape.width;
    float* const rows[] = {first, first + plane, first + 2 * plane};
    done = HWY_DYNAMIC_DISPATCH(ToPlanes)(*this, row, shape.width, rows);
  }
  Put(*this, shape, y, row, done, values, [this](uint8_t value, int64_t c) {
    return static_cast<float>(value) * factor[c] + offset[c];
  });
}

}  // namespace millhopper
#endif  // HWY_ONCE
