// SPDX-License-Identifier: Apache-2.0
#include "tests/encoded_images.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

// After stdio.h.
#include <jpeglib.h>

#include "tests/bytes.h"

namespace millhopper {

std::vector<uint8_t> SomePixels(const ImageShape& shape, uint32_t seed) {
  std::vector<uint8_t> pixels;
  uint32_t noise = seed;
  for (int64_t y = 0; y < shape.height; ++y) {
    for (int64_t x = 0; x < shape.width; ++x) {
      for (int64_t c = 0; c < shape.channels; ++c) {
        noise = noise * 1664525 + 1013904223;
        const int64_t slope = (c + 1) * (c % 2 == 0 ? 3 * x + y : x + 4 * y) + 90 * c;
        pixels.push_back(static_cast<uint8_t>((slope / 2 + (noise >> 26)) % 256));
      }
    }
  }
  return pixels;
}

std::string ExifWith(int orientation, bool little_endian) {
  const auto number = [&](uint64_t value, size_t size) {
    const std::string bytes = BigEndian(value, size);
    return little_endian ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
  };
  constexpr int kOrientation = 0x0112, kShort = 3;
  return (little_endian ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) +
         number(kOrientation, 2) + number(kShort, 2) + number(1, 4) +
         number(static_cast<uint64_t>(orientation), 2) + number(0, 2) + number(0, 4);
}

namespace {

// How libjpeg is told about the pixels, and how it is to store them.
void SetColors(jpeg_compress_struct* cinfo, int64_t channels, bool as_rgb) {
  cinfo->input_components = static_cast<int>(channels);
  cinfo->in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(cinfo);
  if (channels == 3 && as_rgb) jpeg_set_colorspace(cinfo, JCS_RGB);
  if (channels == 4) jpeg_set_colorspace(cinfo, as_rgb ? JCS_CMYK : JCS_YCCK);
}

// One scan for each component, of all its coefficients.
std::vector<jpeg_scan_info> ScanOfEach(int components) {
  std::vector<jpeg_scan_info> scans(static_cast<size_t>(components), {1, {0}, 0, 63, 0, 0});
  for (int i = 0; i < components; ++i) scans[static_cast<size_t>(i)].component_index[0] = i;
  return scans;
}

}  // namespace

std::string EncodeJpeg(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                       const JpegOptions& options) {
  EXPECT_EQ(static_cast<int64_t>(pixels.size()), shape.values());
  jpeg_compress_struct cinfo = {};
  jpeg_error_mgr errors = {};
  cinfo.err = jpeg_std_error(&errors);  // an error ends the process
  jpeg_create_compress(&cinfo);
  unsigned char* encoded = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &encoded, &size);
  cinfo.image_width = static_cast<JDIMENSION>(shape.width);
  cinfo.image_height = static_cast<JDIMENSION>(shape.height);
  SetColors(&cinfo, shape.channels, options.as_rgb);
  jpeg_set_quality(&cinfo, options.quality, TRUE);
  for (size_t i = 0; i < options.sampling.size(); ++i) {
    cinfo.comp_info[i].h_samp_factor = options.sampling[i].first;
    cinfo.comp_info[i].v_samp_factor = options.sampling[i].second;
  }
  const std::vector<jpeg_scan_info> scans = ScanOfEach(cinfo.num_components);
  if (options.progressive) jpeg_simple_progression(&cinfo);
  if (options.one_scan_each) {
    cinfo.scan_info = scans.data();
    cinfo.num_scans = static_cast<int>(scans.size());
  }
  cinfo.arith_code = options.arithmetic ? TRUE : FALSE;
  cinfo.restart_in_rows = options.restart_rows;
  jpeg_start_compress(&cinfo, TRUE);
  if (!options.exif.empty()) {
    const std::string segment = std::string("Exif\0\0", 6) + options.exif;
    jpeg_write_marker(&cinfo, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(segment.data()),
                      static_cast<unsigned int>(segment.size()));
  }
  for (int64_t y = 0; y < shape.height; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(pixels.data()) + y * shape.width * shape.channels;
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  std::string bytes(reinterpret_cast<char*>(encoded), size);
  std::free(encoded);
  return bytes;
}

}  // namespace millhopper
