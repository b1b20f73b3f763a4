// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/limits/image_limit.h"

#include <benchmark/benchmark.h>
#include <jpeglib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "framework/base/random.h"
#include "tests/benchmarks/photos.h"
#include "tests/benchmarks/usage.h"

namespace millhopper {
namespace {

constexpr uint64_t kMostPhotos = 128;
constexpr size_t kSide = 224;
constexpr size_t kChannels = 3;
constexpr size_t kValues = kSide * kSide * kChannels;

// With a count that is known, and without a division, the compiler uses vectors.
void ToFloats(const uint8_t* __restrict from, float* __restrict to) {
  for (size_t i = 0; i < kValues; ++i) to[i] = static_cast<float>(from[i]) * (1 / 255.0f);
}

}  // namespace

ImageLimit::ImageLimit(uint64_t photos)
    : pixels_(size_t{kPhotoWidth} * kPhotoHeight * kChannels), out_(kValues) {
  const RandomKey key(0, 0, "limit");
  for (uint64_t i = 0; i < std::min(photos, kMostPhotos); ++i) {
    // An area of 8 to 100 %, its sides in a ratio from 3/4 to 4/3.
    for (uint64_t draw = 0;; draw += 4) {
      const double area =
          (0.08 + 0.92 * ToUnitDouble(key.Bits(i, draw))) * kPhotoWidth * kPhotoHeight;
      const double ratio =
          std::exp(std::log(4.0 / 3) * (2 * ToUnitDouble(key.Bits(i, draw + 1)) - 1));
      const auto width = static_cast<uint32_t>(std::lround(std::sqrt(area * ratio)));
      const auto height = static_cast<uint32_t>(std::lround(std::sqrt(area / ratio)));
      if (width > kPhotoWidth || height > kPhotoHeight) continue;
      photos_.push_back({MakePhoto(i),
                         static_cast<uint32_t>(key.Below(kPhotoWidth - width + 1, i, draw + 2)),
                         static_cast<uint32_t>(key.Below(kPhotoHeight - height + 1, i, draw + 3)),
                         width, height});
      break;
    }
  }
}

void ImageLimit::Work(const Photo& photo) {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;  // by default an error ends the process
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(photo.bytes.data()),
               photo.bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  JDIMENSION x = photo.x, width = photo.width;
  jpeg_crop_scanline(&jpeg, &x, &width);
  jpeg_skip_scanlines(&jpeg, photo.y);
  for (uint32_t y = 0; y < photo.height; ++y) {
    JSAMPROW row[] = {&pixels_[size_t{y} * width * kChannels]};
    jpeg_read_scanlines(&jpeg, row, 1);
  }
  jpeg_abort_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  ToFloats(pixels_.data(), out_.data());
  benchmark::DoNotOptimize(out_.data());
  benchmark::ClobberMemory();
}

double ImageLimit::SecondsPerRecord() {
  const double begin = ThreadSeconds();
  for (const Photo& photo : photos_) Work(photo);
  return (ThreadSeconds() - begin) / static_cast<double>(photos_.size());
}

}  // namespace millhopper
