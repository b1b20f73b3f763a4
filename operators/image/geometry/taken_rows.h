// SPDX-License-Identifier: Apache-2.0
// Some of the objects of images: their boxes, masks, labels and polygons.
#ifndef MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_TAKEN_ROWS_H_
#define MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_TAKEN_ROWS_H_

#include <cstddef>
#include <vector>

#include "framework/tensor/tensor.h"

namespace millhopper {

using RowPlaces = std::vector<size_t>;  // ascending

// A tensor with the units of its level `depth` (rows where there are not as many) at these places;
// the levels above count what is left.
LoDTensor Taken(const LoDTensor& tensor, size_t depth, const RowPlaces& places);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_TAKEN_ROWS_H_
