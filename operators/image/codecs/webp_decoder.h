// SPDX-License-Identifier: Apache-2.0
// Decodes WebP images by libwebp: lossy and lossless ones, with and without alpha.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_WEBP_DECODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_WEBP_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "operators/image/codecs/image_decoder.h"

namespace millhopper {

// ImageDecoder for WebP images; see there.
class WebpDecoder {
 public:
  // Whether an image begins like this.
  static bool Knows(const uint8_t* bytes, size_t size);

  ImageHeader Open(const uint8_t* bytes, size_t size);
  // Decodes all of the image, with the channels that it has. With `partial`, leaves pixels that it
  // does not come to as they were.
  bool Decode(bool partial, const PixelsOf<uint8_t>& out);
  void Close() { bytes_ = nullptr; }

 private:
  const uint8_t* bytes_ = nullptr;
  size_t size_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_WEBP_DECODER_H_
