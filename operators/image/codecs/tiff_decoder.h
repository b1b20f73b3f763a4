// SPDX-License-Identifier: Apache-2.0
// Decodes the first page of TIFF images by libtiff: gray, palettes and colours, in strips and
// tiles, with any compression that libtiff has.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_TIFF_DECODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_TIFF_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "operators/image/codecs/image_decoder.h"

namespace millhopper {

// ImageDecoder for TIFF images; see there.
class TiffDecoder {
 public:
  TiffDecoder();
  ~TiffDecoder();
  TiffDecoder(const TiffDecoder&) = delete;
  TiffDecoder& operator=(const TiffDecoder&) = delete;

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

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_TIFF_DECODER_H_
