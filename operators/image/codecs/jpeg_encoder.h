// SPDX-License-Identifier: Apache-2.0
// Encodes images as JPEG by libjpeg-turbo, to see what compression makes of them.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_ENCODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/base/ref_counted.h"
#include "operators/image/pixels/image.h"

namespace millhopper {

// The most rows, and the most pixels in one, of a JPEG image.
constexpr int64_t kMostJpegSide = 65500;

// Encodes images, one after another, and uses its memory again. One thread at a time; each thread
// takes one from the pool.
class JpegEncoder final : public RefCounted {
 public:
  JpegEncoder();
  ~JpegEncoder() override;

  static Ref<JpegEncoder> Take() { return Pool<JpegEncoder>::Take(); }

  // Encodes gray or colours of at least one pixel, at most kMostJpegSide each way, with a quality
  // from 1 to 100, as libjpeg's defaults are: baseline, with chroma of half the width and height.
  // The bytes are valid until the next call.
  const std::vector<uint8_t>& Encode(const PixelsOf<const uint8_t>& image, int quality);

 private:
  struct Session;

  void Dispose() override;

  const std::unique_ptr<Session> session_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_ENCODER_H_
