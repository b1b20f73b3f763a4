// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/bmp_decoder.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "framework/base/error.h"

namespace millhopper {
namespace {

using std::literals::operator""sv;

constexpr size_t kFileHeaderBytes = 14;  // "BM", the size, two reserved words, where the pixels are
constexpr size_t kCoreHeaderBytes = 12;  // OS/2's
constexpr size_t kInfoHeaderBytes = 40;
constexpr uint8_t kHeaderBytes[] = {kCoreHeaderBytes, kInfoHeaderBytes, 52, 56, 64, 108, 124};
constexpr uint32_t kPlain = 0, kRunLength8 = 1, kRunLength4 = 2, kBitFields = 3;

}  // namespace

bool BmpDecoder::Knows(const uint8_t* bytes, size_t size) {
  if (size < kFileHeaderBytes + 4 || bytes[0] != 'B' || bytes[1] != 'M') return false;
  const uint8_t* const header = bytes + kFileHeaderBytes;
  return std::string_view(reinterpret_cast<const char*>(header) + 1, 3) == "\0\0\0"sv &&
         std::count(std::begin(kHeaderBytes), std::end(kHeaderBytes), header[0]) > 0;
}

void BmpDecoder::Fail(const char* problem) const {
  Throw(ErrorCode::kDataLoss, "BMP image of ", size_, " bytes: ", problem);
}

void BmpDecoder::CheckHas(size_t at, size_t count) const {
  if (at > size_ || count > size_ - at) Fail("premature end of the image");
}

uint32_t BmpDecoder::Number(size_t at, size_t count) const {
  CheckHas(at, count);
  uint32_t number = 0;
  for (size_t i = 0; i < count; ++i) number |= uint32_t{bytes_[at + i]} << (8 * i);
  return number;
}

ImageHeader BmpDecoder::Open(const uint8_t* bytes, size_t size) {
  bytes_ = bytes;
  size_ = size;
  masks_.clear();
  palette_.clear();
  const size_t header_bytes = Number(kFileHeaderBytes, 4);
  const size_t header = kFileHeaderBytes + 4;  // after its size
  pixels_at_ = Number(10, 4);
  uint32_t compression = kPlain, colors = 0;
  int64_t width, height;
  if (header_bytes == kCoreHeaderBytes) {
    width = Number(header, 2);
    height = Number(header + 2, 2);
    bits_ = static_cast<int>(Number(header + 6, 2));
    is_bottom_up_ = true;
  } else {
    width = Number(header, 4);
    const auto signed_height = static_cast<int32_t>(Number(header + 4, 4));
    is_bottom_up_ = signed_height >= 0;
    height = is_bottom_up_ ? int64_t{signed_height} : -int64_t{signed_height};
    bits_ = static_cast<int>(Number(header + 10, 2));
    compression = Number(header + 12, 4);
    colors = Number(header + 28, 4);
  }
  if (width == 0 || height == 0 || width > INT32_MAX) Fail("it has no pixels");
  const bool has_palette = bits_ == 1 || bits_ == 4 || bits_ == 8;
  if (!has_palette && bits_ != 16 && bits_ != 24 && bits_ != 32) {
    Fail("its pixels have other than 1, 4, 8, 16, 24 or 32 bits");
  }
  size_t after_header = kFileHeaderBytes + header_bytes;
  if (has_palette) {
    coding_ = compression == kRunLength8   ? Coding::kRuns8
              : compression == kRunLength4 ? Coding::kRuns4
                                           : Coding::kIndices;
    const bool fits = compression == kPlain || (coding_ == Coding::kRuns8 && bits_ == 8) ||
                      (coding_ == Coding::kRuns4 && bits_ == 4);
    if (!fits) Fail("it is compressed in a way that is unknown for a palette");
    if (colors == 0) colors = 1U << bits_;
    if (colors > 1U << 16) Fail("its palette has too many colours");
    const size_t entry_bytes = header_bytes == kCoreHeaderBytes ? 3 : 4;
    // A place right after the header is that of the palette.
    if (pixels_at_ == after_header) pixels_at_ += entry_bytes * colors;
    ReadPalette(after_header, entry_bytes, colors);
    after_header += entry_bytes * colors;
  } else {
    coding_ = Coding::kMasks;
    ReadMasks(header_bytes, compression);
    if (compression == kBitFields && header_bytes == kInfoHeaderBytes) after_header += 12;
  }
  if (pixels_at_ == 0) pixels_at_ = after_header;
  const int64_t channels = has_palette ? (IsGray() ? 1 : 3) : static_cast<int64_t>(masks_.size());
  shape_ = {height, width, channels};
  ImageHeader found;
  found.format = ImageFormat::kBmp;
  found.stored = shape_;
  return found;
}

void BmpDecoder::ReadMasks(size_t header_bytes, uint32_t compression) {
  uint32_t masks[4] = {0xff0000, 0xff00, 0xff, 0};
  if (compression == kBitFields) {
    // After a header of 40 bytes, or in a longer one, of which those of 56 and more have an alpha.
    const size_t count = header_bytes >= 56 ? 4 : 3;
    for (size_t i = 0; i < count; ++i) {
      masks[i] = Number(kFileHeaderBytes + kInfoHeaderBytes + 4 * i, 4);
    }
    const bool has_none = (masks[0] | masks[1] | masks[2] | masks[3]) == 0;
    if (has_none && bits_ == 32) {
      masks[0] = 0xff0000;
      masks[1] = 0xff00;
      masks[2] = 0xff;
      masks[3] = 0xff000000;
    }
  } else if (compression != kPlain) {
    Fail("it is compressed in a way that is unknown; plain, run-length and masked pixels are read");
  } else if (bits_ == 16) {
    masks[0] = 0x7c00;
    masks[1] = 0x3e0;
    masks[2] = 0x1f;
  }
  for (size_t i = 0; i < 4; ++i) {
    if (masks[i] == 0 && i == 3) break;
    const int shift = masks[i] == 0 ? 0 : __builtin_ctz(masks[i]);
    const uint32_t most = masks[i] >> shift;
    const bool fits = most != 0 && most <= 255 && (most & (most + 1)) == 0 &&
                      (bits_ == 32 || masks[i] >> bits_ == 0);
    if (!fits) Fail("its masks of colours are no 1 to 8 bits in a row");
    masks_.push_back({shift, most});
  }
}

void BmpDecoder::ReadPalette(size_t at, size_t entry_bytes, size_t colors) {
  CheckHas(at, entry_bytes * colors);
  palette_.resize(colors);
  for (Color& color : palette_) {
    color = {{bytes_[at + 2], bytes_[at + 1], bytes_[at]}};
    at += entry_bytes;
  }
}

// Whether the values are those of gray: 0 and 255, or those that the indices are.
bool BmpDecoder::IsGray() const {
  for (size_t i = 0; i < palette_.size(); ++i) {
    const size_t value = palette_.size() == 2 ? 255 * i : i;
    for (const uint8_t found : palette_[i].values) {
      if (found != value) return false;
    }
  }
  return true;
}

void BmpDecoder::WriteColor(uint32_t index, uint8_t* to) const {
  if (index >= palette_.size()) Fail("a pixel has a colour that is not in the palette");
  std::memcpy(to, palette_[index].values, static_cast<size_t>(shape_.channels));
}

void BmpDecoder::Decode(const PixelsOf<uint8_t>& out) const {
  Require(bytes_ != nullptr, "no image is open");
  if (coding_ == Coding::kRuns8 || coding_ == Coding::kRuns4) return DecodeRuns(out);
  const auto row_bytes = static_cast<size_t>((shape_.width * bits_ + 31) / 32 * 4);
  // The last row may lack its padding.
  const auto needed = static_cast<size_t>((shape_.width * bits_ + 7) / 8);
  for (int64_t y = 0; y < shape_.height; ++y) {
    const size_t at = pixels_at_ + static_cast<size_t>(y) * row_bytes;
    CheckHas(at, needed);
    DecodeRow(bytes_ + at, out.row(RowOf(y)));
  }
}

void BmpDecoder::DecodeRow(const uint8_t* row, uint8_t* to) const {
  if (coding_ == Coding::kIndices) {
    const int per_byte = 8 / bits_;
    for (int64_t x = 0; x < shape_.width; ++x, to += shape_.channels) {
      const int shift = 8 - bits_ * (1 + static_cast<int>(x % per_byte));
      WriteColor(row[x / per_byte] >> shift & ((1U << bits_) - 1), to);
    }
    return;
  }
  const int pixel_bytes = bits_ / 8;
  for (int64_t x = 0; x < shape_.width; ++x, row += pixel_bytes) {
    uint32_t pixel = 0;
    for (int i = 0; i < pixel_bytes; ++i) pixel |= uint32_t{row[i]} << (8 * i);
    for (const Mask& mask : masks_) {
      *to++ = static_cast<uint8_t>((pixel >> mask.shift & mask.most) * 255 / mask.most);
    }
  }
}

// A run that goes beyond its row is cut there, and one after a full row is passed over until that
// ends, as Pillow does.
void BmpDecoder::DecodeRuns(const PixelsOf<uint8_t>& out) const {
  const bool halves = coding_ == Coding::kRuns4;
  const int64_t width = shape_.width, pixels = shape_.height * width;
  int64_t done = 0, x = 0;
  const auto write = [&](int index) {
    WriteColor(static_cast<uint32_t>(index),
               out.row(RowOf(done / width)) + done % width * shape_.channels);
    ++done;
  };
  const auto write_zeros = [&](int64_t count) {
    for (count = std::min(count, pixels - done); count > 0; --count) write(0);
  };
  for (size_t at = pixels_at_; done < pixels;) {
    CheckHas(at, 2);
    const uint8_t count = bytes_[at], value = bytes_[at + 1];
    at += 2;
    if (count > 0) {  // of one value, or of two by turns
      const int64_t values =
          std::min({int64_t{count}, std::max<int64_t>(0, width - x), pixels - done});
      for (int64_t i = 0; i < values; ++i)
        write(!halves ? value : i % 2 == 0 ? value >> 4 : value & 15);
      x += values;
    } else if (value == 0) {  // the row ends
      if (done % width != 0) write_zeros(width - done % width);
      x = 0;
    } else if (value == 1) {  // the image ends
      write_zeros(pixels - done);
    } else if (value == 2) {  // pixels to the right and upwards are passed over
      CheckHas(at, 2);
      write_zeros(bytes_[at] + bytes_[at + 1] * width);
      x = done % width;
      at += 2;
    } else {  // so many values as they are, with padding to 16 bits
      const int64_t values = std::min<int64_t>(value, pixels - done);
      const auto needed = static_cast<size_t>(halves ? (values + 1) / 2 : values);
      CheckHas(at, needed);
      for (int64_t i = 0; i < values; ++i) {
        const uint8_t byte = bytes_[at + static_cast<size_t>(halves ? i / 2 : i)];
        write(!halves ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
      }
      x += values;
      at += needed;
      at += at % 2;
    }
  }
}

}  // namespace millhopper
