// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/pnm_decoder.h"

#include <algorithm>
#include <cmath>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr uint32_t kMost = 65535;

bool IsSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

bool PnmDecoder::Knows(const uint8_t* bytes, size_t size) {
  return size > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' && IsSpace(bytes[2]);
}

void PnmDecoder::Fail(const char* problem) const {
  Throw(ErrorCode::kDataLoss, "PNM image of ", size_, " bytes: ", problem);
}

void PnmDecoder::FailCut() const { Fail("premature end of the image"); }

void PnmDecoder::SkipComment(size_t* at) const {
  while (*at < size_ && bytes_[*at] != '\n' && bytes_[*at] != '\r') ++*at;
  if (*at < size_) ++*at;
}

uint32_t PnmDecoder::NextNumber(size_t* at) const {
  constexpr size_t kMostDigits = 9;
  size_t digits = 0;
  uint32_t number = 0;
  while (*at < size_) {
    const uint8_t c = bytes_[(*at)++];
    if (c == '#') {
      SkipComment(at);
    } else if (c >= '0' && c <= '9') {
      if (++digits > kMostDigits) Fail("a number has too many digits");
      number = 10 * number + static_cast<uint32_t>(c - '0');
    } else if (!IsSpace(c)) {
      Fail("there is something that is no number");
    } else if (digits > 0) {
      return number;
    }
  }
  if (digits == 0) FailCut();
  return number;
}

uint32_t PnmDecoder::NextValue(size_t* at) const {
  if (!is_bitmap_) {
    const uint32_t value = NextNumber(at);
    if (value > most_) Fail("a value is above the highest one");
    return value;
  }
  while (*at < size_) {  // the digits of bitmaps need nothing between them
    const uint8_t c = bytes_[(*at)++];
    if (c == '0' || c == '1') return c - '0';
    if (c == '#') {
      SkipComment(at);
    } else if (!IsSpace(c)) {
      Fail("there is something that is no 0 or 1");
    }
  }
  FailCut();
}

ImageHeader PnmDecoder::Open(const uint8_t* bytes, size_t size) {
  bytes_ = bytes;
  size_ = size;
  const int kind = bytes[1] - '0';
  is_text_ = kind <= 3;
  is_bitmap_ = kind == 1 || kind == 4;
  most_ = 1;
  size_t at = 2;
  const uint32_t width = NextNumber(&at), height = NextNumber(&at);
  if (!is_bitmap_) most_ = NextNumber(&at);
  if (width == 0 || height == 0) Fail("it has no pixels");
  if (most_ == 0 || most_ > kMost) Fail("its highest value is not in 1 to 65535");
  pixels_at_ = at;
  shape_ = {height, width, kind == 3 || kind == 6 ? 3 : 1};
  ImageHeader header;
  header.format = ImageFormat::kPnm;
  header.stored = shape_;
  return header;
}

// Gray of more than 8 bits becomes the upper 8 of 16, as such PNG images do.
uint8_t PnmDecoder::Scaled(uint32_t value) const {
  if (is_bitmap_) return value == 0 ? 255 : 0;
  if (most_ == 255) return static_cast<uint8_t>(value);
  const bool has_16_bits = most_ > 255 && shape_.channels == 1;
  const double most = has_16_bits ? 65535 : 255;
  const double scaled = std::min(most, std::nearbyint(static_cast<double>(value) / most_ * most));
  return static_cast<uint8_t>(static_cast<uint32_t>(scaled) >> (has_16_bits ? 8 : 0));
}

void PnmDecoder::Decode(const PixelsOf<uint8_t>& out) const {
  Require(bytes_ != nullptr, "no image is open");
  const int64_t row_values = shape_.width * shape_.channels;
  const int64_t value_bytes = most_ > 255 ? 2 : 1;
  const auto row_bytes =
      static_cast<size_t>(is_bitmap_ ? (row_values + 7) / 8 : row_values * value_bytes);
  size_t at = pixels_at_;
  for (int64_t y = 0; y < shape_.height; ++y) {
    uint8_t* const row = out.row(y);
    if (is_text_) {
      for (int64_t x = 0; x < row_values; ++x) row[x] = Scaled(NextValue(&at));
      continue;
    }
    if (row_bytes > size_ - at) FailCut();
    const uint8_t* const from = bytes_ + at;
    for (int64_t x = 0; x < row_values; ++x) {
      row[x] = Scaled(is_bitmap_         ? from[x / 8] >> (7 - x % 8) & 1
                      : value_bytes == 1 ? from[x]
                                         : uint32_t{from[2 * x]} << 8 | from[2 * x + 1]);
    }
    at += row_bytes;
  }
}

}  // namespace millhopper
