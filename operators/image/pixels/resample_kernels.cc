// SPDX-License-Identifier: Apache-2.0
// Highway compiles the part between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once for each set
// of instructions, and HWY_DYNAMIC_DISPATCH calls the best that the processor has. All arithmetic
// is of integers, so all sets give the same values.
#include "operators/image/pixels/resample_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/image/pixels/resample_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After it.
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

// Results from `first` on of one row, any number of channels.
inline void ResampleRest(const uint8_t* row, int64_t channels, const ResampleWeights& weights,
                         int64_t first, uint8_t* out) {
  for (int64_t x = first; x < weights.count(); ++x) {
    ResampleOne(row + (weights.start(x) - weights.begin()) * channels, channels, weights.weights(x),
                weights.used(x), out + x * channels);
  }
}

#if HWY_TARGET == HWY_SCALAR

constexpr int64_t kMostRows = 1;

template <int64_t kChannels, int64_t>
void ResampleSome(const uint8_t* row, int64_t, const uint8_t*, const ResampleWeights& weights,
                  uint8_t* out) {
  ResampleRest(row, kChannels, weights, 0, out);
}

#else

// Vectors hold 16 bytes of each of so many rows.
constexpr int64_t kMostRows = HWY_MIN(HWY_MAX_BYTES / 16, 4);

template <typename T, int64_t kRows>
using TagOf = hn::FixedTag<T, 16 / sizeof(T) * kRows>;
template <typename T, int64_t kRows>
using VectorOf = hn::VFromD<TagOf<T, kRows> >;

template <int64_t kRows>
HWY_INLINE VectorOf<uint8_t, kRows> LoadPixels(const uint8_t* at, int64_t row_stride) {
  const TagOf<uint8_t, kRows> bytes;
  if constexpr (kRows == 1) {
    return hn::LoadU(bytes, at);
  } else {
    return hn::Combine(bytes, LoadPixels<kRows / 2>(at + kRows / 2 * row_stride, row_stride),
                       LoadPixels<kRows / 2>(at, row_stride));
  }
}

// Two neighbouring numbers of 16 bits.
HWY_INLINE int32_t PairAt(const int16_t* numbers) {
  int32_t pair;
  std::memcpy(&pair, numbers, sizeof(pair));
  return pair;
}

// Result x of kRows rows, a number from 0 to 255 for each of four channels. `at` is the first of
// its pixels and `half` the first half of its weights. The lookups take each channel of the left
// two and of the right two of four pixels as pairs of numbers of 16 bits, which are multiplied by
// the halves of their weights and added at once.
template <int64_t kChannels, int64_t kRows>
HWY_INLINE VectorOf<int32_t, kRows> OneResult(const uint8_t* at, int64_t row_stride,
                                              const int16_t* half, int64_t taps,
                                              VectorOf<uint8_t, kRows> left_pairs,
                                              VectorOf<uint8_t, kRows> right_pairs) {
  const TagOf<int16_t, kRows> halves;
  const TagOf<int32_t, kRows> numbers;
  // Highway adds a pair's products to one of two sums.
  auto low = hn::Zero(numbers), high = low, more_low = low, more_high = low;
  const int16_t* const end = half + 2 * taps;
  do {
    const auto pixels = LoadPixels<kRows>(at, row_stride);
    const auto left = hn::BitCast(halves, hn::TableLookupBytesOr0(pixels, left_pairs));
    const auto right = hn::BitCast(halves, hn::TableLookupBytesOr0(pixels, right_pairs));
    const auto add = [&](auto values, const int16_t* pair, auto& sum, auto& more) HWY_ATTR {
      const auto factors = hn::BitCast(halves, hn::Set(numbers, PairAt(pair)));
      sum = hn::ReorderWidenMulAccumulate(numbers, values, factors, sum, more);
    };
    add(left, half, low, more_low);
    add(right, half + 2, low, more_low);
    add(left, half + 4, high, more_high);
    add(right, half + 6, high, more_high);
    at += 4 * kChannels;
    half += 8;
  } while (half != end);
  low = hn::RearrangeToOddPlusEven(low, more_low);
  high = hn::RearrangeToOddPlusEven(high, more_high);
  const auto sum = hn::Add(hn::Add(hn::ShiftLeft<kLowBits>(high), low), hn::Set(numbers, kHalf));
  const auto value = hn::ShiftRight<kWeightBits>(sum);
  return hn::Min(hn::Max(value, hn::Zero(numbers)), hn::Set(numbers, 255));
}

