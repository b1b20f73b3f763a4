// SPDX-License-Identifier: Apache-2.0
// Decodes Windows bitmaps (BMP) of 1, 4, 8, 16, 24 and 32 bits, with palettes, masks and run
// lengths (Source: learn.microsoft.com, "Bitmap Header Types"; OS/2's header of 12 bytes).
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_BMP_DECODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_BMP_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/image/codecs/image_decoder.h"

namespace millhopper {

// ImageDecoder for BMP images; see there.
class BmpDecoder {
 public:
  // Whether an image begins like this.
  static bool Knows(const uint8_t* bytes, size_t size);

  ImageHeader Open(const uint8_t* bytes, size_t size);
  // Decodes all of the image, with the channels that it has. What it throws, it throws after the
  // pixels before it.
  void Decode(const PixelsOf<uint8_t>& out) const;
  void Close() { bytes_ = nullptr; }

 private:
  enum class Coding { kIndices, kRuns8, kRuns4, kMasks };

  // Where a channel lies in a pixel: value * 255 / most, rounded down.
  struct Mask {
    int shift;
    uint32_t most;
  };

  struct Color {
    uint8_t values[3];  // red, green, blue
  };

  [[noreturn]] void Fail(const char* problem) const;
  // Throws unless so many bytes are there.
  void CheckHas(size_t at, size_t count) const;
  uint32_t Number(size_t at, size_t count) const;
  void ReadMasks(size_t header_bytes, uint32_t compression);
  void ReadPalette(size_t at, size_t entry_bytes, size_t colors);
  bool IsGray() const;
  // The row of pixels that are stored as number y.
  int64_t RowOf(int64_t y) const { return is_bottom_up_ ? shape_.height - 1 - y : y; }
  void WriteColor(uint32_t index, uint8_t* to) const;
  void DecodeRow(const uint8_t* row, uint8_t* to) const;
  void DecodeRuns(const PixelsOf<uint8_t>& out) const;

  const uint8_t* bytes_ = nullptr;
  size_t size_ = 0;
  ImageShape shape_;
  size_t pixels_at_ = 0;
  int bits_ = 0;  // of a pixel
  bool is_bottom_up_ = true;
  Coding coding_ = Coding::kIndices;
  std::vector<Mask> masks_;  // of red, green, blue and alpha
  std::vector<Color> palette_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_BMP_DECODER_H_
