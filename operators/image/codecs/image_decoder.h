// SPDX-License-Identifier: Apache-2.0
// Reads encoded images: JPEG, PNG, WebP, TIFF, GIF, BMP and PNM (PBM, PGM, PPM), told apart by
// their first bytes.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_IMAGE_DECODER_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_IMAGE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "framework/base/ref_counted.h"
#include "operators/image/pixels/image.h"

namespace millhopper {

enum class ImageFormat { kJpeg, kPng, kWebp, kTiff, kGif, kBmp, kPnm };

// "JPEG", "PNG" ...
const char* ToString(ImageFormat format);

// Which numbers an image is decoded to.
enum class DecodeMode {
  kPixels,  // gray, colours and alpha from 0 to 255, of any image
  // Pillow's P: of a PNG image with a palette the numbers that its pixels have there, also those
  // beyond the palette; of a gray one of at most 8 bits its values as they are stored. One channel.
  kIndices,
  k16Bits,  // Pillow's I;16: the values of a PNG image of 16 bits, with any channels
};

// What an image says about itself.
struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  // As stored, before `orientation` is applied. The channels are those that the image has: 1 gray,
  // 2 gray and alpha, 3 colours, 4 colours and alpha. CMYK counts as colours, and of pixels a
  // palette as the colours in it, and a transparent colour (tRNS of PNG) as alpha.
  ImageShape stored;
  int orientation = 1;  // 1 to 8, as EXIF numbers them (exif.h)
};

// Which part of an image is decoded, and how small.
struct DecodePart {
  // Every pixel stands for a square of scale x scale stored ones: 1, 2, 4 or 8. Only JPEG images
  // have scales other than 1, which cost less; an image of h rows has ceil(h / scale) of them then.
  int scale = 1;
  // In pixels of the scaled image, before the orientation is applied.
  Box box;
};

// The size of a stored image at a scale.
ImageShape Scaled(const ImageShape& stored, int scale);

// The size of an image that is decoded whole.
DecodePart WholeImage(const ImageShape& stored);

// Decodes images, one after another, and uses its memory again. One thread at a time; each thread
// takes one from the pool for as long as it has images to decode.
class ImageDecoder final : public RefCounted {
 public:
  ImageDecoder();
  ~ImageDecoder() override;

  static Ref<ImageDecoder> Take() { return Pool<ImageDecoder>::Take(); }

  // Begins an image by reading its header. The bytes must stay until the image is decoded, and are
  // not trusted. Throws kDataLoss if they are no image that can be decoded, or hold no numbers of
  // this mode, and kResourceLimit if it has more than `max_pixels` pixels; all say where.
  const ImageHeader& Open(const void* bytes, size_t size, int64_t max_pixels,
                          DecodeMode mode = DecodeMode::kPixels);

  // The image that is open.
  const ImageHeader& header() const { return header_; }

  // Decodes a part of the image that is open into `out`, which has the size of the box and 1, 3 or
  // 4 channels, or those of the image. An image may be decoded once: open it again for another
  // part.
  //
  //   JPEG: pixels of libjpeg-turbo's default, that is the accurate integer DCT and smooth chroma.
  //     A part at scale 1 has exactly the pixels that the whole image has there. Gray is the stored
  //     luminance; CMYK becomes colours as with Pillow: c * k / 255 of the stored values, rounded.
  //   PNG: 16 bits a value become the upper 8, as Pillow does of colours; gamma and colour profiles
  //     are ignored. With kIndices the values are numbers, and `out` has one channel.
  //   TIFF: the first page; gray, colours and palettes of up to 16 bits, of which the upper 8 are
  //     taken. GIF: the first frame. BMP and PNM as Pillow has them.
  //   All others: gray is (19595 r + 38470 g + 7471 b + 32768) / 65536, Pillow's L; new alpha is
  //     255; alpha that is not asked for is dropped.
  //
  // Throws kDataLoss for damaged or truncated data, saying what and where. With `partial`, lost
  // data is no error: pixels before the loss are right, those after it are invented by the codec,
  // and the result is false. Damage after the part may go unnoticed; a missing end does not.
  bool Decode(const DecodePart& part, bool partial, const PixelsOf<uint8_t>& out);
  // The same for all of an image that was opened with k16Bits, with its channels.
  bool Decode16(bool partial, const PixelsOf<uint16_t>& out);

 private:
  class Codecs;

  void Dispose() override;
  // Returns the memory of the image that is open.
  void Close();
  // For formats that are decoded whole, with the channels of the image.
  bool DecodeWhole(bool partial, const PixelsOf<uint8_t>& out);

  const std::unique_ptr<Codecs> codecs_;
  ImageHeader header_;
};

// The header of an image, as ImageDecoder::Open gives it.
ImageHeader ReadImageHeader(const void* bytes, size_t size, int64_t max_pixels);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_IMAGE_DECODER_H_