// Results of 3 or 4 channels, of kRows rows. Reads no byte from `end` on.
template <int64_t kChannels, int64_t kRows>
void ResampleSome(const uint8_t* row, int64_t row_stride, const uint8_t* end,
                  const ResampleWeights& weights, uint8_t* out) {
  constexpr int64_t kResults = 4;  // are stored at once
  constexpr uint8_t kNone = 0x80;  // becomes 0
  const TagOf<uint8_t, kRows> bytes;
  alignas(16) uint8_t left[16], right[16], order[16];
  std::fill_n(left, 16, kNone);
  std::fill_n(right, 16, kNone);
  std::fill_n(order, 16, kNone);
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t pixel = 0; pixel < 2; ++pixel) {
      left[4 * c + 2 * pixel] = static_cast<uint8_t>(pixel * kChannels + c);
      right[4 * c + 2 * pixel] = static_cast<uint8_t>((pixel + 2) * kChannels + c);
    }
    for (int64_t i = 0; i < kResults; ++i) {
      order[i * kChannels + c] = static_cast<uint8_t>(4 * c + i);
    }
  }
  const auto left_pairs = hn::LoadDup128(bytes, left), right_pairs = hn::LoadDup128(bytes, right);
  const auto pixel_order = hn::LoadDup128(bytes, order);

  const int64_t out_stride = weights.count() * kChannels;
  // Copies, since the compiler cannot know that no result is stored over them.
  const int64_t begin = weights.begin(), taps = weights.taps();
  const int64_t* const starts = weights.starts();
  const int16_t* const halves = weights.halves(0);
  const auto store = [&](int64_t x) HWY_ATTR {
    const auto result = [&](int64_t i) HWY_ATTR {
      return OneResult<kChannels, kRows>(row + (starts[x + i] - begin) * kChannels, row_stride,
                                         halves + 2 * (x + i) * taps, taps, left_pairs,
                                         right_pairs);
    };
    // Each number takes up the same channel of four results, and then gives them to their pixels.
    const auto results = hn::Or(hn::Or(result(0), hn::ShiftLeft<8>(result(1))),
                                hn::Or(hn::ShiftLeft<16>(result(2)), hn::ShiftLeft<24>(result(3))));
    alignas(64) uint8_t made[16 * kRows];
    hn::Store(hn::TableLookupBytesOr0(hn::BitCast(bytes, results), pixel_order), bytes, made);
    for (int64_t y = 0; y < kRows; ++y) {
      std::memcpy(out + y * out_stride + x * kChannels, made + 16 * y, kResults * kChannels);
    }
  };

  // The last load ends 16 bytes after the last four pixels' beginning.
  const int64_t readable = end - row - (kRows - 1) * row_stride;
  int64_t count = weights.count();
  while (count > 0 && (starts[count - 1] - begin + taps - 4) * kChannels > readable - 16) {
    --count;
  }
  if (count < kResults) count = 0;
  for (int64_t x = 0; x + kResults <= count; x += kResults) store(x);
  if (count % kResults != 0) store(count - kResults);
  for (int64_t y = 0; y < kRows; ++y) {
    ResampleRest(row + y * row_stride, kChannels, weights, count, out + y * out_stride);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

template <int64_t kChannels>
void AllRows(const PixelsOf<const uint8_t>& pixels, const ResampleWeights& weights, uint8_t* out) {
  const int64_t height = pixels.shape.height;
  const uint8_t* const end = pixels.row(height - 1) + pixels.shape.width * kChannels;
  int64_t y = 0;
  const auto resample = [&](auto rows) HWY_ATTR {
    constexpr int64_t kRows = decltype(rows)::value;
    for (; y + kRows <= height; y += kRows) {
      ResampleSome<kChannels, kRows>(pixels.row(y), pixels.row_stride, end, weights,
                                     out + y * weights.count() * kChannels);
    }
  };
  resample(std::integral_constant<int64_t, kMostRows>());
  resample(std::integral_constant<int64_t, 1>());
}

void Rows(const PixelsOf<const uint8_t>& pixels, const ResampleWeights& weights, uint8_t* out) {
  const int64_t channels = pixels.shape.channels;
  if (channels == 3) {
    AllRows<3>(pixels, weights, out);
  } else if (channels == 4) {
    AllRows<4>(pixels, weights, out);
  } else {
    for (int64_t y = 0; y < pixels.shape.height; ++y) {
      ResampleRest(pixels.row(y), channels, weights, 0, out + y * weights.count() * channels);
    }
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
