// SPDX-License-Identifier: Apache-2.0
// Highway compiles the part between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once for each set
// of instructions, and HWY_DYNAMIC_DISPATCH calls the best that the processor has. All arithmetic
// is of integers, so all sets give the same values.
#include "operators/image/resample_kernels.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/image/resample_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Behind it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace millhopper::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

inline uint8_t ToByte(int32_t sum) {
  const int32_t value = sum >> kWeightBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// One result of one row, any number of channels.
inline void ResampleOne(const uint8_t* from, int64_t channels, const int32_t* weights, int64_t taps,
                        uint8_t* out) {
  for (int64_t c = 0; c < channels; ++c) {
    int32_t sum = kHalf;
    for (int64_t k = 0; k < taps; ++k) sum += from[k * channels + c] * weights[k];
    out[c] = ToByte(sum);
  }
}

#if HWY_TARGET == HWY_SCALAR

template <int64_t kChannels>
void ResampleRow(const uint8_t* from, int64_t, const ResampleWeights& weights, uint8_t* out) {
  for (int64_t x = 0; x < weights.count(); ++x) {
    ResampleOne(from + (weights.start(x) - weights.begin()) * kChannels, kChannels,
                weights.weights(x), weights.used(x), out + x * kChannels);
  }
}

#else

// Results of 3 or 4 channels. Four pixels are loaded at once, 16 bytes, and each becomes four
// 32-bit numbers, one a channel; of 3 channels the fourth number is not used.
template <int64_t kChannels>
void ResampleRow(const uint8_t* from, int64_t width, const ResampleWeights& weights, uint8_t* out) {
  const hn::FixedTag<uint8_t, 16> bytes;
  const hn::FixedTag<int32_t, 4> numbers;
  const hn::FixedTag<uint8_t, 4> narrow;
  alignas(16) uint8_t lanes[4][16];
  for (size_t pixel = 0; pixel < 4; ++pixel) {
    for (size_t c = 0; c < 4; ++c) {
      uint8_t* const lane = &lanes[pixel][4 * c];
      lane[0] = static_cast<uint8_t>(pixel * static_cast<size_t>(kChannels) + c);
      lane[1] = lane[2] = lane[3] = 0x80;  // becomes 0
      if (static_cast<int64_t>(c) >= kChannels) lane[0] = 0x80;
    }
  }
  const auto first = hn::Load(bytes, lanes[0]), second = hn::Load(bytes, lanes[1]),
             third = hn::Load(bytes, lanes[2]), fourth = hn::Load(bytes, lanes[3]);
  const int64_t groups = weights.taps() / 4;
  const int64_t count = weights.count();
  for (int64_t x = 0; x < count; ++x) {
    const int64_t start = weights.start(x) - weights.begin();
    const uint8_t* const at = from + start * kChannels;
    uint8_t* const result = out + x * kChannels;
    // The last load must stay within the row, and the last store within the results.
    const bool fits =
        start * kChannels + (groups - 1) * 4 * kChannels + 16 <= width * kChannels && x + 1 < count;
    if (!fits) {
      ResampleOne(at, kChannels, weights.weights(x), weights.used(x), result);
      continue;
    }
    auto sum = hn::Set(numbers, kHalf);
    const int32_t* weight = weights.weights(x);
    for (int64_t group = 0; group < groups; ++group, weight += 4) {
      const auto pixels = hn::LoadU(bytes, at + group * 4 * kChannels);
      const auto add = [&](auto lane, int32_t factor) HWY_ATTR {
        const auto values = hn::BitCast(numbers, hn::TableLookupBytesOr0(pixels, lane));
        sum = hn::Add(sum, hn::Mul(values, hn::Set(numbers, factor)));
      };
      add(first, weight[0]);
      add(second, weight[1]);
      add(third, weight[2]);
      add(fourth, weight[3]);
    }
    const auto values = hn::ShiftRight<kWeightBits>(sum);
    // Four bytes are stored; the next result writes over the fourth.
    hn::StoreU(hn::DemoteTo(narrow, values), narrow, result);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

void Rows(const PixelsOf<const uint8_t>& pixels, const ResampleWeights& weights, uint8_t* out) {
  const int64_t channels = pixels.shape.channels;
  for (int64_t y = 0; y < pixels.shape.height; ++y) {
    const uint8_t* const row = pixels.row(y);
    if (channels == 3) {
      ResampleRow<3>(row, pixels.shape.width, weights, out);
    } else if (channels == 4) {
      ResampleRow<4>(row, pixels.shape.width, weights, out);
    } else {
      for (int64_t x = 0; x < weights.count(); ++x) {
        ResampleOne(row + (weights.start(x) - weights.begin()) * channels, channels,
                    weights.weights(x), weights.used(x), out + x * channels);
      }
    }
    out += weights.count() * channels;
  }
}

void Columns(const uint8_t* rows, int64_t values, const int32_t* weights, int64_t taps,
             uint8_t* out) {
  const hn::ScalableTag<int32_t> numbers;
  const hn::Rebind<uint8_t, decltype(numbers)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(numbers));
  int64_t i = 0;
  for (; i + 2 * lanes <= values; i += 2 * lanes) {
    auto left = hn::Set(numbers, kHalf), right = left;
    const uint8_t* at = rows + i;
    for (int64_t k = 0; k < taps; ++k, at += values) {
      const auto weight = hn::Set(numbers, weights[k]);
      left = hn::Add(left, hn::Mul(hn::PromoteTo(numbers, hn::LoadU(narrow, at)), weight));
      right =
          hn::Add(right, hn::Mul(hn::PromoteTo(numbers, hn::LoadU(narrow, at + lanes)), weight));
    }
    hn::StoreU(hn::DemoteTo(narrow, hn::ShiftRight<kWeightBits>(left)), narrow, out + i);
    hn::StoreU(hn::DemoteTo(narrow, hn::ShiftRight<kWeightBits>(right)), narrow, out + i + lanes);
  }
  for (; i < values; ++i) {
    int32_t sum = kHalf;
    for (int64_t k = 0; k < taps; ++k) sum += rows[k * values + i] * weights[k];
    out[i] = ToByte(sum);
  }
}

}  // namespace millhopper::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace millhopper {

HWY_EXPORT(Rows);
HWY_EXPORT(Columns);

void ResampleRows(const PixelsOf<const uint8_t>& pixels, const ResampleWeights& weights,
                  uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(Rows)(pixels, weights, out);
}

void ResampleColumns(const uint8_t* rows, int64_t values, const int32_t* weights, int64_t taps,
                     uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(Columns)(rows, values, weights, taps, out);
}

}  // namespace millhopper
#endif  // HWY_ONCE
