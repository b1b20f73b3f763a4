// SPDX-License-Identifier: Apache-2.0
// The two inner loops of Resampler, for the instructions that the processor has.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_RESAMPLE_KERNELS_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_RESAMPLE_KERNELS_H_

#include <cstdint>

#include "operators/image/pixels/resample.h"

namespace millhopper {

// Bits of a weight after the point.
constexpr int kWeightBits = 22;
// Bits of the lower half of a weight; two halves of 16 bits hold any weight from -16 to 16.
constexpr int kLowBits = 11;

// Resizes each row of `pixels`, which begin with pixel weights.begin(); the results lie end to end
// in `out`.
void ResampleRows(const PixelsOf<const uint8_t>& pixels, const ResampleWeights& weights,
                  uint8_t* out);

// Writes the weighted sum of `taps` rows of `values` values that lie end to end.
void ResampleColumns(const uint8_t* rows, int64_t values, const int32_t* weights, int64_t taps,
                     uint8_t* out);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_RESAMPLE_KERNELS_H_
