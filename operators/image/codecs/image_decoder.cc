// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/image_decoder.h"

#include <algorithm>
#include <string_view>

#include "framework/base/error.h"
#include "framework/memory/buffer.h"
#include "framework/memory/memory.h"
#include "framework/memory/place.h"
#include "operators/image/codecs/bmp_decoder.h"
#include "operators/image/codecs/gif_decoder.h"
#include "operators/image/codecs/jpeg_decoder.h"
#include "operators/image/codecs/other_format.h"
#include "operators/image/codecs/png_decoder.h"
#include "operators/image/codecs/pnm_decoder.h"
#include "operators/image/codecs/tiff_decoder.h"
#include "operators/image/codecs/webp_decoder.h"
#include "operators/image/pixels/channels.h"

namespace millhopper {

const char* ToString(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kWebp:
      return "WebP";
    case ImageFormat::kTiff:
      return "TIFF";
    case ImageFormat::kGif:
      return "GIF";
    case ImageFormat::kBmp:
      return "BMP";
    case ImageFormat::kPnm:
      return "PNM";
  }
  return "";
}

ImageShape Scaled(const ImageShape& stored, int scale) {
  return {(stored.height + scale - 1) / scale, (stored.width + scale - 1) / scale, stored.channels};
}

DecodePart WholeImage(const ImageShape& stored) { return {1, {0, 0, stored.width, stored.height}}; }

namespace {

// Whether bytes are text with an extension, which may be the name of an image.
bool IsFileName(std::string_view bytes) {
  constexpr size_t kMostBytes = 4096, kLongestExtension = 5;  // with its point
  const size_t point = bytes.rfind('.');
  return bytes.size() <= kMostBytes && point != std::string_view::npos &&
         bytes.size() - point <= kLongestExtension && bytes.back() != '.' &&
         std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
}

[[noreturn]] void ThrowNoImage(const uint8_t* bytes, size_t size) {
  const std::string_view other = OtherFormatOf(bytes, size);
  if (!other.empty()) {
    Throw(
        ErrorCode::kDataLoss, other, " image of ", size,
        " bytes: only JPEG, PNG, WebP, TIFF, GIF, BMP and PNM can be decoded. Convert it to one of "
        "these (ImageMagick: magick OLD NEW.png), or decode it by Pillow in a function of Python "
        "that `map` calls");
  }
  Throw(ErrorCode::kDataLoss, size,
        " bytes that are no image: they do not begin like JPEG, PNG, WebP, TIFF, GIF, BMP or PNM",
        IsFileName({reinterpret_cast<const char*>(bytes), size})
            ? "; if they name a file, open_files(\"image_list:FILE\") reads the images that FILE "
              "names "
              "in lines of a path and a label"
            : "");
}

// Decodes by a codec that throws what is lost; false if `partial` lets it be.
template <typename Decoder>
bool DecodeBy(Decoder* decoder, bool partial, const PixelsOf<uint8_t>& out) {
  try {
    decoder->Decode(out);
    return true;
  } catch (const Error& error) {
    if (!partial || error.code() != ErrorCode::kDataLoss) throw;
    return false;
  }
}

// The codecs leave what they do not come to as it was.
template <typename T>
void FillWithZeros(const PixelsOf<T>& out) {
  for (int64_t y = 0; y < out.shape.height; ++y) {
    std::fill_n(out.row(y), out.shape.width * out.shape.channels, T{0});
  }
}

}  // namespace

class ImageDecoder::Codecs {
 public:
  JpegDecoder jpeg;
  PngDecoder png;
  WebpDecoder webp;
  TiffDecoder tiff;
  GifDecoder gif;
  BmpDecoder bmp;
  PnmDecoder pnm;
};

ImageDecoder::ImageDecoder() : codecs_(std::make_unique<Codecs>()) {}

ImageDecoder::~ImageDecoder() = default;

void ImageDecoder::Close() {
  codecs_->jpeg.Close();
  codecs_->png.Close();
  codecs_->webp.Close();
  codecs_->tiff.Close();
  codecs_->gif.Close();
  codecs_->bmp.Close();
  codecs_->pnm.Close();
}

void ImageDecoder::Dispose() {
  Close();
  Pool<ImageDecoder>::Give(this);
}

const ImageHeader& ImageDecoder::Open(const void* bytes, size_t size, int64_t max_pixels,
                                      DecodeMode mode) {
  Close();
  const auto* const begin = static_cast<const uint8_t*>(bytes);
  if (JpegDecoder::Knows(begin, size)) {
    header_ = codecs_->jpeg.Open(begin, size);
  } else if (PngDecoder::Knows(begin, size)) {
    header_ = codecs_->png.Open(begin, size, mode);
  } else if (WebpDecoder::Knows(begin, size)) {
    header_ = codecs_->webp.Open(begin, size);
  } else if (TiffDecoder::Knows(begin, size)) {
    header_ = codecs_->tiff.Open(begin, size);
  } else if (GifDecoder::Knows(begin, size)) {
    header_ = codecs_->gif.Open(begin, size);
  } else if (BmpDecoder::Knows(begin, size)) {
    header_ = codecs_->bmp.Open(begin, size);
  } else if (PnmDecoder::Knows(begin, size)) {
    header_ = codecs_->pnm.Open(begin, size);
  } else {
    ThrowNoImage(begin, size);
  }
  if (mode != DecodeMode::kPixels && header_.format != ImageFormat::kPng) {
    Throw(ErrorCode::kDataLoss, ToString(header_.format), " image of ", size,
          " bytes: it holds pixels only; numbers (modes P and I;16) are read of PNG images");
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
  if (header_.format == ImageFormat::kJpeg) return codecs_->jpeg.Decode(part, partial, out);
  if (out.shape == whole) return DecodeWhole(partial, out);
  const Ref<Buffer> buffer =
      BufferPool::At(Place()).Take(static_cast<size_t>(header_.stored.values()));
  const PixelsOf<uint8_t> image =
      Contiguous(reinterpret_cast<uint8_t*>(buffer->data()), header_.stored);
  const bool is_whole = DecodeWhole(partial, image);
  const PixelsOf<uint8_t> wanted = image.Crop(box);
  for (int64_t y = 0; y < box.height; ++y) {
    ConvertChannels(wanted.row(y), image.shape.channels, box.width, out.row(y), out.shape.channels);
  }
  return is_whole;
}

bool ImageDecoder::Decode16(bool partial, const PixelsOf<uint16_t>& out) {
  Require(out.shape == header_.stored, "images of 16 bits are decoded as they are");
  if (partial) FillWithZeros(out);
  return codecs_->png.Decode16(partial, out);
}

bool ImageDecoder::DecodeWhole(bool partial, const PixelsOf<uint8_t>& out) {
  if (partial) FillWithZeros(out);
  switch (header_.format) {
    case ImageFormat::kPng:
      return codecs_->png.Decode(partial, out);
    case ImageFormat::kTiff:
      return DecodeBy(&codecs_->tiff, partial, out);
    case ImageFormat::kGif:
      return DecodeBy(&codecs_->gif, partial, out);
    case ImageFormat::kBmp:
      return DecodeBy(&codecs_->bmp, partial, out);
    case ImageFormat::kPnm:
      return DecodeBy(&codecs_->pnm, partial, out);
    default:
      return codecs_->webp.Decode(partial, out);
  }
}

ImageHeader ReadImageHeader(const void* bytes, size_t size, int64_t max_pixels) {
  return ImageDecoder::Take()->Open(bytes, size, max_pixels);
}

}  // namespace millhopper
