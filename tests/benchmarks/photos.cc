// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/photos.h"

#include <jpeglib.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "framework/base/random.h"

namespace millhopper {
namespace {

constexpr int kChannels = 3;  // luminance and two of colour, as JPEG has them

// Adds noise of one scale to a channel: random values `step` pixels apart, and between them what
// lies between them.
void AddNoise(const RandomKey& key, uint64_t number, int channel, int step, float contrast,
              std::vector<float>* plane) {
  const int columns = kPhotoWidth / step + 2, rows = kPhotoHeight / step + 2;
  std::vector<float> lattice(static_cast<size_t>(columns) * static_cast<size_t>(rows));
  const uint64_t first = (static_cast<uint64_t>(step) * kChannels + channel) << 32;
  for (size_t i = 0; i < lattice.size(); ++i) {
    lattice[i] = (ToUnitFloat(key.Bits(number, first + i)) - 0.5f) * contrast;
  }
  for (int y = 0; y < kPhotoHeight; ++y) {
    const float down = static_cast<float>(y % step) / static_cast<float>(step);
    const float* const upper = lattice.data() + ptrdiff_t{y / step} * columns;
    float* const row = plane->data() + ptrdiff_t{y} * kPhotoWidth;
    for (int x = 0; x < kPhotoWidth; ++x) {
      const float right = static_cast<float>(x % step) / static_cast<float>(step);
      const float* const left = upper + x / step;
      const float above = left[0] + (left[1] - left[0]) * right;
      const float below = left[columns] + (left[columns + 1] - left[columns]) * right;
      row[x] += above + (below - above) * down;
    }
  }
}

uint8_t ToByte(float value) {
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value + 0.5f);
}

}  // namespace

std::string MakePhoto(uint64_t number) {
  const RandomKey key(20180501, 8, "photo");
  std::vector<float> planes[kChannels];
  for (int channel = 0; channel < kChannels; ++channel) {
    planes[channel].assign(size_t{kPhotoWidth} * kPhotoHeight, 128.0f);
    for (int step = channel == 0 ? 1 : 8; step <= 256; step *= 2) {
      AddNoise(key, number, channel, step, step == 1 ? 16.0f : 60.0f, &planes[channel]);
    }
  }

  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;  // by default an error ends the process
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): as libjpeg declares it
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = kPhotoWidth;
  jpeg.image_height = kPhotoHeight;
  jpeg.input_components = kChannels;
  jpeg.in_color_space = JCS_YCbCr;
  jpeg_set_defaults(&jpeg);  // 4:2:0
  jpeg_set_quality(&jpeg, 93, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<uint8_t> row(size_t{kPhotoWidth} * kChannels);
  for (size_t y = 0; y < kPhotoHeight; ++y) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = ToByte(planes[i % kChannels][y * kPhotoWidth + i / kChannels]);
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&jpeg, rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string photo(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return photo;
}

}  // namespace millhopper
