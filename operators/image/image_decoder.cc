// SPDX-License-Identifier: Apache-2.0
#include "operators/image/image_decoder.h"

#include <algorithm>

#include "framework/base/error.h"
#include "operators/image/jpeg_decoder.h"

namespace millhopper {

const char* ToString(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kWebp:
      return "WebP";
  }
  return "";
}

ImageShape Scaled(const ImageShape& stored, int scale) {
  return {(stored.height + scale - 1) / scale, (stored.width + scale - 1) / scale, stored.channels};
}

DecodePart WholeImage(const ImageShape& stored) { return {1, {0, 0, stored.width, stored.height}}; }

class ImageDecoder::Codecs {
 public:
  JpegDecoder jpeg;
};

ImageDecoder::ImageDecoder() : codecs_(std::make_unique<Codecs>()) {}

ImageDecoder::~ImageDecoder() = default;

void ImageDecoder::Dispose() {
  codecs_->jpeg.Close();
  Pool<ImageDecoder>::Give(this);
}

const ImageHeader& ImageDecoder::Open(const void* bytes, size_t size, int64_t max_pixels) {
  const auto* const begin = static_cast<const uint8_t*>(bytes);
  if (JpegDecoder::Knows(begin, size)) {
    header_ = codecs_->jpeg.Open(begin, size);
  } else {
    Throw(ErrorCode::kDataLoss, "the bytes are no image: JPEG, PNG and WebP are known");
  }
  const ImageShape& stored = header_.stored;
  if (stored.height > max_pixels / stored.width) {
    Throw(ErrorCode::kResourceLimit, ToString(header_.format), " image of ", stored.width, " x ",
          stored.height, " pixels; the limit is ", max_pixels);
  }
  return header_;
}

bool ImageDecoder::Decode(const DecodePart& part, bool partial, const PixelsOf<uint8_t>& out) {
  const ImageShape whole = Scaled(header_.stored, part.scale);
  const Box& box = part.box;
  Require(part.scale == 1 || header_.format == ImageFormat::kJpeg, "only JPEG images have scales");
  Require(box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 &&
              box.x + box.width <= whole.width && box.y + box.height <= whole.height,
          "a box of ", box.width, " x ", box.height, " pixels at ", box.x, ", ", box.y,
          " is not within ", whole.width, " x ", whole.height);
  return codecs_->jpeg.Decode(part, partial, out);
}

ImageHeader ReadImageHeader(const void* bytes, size_t size, int64_t max_pixels) {
  return ImageDecoder::Take()->Open(bytes, size, max_pixels);
}

}  // namespace millhopper
