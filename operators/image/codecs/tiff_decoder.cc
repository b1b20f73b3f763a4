// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/tiff_decoder.h"

#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {
namespace {

using std::literals::operator""sv;

constexpr size_t kSignatureBytes = 4;
// What libtiff may take at once besides memory for the bytes of the image: a strip or a tile of it.
constexpr size_t kMostBlockBytes = size_t{256} << 20;
constexpr uint16_t kMostSamples = 6;

}  // namespace

struct TiffDecoder::Session {
  Session(const uint8_t* image, size_t image_size) : bytes(image), size(image_size) {}
  ~Session() {
    if (tiff != nullptr) TIFFClose(tiff);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static tmsize_t Read(thandle_t handle, void* to, tmsize_t count);
  static toff_t Seek(thandle_t handle, toff_t offset, int whence);
  static int Note(TIFF* tiff, void* session, const char* module, const char* format,
                  va_list arguments);

  [[noreturn]] void Fail(std::string_view problem) const {
    Throw(ErrorCode::kDataLoss, "TIFF image of ", size, " bytes: ", problem);
  }
  [[noreturn]] void ThrowFailure() const { Fail(message[0] == '\0' ? "damaged data" : message); }

  void OpenImage();
  // Reads what the tags say, and throws for what is not decoded.
  void ReadTags();
  // Calls block(plane, x, y, width, height, bytes, bytes of a row) for each strip of one row, or
  // tile.
  template <typename Block>
  void ForEachBlock(const Block& block);
  uint32_t SampleAt(const uint8_t* row, int64_t index) const;
  void WritePixels(uint16_t plane, const uint8_t* row, int64_t count, uint8_t* to) const;
  void Unmultiply(const PixelsOf<uint8_t>& out) const;

  const uint8_t* const bytes;
  const size_t size;
  size_t position = 0;
  TIFF* tiff = nullptr;
  char message[200] = {};
  ImageShape shape;
  int orientation = 1;
  uint16_t bits = 1, samples = 1, photometric = PHOTOMETRIC_MINISBLACK;
  bool has_planes = false;     // each sample lies by itself
  bool is_multiplied = false;  // the colours by the alpha
  const uint16_t* palette[3] = {};
};

tmsize_t TiffDecoder::Session::Read(thandle_t handle, void* to, tmsize_t count) {
  Session& session = *static_cast<Session*>(handle);
  const size_t here =
      std::min(static_cast<size_t>(std::max<tmsize_t>(count, 0)), session.size - session.position);
  if (here > 0) std::memcpy(to, session.bytes + session.position, here);
  session.position += here;
  return static_cast<tmsize_t>(here);
}

toff_t TiffDecoder::Session::Seek(thandle_t handle, toff_t offset, int whence) {
  Session& session = *static_cast<Session*>(handle);
  const toff_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? session.position : session.size;
  session.position = static_cast<size_t>(std::min<toff_t>(from + offset, session.size));
  return session.position;
}

int TiffDecoder::Session::Note(TIFF*, void* session, const char*, const char* format,
                               va_list arguments) {
  auto& message = static_cast<Session*>(session)->message;
  if (message[0] == '\0') std::vsnprintf(message, sizeof(message), format, arguments);
  return 1;
}

void TiffDecoder::Session::OpenImage() {
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(
      TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  if (options == nullptr) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(kMostBlockBytes + size));
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), Note, this);
  TIFFOpenOptionsSetWarningHandlerExtR(
      options.get(), [](TIFF*, void*, const char*, const char*, va_list) { return 1; }, nullptr);
  const auto refuse_write = [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; };
  const auto close = [](thandle_t) { return 0; };
  const auto size_of = [](thandle_t handle) -> toff_t {
    return static_cast<Session*>(handle)->size;
  };
  const auto map = [](thandle_t, void**, toff_t*) { return 0; };
  const auto unmap = [](thandle_t, void*, toff_t) {};
  tiff = TIFFClientOpenExt("image", "rm", this, Read, refuse_write, Seek, close, size_of, map,
                           unmap, options.get());
  if (tiff == nullptr) ThrowFailure();
}

