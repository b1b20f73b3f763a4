// SPDX-License-Identifier: Apache-2.0
// Encoded images for tests, made by libjpeg, libpng and libwebp.
#ifndef MILLHOPPER_TESTS_FILES_ENCODED_IMAGES_H_
#define MILLHOPPER_TESTS_FILES_ENCODED_IMAGES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "operators/image/pixels/image.h"

namespace millhopper {

// Values of an image: slopes and a little noise, different in each channel and for each seed.
std::vector<uint8_t> SomePixels(const ImageShape& shape, uint32_t seed = 1);

// EXIF data after its mark "Exif\0\0": a TIFF structure with an orientation.
std::string ExifWith(int orientation, bool little_endian = true);

struct JpegOptions {
  int quality = 90;
  // Columns and rows of each component's samples in an MCU; {{2, 2}, {1, 1}, {1, 1}} is 4:2:0.
  std::vector<std::pair<int, int>> sampling;
  bool progressive = false;
  bool arithmetic = false;
  bool one_scan_each = false;  // a scan for each component
  bool as_rgb = false;         // colours are stored as they are, not as YCbCr
  int restart_rows = 0;        // a restart marker after so many rows of MCUs
  std::string exif;            // for its own segment, after "Exif\0\0"
};
// Images of 1, 3 or 4 channels; four are CMYK, stored as YCCK unless as_rgb, with Adobe's marker.
std::string EncodeJpeg(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                       const JpegOptions& options = {});

// The values of an image of CMYK or YCCK, four a pixel as libjpeg gives them, without any
// conversion to colours. Damaged images end the process.
std::string ReadCmyk(const std::string& bytes);

// A PNG image as it is stored: rows of packed values, 16-bit ones with the upper byte first.
struct PngImage {
  int64_t height = 0;
  int64_t width = 0;
  int depth = 8;   // bits of a value
  int colors = 2;  // PNG's type of colour: 0 gray, 2 colours, 3 palette, 4 and 6 with alpha
  std::string rows;
  std::string palette;       // three bytes a colour
  std::string transparency;  // the content of tRNS
  std::string exif;          // the content of eXIf
  bool interlaced = false;
};
std::string EncodePng(const PngImage& image);
// Reads an image without changing its values. Damaged images end the process.
PngImage ReadPng(const std::string& bytes);

struct WebpOptions {
  bool lossless = true;
  std::string exif;  // for its own chunk
  bool animated = false;
};
// Images of 3 or 4 channels.
std::string EncodeWebp(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                       const WebpOptions& options = {});

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_ENCODED_IMAGES_H_
