// SPDX-License-Identifier: Apache-2.0
// The attributes `interpolation`, `fill` and `center` of operators that move pixels.
#ifndef MILLHOPPER_OPERATORS_IMAGE_IMAGE_SAMPLING_H_
#define MILLHOPPER_OPERATORS_IMAGE_IMAGE_SAMPLING_H_

#include "framework/program/operator.h"
#include "operators/image/pixels/affine.h"

namespace millhopper {

// Declares `interpolation` and `fill`.
OpSchema& WithSampling(OpSchema& schema);
// What they ask for. Throws kInvalidArgument if a value of `fill` is no byte, or if there are
// several, but not as many as channels; -1 is for channels that are not known yet.
Sampling SamplingOf(const AttributeMap& attributes, int64_t channels);

// Declares `center`.
OpSchema& WithCenter(OpSchema& schema);
// Throws kInvalidArgument unless `center` has no value or two, which are finite.
void CheckCenter(const AttributeMap& attributes);
// Sets the centre that is asked for.
void SetCenter(const AttributeMap& attributes, const ImageShape& shape, Affine* affine);

// Throws kInvalidArgument if images are larger than Warp takes.
void RequireWarpable(const ImageShape& shape);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_IMAGE_SAMPLING_H_