void TiffDecoder::Session::ReadTags() {
  uint32_t width = 0, height = 0;
  uint16_t planar = PLANARCONFIG_CONTIG, compression = COMPRESSION_NONE, turned = 1;
  uint16_t extra_count = 0, format = SAMPLEFORMAT_UINT;
  const uint16_t* extras = nullptr;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &turned);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extras);
  if (width == 0 || height == 0 || width > INT32_MAX) Fail("it has no pixels");
  if (TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric) == 0) {
    Fail("it does not say what its values are (PhotometricInterpretation)");
  }
  if (photometric == PHOTOMETRIC_YCBCR && compression == COMPRESSION_JPEG) {
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    photometric = PHOTOMETRIC_RGB;
  }
  const bool is_gray =
      photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
  const bool has_palette = photometric == PHOTOMETRIC_PALETTE;
  const bool has_inks = photometric == PHOTOMETRIC_SEPARATED;
  const bool has_colors = photometric == PHOTOMETRIC_RGB || has_inks;
  if (!is_gray && !has_palette && !has_colors) {
    Fail("its pixels are neither gray nor colours (RGB, CMYK) nor those of a palette");
  }
  const bool has_bits = bits == 8 || (bits == 16 && !has_palette && !has_inks) ||
                        ((bits == 1 || bits == 2 || bits == 4) && !has_colors && samples == 1);
  if (!has_bits || format != SAMPLEFORMAT_UINT) {
    Fail("its values are no unsigned integers of 1, 2, 4, 8 or 16 bits");
  }
  has_planes = planar == PLANARCONFIG_SEPARATE && samples > 1;
  const uint16_t plain = has_inks ? 4 : has_colors ? 3 : 1;
  if (samples < plain || samples > kMostSamples || (has_inks && samples > plain) ||
      (has_planes && (has_inks || has_palette))) {
    Fail("its pixels have too many or too few values");
  }
  // Without the tag that says what they are, four values are colours and alpha.
  const bool is_named_alpha = extra_count > 0 && (extras[0] == EXTRASAMPLE_ASSOCALPHA ||
                                                  extras[0] == EXTRASAMPLE_UNASSALPHA);
  const bool is_alpha =
      samples > plain && (extra_count == 0 ? has_colors && samples == 4 : is_named_alpha);
  is_multiplied = is_alpha && extra_count > 0 && extras[0] == EXTRASAMPLE_ASSOCALPHA;
  if (is_alpha && has_palette) Fail("it has a palette and alpha");
  if (has_palette) {
    uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
    if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &red, &green, &blue) == 0) Fail("it has no palette");
    palette[0] = red;
    palette[1] = green;
    palette[2] = blue;
  }
  orientation = turned >= 1 && turned <= 8 ? turned : 1;
  shape = {height, width, (has_colors || has_palette ? 3 : 1) + (is_alpha ? 1 : 0)};
}

template <typename Block>
void TiffDecoder::Session::ForEachBlock(const Block& block) {
  const bool tiled = TIFFIsTiled(tiff) != 0;
  uint32_t tile_width = 0, tile_height = 1;
  if (tiled) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &tile_width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &tile_height);
    if (tile_width == 0 || tile_height == 0) Fail("its tiles have no pixels");
  } else {
    tile_width = static_cast<uint32_t>(shape.width);
  }
  const auto block_bytes = static_cast<size_t>(
      std::max<tmsize_t>(0, tiled ? TIFFTileSize(tiff) : TIFFScanlineSize(tiff)));
  const size_t row_bytes = tiled ? static_cast<size_t>(TIFFTileRowSize(tiff)) : block_bytes;
  const size_t needed =
      (size_t{tile_width} * bits * (has_planes ? 1 : samples) + 7) / 8 * size_t{tile_height};
  if (block_bytes < needed || row_bytes * tile_height > block_bytes) ThrowFailure();
  if (block_bytes > kMostBlockBytes) Fail("its tiles, or its rows, have too many bytes");
  std::vector<uint8_t> values(block_bytes);
  const uint16_t planes = has_planes ? samples : 1;
  for (uint16_t plane = 0; plane < planes; ++plane) {
    for (int64_t y = 0; y < shape.height; y += tile_height) {
      for (int64_t x = 0; x < shape.width; x += tile_width) {
        const auto column = static_cast<uint32_t>(x), row = static_cast<uint32_t>(y);
        const bool is_read = tiled ? TIFFReadTile(tiff, values.data(), column, row, 0, plane) >= 0
                                   : TIFFReadScanline(tiff, values.data(), row, plane) >= 0;
        if (!is_read) ThrowFailure();
        block(plane, x, y, std::min<int64_t>(tile_width, shape.width - x),
              std::min<int64_t>(tile_height, shape.height - y), values.data(), row_bytes);
      }
    }
  }
}

