// SPDX-License-Identifier: Apache-2.0
// Decodes the first frame of GIF images by giflib.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_GIF_DECODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_GIF_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "operators/image/codecs/image_decoder.h"

namespace millhopper {

// ImageDecoder for GIF images; see there. What the frame leaves free of the image is transparent,
// or has the first colour if none is.
class GifDecoder {
 public:
  GifDecoder();
  ~GifDecoder();
  GifDecoder(const GifDecoder&) = delete;
  GifDecoder& operator=(const GifDecoder&) = delete;

  // Whether an image begins like this.
  static bool Knows(const uint8_t* bytes, size_t size);

  ImageHeader Open(const uint8_t* bytes, size_t size);
  // Decodes all of the image, with the channels that it has. What it throws, it throws after the
  // pixels before it.
  void Decode(const PixelsOf<uint8_t>& out);
  // Returns the memory of the image.
  void Close();

 private:
  struct Session;

  std::unique_ptr<Session> session_;  // null while no image is open
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_GIF_DECODER_H_
