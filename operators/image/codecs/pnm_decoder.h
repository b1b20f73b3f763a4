// SPDX-License-Identifier: Apache-2.0
// Decodes PBM, PGM and PPM images (P1 to P6), as text and as bytes (Source: netpbm.sourceforge.net,
// the pages of the formats).
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_PNM_DECODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_PNM_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "operators/image/codecs/image_decoder.h"

namespace millhopper {

// ImageDecoder for PNM images; see there.
class PnmDecoder {
 public:
  // Whether an image begins like this.
  static bool Knows(const uint8_t* bytes, size_t size);

  ImageHeader Open(const uint8_t* bytes, size_t size);
  // Decodes all of the image, with the channels that it has. What it throws, it throws after the
  // pixels before it.
  void Decode(const PixelsOf<uint8_t>& out) const;
  void Close() { bytes_ = nullptr; }

 private:
  [[noreturn]] void Fail(const char* problem) const;
  [[noreturn]] void FailCut() const;
  // Goes beyond the end of the line.
  void SkipComment(size_t* at) const;
  // Reads the next number of a header, or of an image that is text, from *at on, and what follows
  // it: one character of white space.
  uint32_t NextNumber(size_t* at) const;
  // Reads a value of an image that is text.
  uint32_t NextValue(size_t* at) const;
  uint8_t Scaled(uint32_t value) const;

  const uint8_t* bytes_ = nullptr;
  size_t size_ = 0;
  ImageShape shape_;
  bool is_text_ = false, is_bitmap_ = false;
  uint32_t most_ = 1;  // the highest value
  size_t pixels_at_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_PNM_DECODER_H_
