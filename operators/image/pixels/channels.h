// SPDX-License-Identifier: Apache-2.0
// Pixels with other channels: gray from colours, colours from gray, with and without alpha.
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_CHANNELS_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_CHANNELS_H_

#include <cstdint>

namespace millhopper {

// Converts a row of pixels to another number of channels, 1 to 4. Gray is (19595 r + 38470 g + 7471
// b + 32768) / 65536, as Pillow's mode L (ITU-R BT.601); new alpha is 255. The rows must not
// overlap.
void ConvertChannels(const uint8_t* from, int64_t from_channels, int64_t width, uint8_t* to,
                     int64_t to_channels);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_CHANNELS_H_
