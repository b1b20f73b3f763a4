// SPDX-License-Identifier: Apache-2.0
// Images turned and mirrored as EXIF asks (exif.h).
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_ORIENTATION_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_ORIENTATION_H_

#include <cstdint>

#include "operators/image/pixels/image.h"

namespace millhopper {

// The shape of an image that is stored like this, when it is seen upright.
ImageShape Upright(const ImageShape& stored, int orientation);

// The pixels of a stored image that a box of the upright image shows.
Box ToStored(const Box& upright, int orientation, const ImageShape& stored);

// Writes a stored image as it should be seen. `upright` has the shape Upright() and must not
// overlap the stored pixels. For uint8_t and uint16_t.
template <typename T>
void Orient(const PixelsOf<const T>& stored, int orientation, const PixelsOf<T>& upright);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_ORIENTATION_H_
