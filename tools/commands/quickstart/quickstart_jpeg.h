// SPDX-License-Identifier: Apache-2.0
// Gray images as JPEG files.
#ifndef MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_JPEG_H_
#define MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_JPEG_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

// The bytes of a JPEG file, of quality 95, of a gray image whose rows of `width` pixels lie end to
// end. Throws kInternal if libjpeg cannot make it.
std::string GrayJpeg(const std::vector<uint8_t>& pixels, int width);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_JPEG_H_
