// SPDX-License-Identifier: Apache-2.0
// How a camera was held: the orientation in EXIF data.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_EXIF_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_EXIF_H_

#include <cstddef>
#include <cstdint>

namespace millhopper {

// The orientation in a TIFF structure, which is what follows the mark "Exif\0\0" of EXIF data: 1 to
// 8 as below, and 1 if it names none or is damaged. The standard asks for one SHORT; this takes
// every type of integer that Pillow takes, which are all but BYTE and SLONG8, and the first of
// several values. (Pillow takes fractions and floats, too.) The bytes are not trusted.
//
//   1 as it should be seen        5 mirrored at the diagonal from the top left
//   2 mirrored left to right      6 to be turned by 90 degrees clockwise
//   3 turned by 180 degrees       7 mirrored at the other diagonal
//   4 mirrored top to bottom      8 to be turned by 90 degrees anticlockwise
//
// Source: CIPA DC-008 (Exif 2.32), tag 0x0112 of IFD 0.
int OrientationOf(const uint8_t* tiff, size_t size);

// As above for EXIF data that may begin with "Exif\0\0".
int OrientationOfExif(const uint8_t* exif, size_t size);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_EXIF_H_
