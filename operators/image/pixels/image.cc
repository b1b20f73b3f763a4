// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/image.h"

#include "framework/base/error.h"

namespace millhopper {

void CheckPixels(int64_t height, int64_t width) {
  if (height > 0 && width > kMostPixels / height) {
    Throw(ErrorCode::kResourceLimit, "an image of ", height, " x ", width, " pixels; the limit is ",
          kMostPixels, " pixels");
  }
}

}  // namespace millhopper
