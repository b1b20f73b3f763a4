// SPDX-License-Identifier: Apache-2.0
// Decodes JPEG images by libjpeg-turbo: baseline, progressive and arithmetic ones.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_DECODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "operators/image/codecs/image_decoder.h"

namespace millhopper {

// ImageDecoder for JPEG images; see there.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Whether an image begins like this.
  static bool Knows(const uint8_t* bytes, size_t size);

  ImageHeader Open(const uint8_t* bytes, size_t size);
  bool Decode(const DecodePart& part, bool partial, const PixelsOf<uint8_t>& out);
  // Returns the memory of the image.
  void Close();

 private:
  struct Session;

  const std::unique_ptr<Session> session_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_DECODER_H_
