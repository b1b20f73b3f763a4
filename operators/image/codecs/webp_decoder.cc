// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/webp_decoder.h"

#include <webp/decode.h>

#include <cstring>
#include <memory>
#include <new>

#include "framework/base/error.h"
#include "operators/image/codecs/exif.h"

namespace millhopper {
namespace {

constexpr size_t kTagBytes = 4, kLengthBytes = 4;
constexpr size_t kHeadBytes = 12;  // "RIFF", the length, "WEBP"

size_t LittleEndian(const uint8_t* bytes) {
  return size_t{bytes[0]} | size_t{bytes[1]} << 8 | size_t{bytes[2]} << 16 | size_t{bytes[3]} << 24;
}

// The orientation in the chunk EXIF.
int OrientationIn(const uint8_t* bytes, size_t size) {
  size_t at = kHeadBytes;
  while (at < size && size - at >= kTagBytes + kLengthBytes) {
    const uint8_t* const tag = bytes + at;
    const size_t length = LittleEndian(tag + kTagBytes);
    at += kTagBytes + kLengthBytes;
    if (length > size - at) break;
    if (std::memcmp(tag, "EXIF", kTagBytes) == 0) return OrientationOfExif(bytes + at, length);
    at += length + length % 2;
  }
  return 1;
}

[[noreturn]] void ThrowStatus(VP8StatusCode status, size_t size) {
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
  const char* const text = status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED
                               ? "premature end of the image"
                           : status == VP8_STATUS_UNSUPPORTED_FEATURE ? "a feature that is unknown"
                                                                      : "damaged data";
  Throw(ErrorCode::kDataLoss, "WebP image of ", size, " bytes: ", text);
}

}  // namespace

bool WebpDecoder::Knows(const uint8_t* bytes, size_t size) {
  return size >= kHeadBytes && std::memcmp(bytes, "RIFF", kTagBytes) == 0 &&
         std::memcmp(bytes + kTagBytes + kLengthBytes, "WEBP", kTagBytes) == 0;
}

ImageHeader WebpDecoder::Open(const uint8_t* bytes, size_t size) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes, size, &features);
  if (status != VP8_STATUS_OK) ThrowStatus(status, size);
  if (features.has_animation != 0) {
    Throw(ErrorCode::kDataLoss, "WebP image of ", size,
          " bytes: an animation; only single images can be decoded");
  }
  bytes_ = bytes;
  size_ = size;
  ImageHeader header;
  header.format = ImageFormat::kWebp;
  header.stored = {features.height, features.width, features.has_alpha != 0 ? 4 : 3};
  header.orientation = OrientationIn(bytes, size);
  return header;
}

bool WebpDecoder::Decode(bool partial, const PixelsOf<uint8_t>& out) {
  Require(bytes_ != nullptr, "no image is open");
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) Throw(ErrorCode::kInternal, "libwebp does not fit");
  config.output.colorspace = out.shape.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  const int64_t row = out.shape.width * out.shape.channels;
  config.output.u.RGBA = {out.values, static_cast<int>(out.row_stride),
                          static_cast<size_t>(out.row_stride * (out.shape.height - 1) + row)};
  const VP8StatusCode status = WebPDecode(bytes_, size_, &config);
  if (status == VP8_STATUS_OK) return true;
  if (!partial) ThrowStatus(status, size_);
  // Again by the decoder that gives what it has come to.
  const std::unique_ptr<WebPIDecoder, decltype(&WebPIDelete)> decoder(
      WebPINewDecoder(&config.output), WebPIDelete);
  if (decoder == nullptr) throw std::bad_alloc();
  WebPIUpdate(decoder.get(), bytes_, size_);
  return false;
}

}  // namespace millhopper
