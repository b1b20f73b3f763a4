// SPDX-License-Identifier: Apache-2.0
// Decodes PNG images by libpng: every depth and type of colour, plain and interlaced.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_PNG_DECODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_PNG_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "operators/image/codecs/image_decoder.h"

namespace millhopper {

// ImageDecoder for PNG images; see there.
class PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  // Whether an image begins like this.
  static bool Knows(const uint8_t* bytes, size_t size);

  ImageHeader Open(const uint8_t* bytes, size_t size, DecodeMode mode);
  // Decodes all of the image, with the channels that it has. With `partial`, leaves pixels that it
  // does not come to as they were.
  bool Decode(bool partial, const PixelsOf<uint8_t>& out);
  bool Decode16(bool partial, const PixelsOf<uint16_t>& out);
  // Returns the memory of the image.
  void Close();

 private:
  struct Session;

  std::unique_ptr<Session> session_;  // null while no image is open
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_PNG_DECODER_H_