uint32_t TiffDecoder::Session::SampleAt(const uint8_t* row, int64_t index) const {
  if (bits == 8) return row[index];
  if (bits == 16) {
    uint16_t value;  // libtiff has put its bytes in order
    std::memcpy(&value, row + 2 * index, sizeof(value));
    return value;
  }
  const int64_t per_byte = 8 / bits;
  const auto shift = 8 - bits * (1 + index % per_byte);
  return row[index / per_byte] >> shift & ((1U << bits) - 1);
}

// Values of 16 bits become the upper 8, those of fewer bits are spread over 0 to 255.
void TiffDecoder::Session::WritePixels(uint16_t plane, const uint8_t* row, int64_t count,
                                       uint8_t* to) const {
  const int64_t channels = shape.channels, stride = has_planes ? 1 : samples;
  const auto scaled = [&](uint32_t value) {
    const uint32_t byte = bits == 16 ? value >> 8 : value * 255 / ((1U << bits) - 1);
    return static_cast<uint8_t>(photometric == PHOTOMETRIC_MINISWHITE ? 255 - byte : byte);
  };
  for (int64_t x = 0; x < count; ++x, to += channels) {
    if (palette[0] != nullptr) {
      const uint32_t index = SampleAt(row, x * stride);
      for (int i = 0; i < 3; ++i) to[i] = static_cast<uint8_t>(palette[i][index] >> 8);
    } else if (photometric == PHOTOMETRIC_SEPARATED) {
      const uint8_t* const inks = row + x * stride;
      for (int i = 0; i < 3; ++i) {
        to[i] = static_cast<uint8_t>(((255 - inks[i]) * (255 - inks[3]) + 127) / 255);
      }
    } else if (has_planes) {
      to[plane] = scaled(SampleAt(row, x));
    } else {
      for (int64_t i = 0; i < channels; ++i) to[i] = scaled(SampleAt(row, x * stride + i));
    }
  }
}

// Divides the colours by the alpha.
void TiffDecoder::Session::Unmultiply(const PixelsOf<uint8_t>& out) const {
  const int64_t channels = out.shape.channels;
  for (int64_t y = 0; y < out.shape.height; ++y) {
    uint8_t* pixel = out.row(y);
    for (int64_t x = 0; x < out.shape.width; ++x, pixel += channels) {
      const int alpha = pixel[channels - 1];
      if (alpha == 0 || alpha == 255) continue;
      for (int64_t i = 0; i + 1 < channels; ++i) {
        pixel[i] = static_cast<uint8_t>(std::min(255, pixel[i] * 255 / alpha));
      }
    }
  }
}

TiffDecoder::TiffDecoder() = default;

TiffDecoder::~TiffDecoder() = default;

bool TiffDecoder::Knows(const uint8_t* bytes, size_t size) {
  if (size < kSignatureBytes) return false;
  const std::string_view begin(reinterpret_cast<const char*>(bytes), kSignatureBytes);
  // Of 32 bits and, with 43, of 64 bits.
  return begin == "II*\0"sv || begin == "MM\0*"sv || begin == "II+\0"sv || begin == "MM\0+"sv;
}

void TiffDecoder::Close() { session_.reset(); }

ImageHeader TiffDecoder::Open(const uint8_t* bytes, size_t size) {
  session_ = std::make_unique<Session>(bytes, size);
  session_->OpenImage();
  session_->ReadTags();
  ImageHeader header;
  header.format = ImageFormat::kTiff;
  header.stored = session_->shape;
  header.orientation = session_->orientation;
  return header;
}

void TiffDecoder::Decode(const PixelsOf<uint8_t>& out) {
  Require(session_ != nullptr, "no image is open");
  Session& session = *session_;
  session.ForEachBlock([&](uint16_t plane, int64_t x, int64_t y, int64_t width, int64_t height,
                           const uint8_t* values, size_t row_bytes) {
    if (plane >= out.shape.channels) return;
    for (int64_t i = 0; i < height; ++i) {
      session.WritePixels(plane, values + static_cast<size_t>(i) * row_bytes, width,
                          out.row(y + i) + x * out.shape.channels);
    }
  });
  if (session.is_multiplied) session.Unmultiply(out);
}

}  // namespace millhopper
