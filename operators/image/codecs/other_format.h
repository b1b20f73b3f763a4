// SPDX-License-Identifier: Apache-2.0
// Recognises formats of images that cannot be decoded here, so that an error can say what a file
// is.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_OTHER_FORMAT_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_OTHER_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millhopper {

// "JPEG XL", "HEIC" ...: the format that these bytes begin like; empty if it is none of those
// known. The bytes are not trusted.
std::string_view OtherFormatOf(const uint8_t* bytes, size_t size);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_OTHER_FORMAT_H_
