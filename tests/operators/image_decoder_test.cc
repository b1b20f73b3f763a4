// SPDX-License-Identifier: Apache-2.0
// Decoding images: whole, in part, at a scale, and damaged.
#include "operators/image/image_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "operators/image/image.h"
#include "tests/bytes.h"
#include "tests/encoded_images.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 26;

struct Decoded {
  ImageShape shape;
  std::vector<uint8_t> values;
  bool whole = true;  // nothing was lost
};

Decoded Decode(ImageDecoder* decoder, const std::string& bytes, int64_t channels,
               bool partial = false) {
  const ImageHeader header = decoder->Open(bytes.data(), bytes.size(), kMostPixels);
  Decoded decoded;
  decoded.shape = header.stored;
  if (channels != 0) decoded.shape.channels = channels;
  decoded.values.resize(static_cast<size_t>(decoded.shape.values()));
  decoded.whole = decoder->Decode(WholeImage(header.stored), partial,
                                  Contiguous(decoded.values.data(), decoded.shape));
  return decoded;
}

Decoded Decode(const std::string& bytes, int64_t channels = 0, bool partial = false) {
  return Decode(ImageDecoder::Take().get(), bytes, channels, partial);
}

Decoded DecodePartOf(ImageDecoder* decoder, const std::string& bytes, int64_t channels,
                     const DecodePart& part) {
  decoder->Open(bytes.data(), bytes.size(), kMostPixels);
  Decoded decoded;
  decoded.shape = {part.box.height, part.box.width, channels};
  decoded.values.resize(static_cast<size_t>(decoded.shape.values()));
  decoder->Decode(part, false, Contiguous(decoded.values.data(), decoded.shape));
  return decoded;
}

std::vector<uint8_t> Cropped(const Decoded& image, const Box& box) {
  const PixelsOf<const uint8_t> part = Contiguous(image.values.data(), image.shape).Crop(box);
  std::vector<uint8_t> values;
  for (int64_t y = 0; y < box.height; ++y) {
    values.insert(values.end(), part.row(y), part.row(y) + box.width * image.shape.channels);
  }
  return values;
}

// Boxes of many sizes, half of them at a border.
class Boxes {
 public:
  explicit Boxes(const ImageShape& shape) : shape_(shape) {}

  Box Draw() {
    Box box;
    std::tie(box.x, box.width) = DrawRange(shape_.width);
    std::tie(box.y, box.height) = DrawRange(shape_.height);
    return box;
  }

 private:
  std::pair<int64_t, int64_t> DrawRange(int64_t size) {
    const int64_t first = Below(size), last = Below(size);
    const int64_t begin = Below(4) == 0 ? 0 : std::min(first, last);
    const int64_t end = Below(4) == 0 ? size : std::max(first, last) + 1;
    return {begin, Below(4) == 0 ? 1 : end - begin};
  }
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  const ImageShape shape_;
  std::mt19937_64 random_;
};

// Expects boxes of an image to have the pixels that the image decoded whole has there.
void ExpectSameBoxes(const std::string& bytes, int64_t channels, int count) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  const ImageShape stored = decoder->Open(bytes.data(), bytes.size(), kMostPixels).stored;
  for (const int scale : {1, 2, 4, 8}) {
    const ImageShape shape = Scaled(stored, scale);
    const DecodePart whole = {scale, {0, 0, shape.width, shape.height}};
    const Decoded image = DecodePartOf(decoder.get(), bytes, channels, whole);
    Boxes boxes(shape);
    for (int i = 0; i < count; ++i) {
      const Box box = boxes.Draw();
      const Decoded part = DecodePartOf(decoder.get(), bytes, channels, {scale, box});
      ASSERT_TRUE(part.values == Cropped(image, box))
          << "box " << box.width << " x " << box.height << " at " << box.x << ", " << box.y
          << " at scale 1/" << scale;
    }
  }
}

using Sampling = std::vector<std::pair<int, int>>;

// The samplings that JPEG files have, and rare ones.
const std::vector<Sampling>& Samplings() {
  static const auto* samplings = new std::vector<Sampling>{
      {{1, 1}, {1, 1}, {1, 1}}, {{2, 1}, {1, 1}, {1, 1}}, {{1, 2}, {1, 1}, {1, 1}},
      {{2, 2}, {1, 1}, {1, 1}}, {{4, 1}, {1, 1}, {1, 1}}, {{1, 4}, {1, 1}, {1, 1}},
      {{4, 2}, {1, 1}, {1, 1}}, {{2, 4}, {1, 1}, {1, 1}}, {{2, 2}, {2, 1}, {1, 2}},
      {{1, 1}, {2, 2}, {1, 2}}, {{2, 2}, {2, 2}, {1, 1}}, {{3, 1}, {1, 1}, {1, 1}},
      {{3, 2}, {1, 2}, {1, 1}}, {{2, 1}, {2, 1}, {1, 1}}, {{2, 2}, {1, 2}, {1, 2}}};
  return *samplings;
}

TEST(ImageDecoder, BoxesOfJpegHaveThePixelsOfTheWholeImage) {
  for (const ImageShape& shape : {ImageShape{67, 83, 3}, ImageShape{33, 7, 3}, ImageShape{1, 64, 3},
                                  ImageShape{128, 160, 3}}) {
    for (const Sampling& sampling : Samplings()) {
      for (int kind = 0; kind < 5; ++kind) {
        JpegOptions options;
        options.sampling = sampling;
        options.progressive = kind == 1;
        options.arithmetic = kind == 2;
        options.one_scan_each = kind == 3;
        options.restart_rows = kind == 4 ? 1 : 0;
        const std::string bytes = EncodeJpeg(SomePixels(shape), shape, options);
        SCOPED_TRACE(testing::Message() << shape.width << " x " << shape.height << " sampled "
                                        << testing::PrintToString(sampling) << " kind " << kind);
        ASSERT_NO_FATAL_FAILURE(ExpectSameBoxes(bytes, 3, 12));
      }
    }
  }
}

TEST(ImageDecoder, BoxesOfGrayAndCmykJpegHaveThePixelsOfTheWholeImage) {
  for (const int64_t channels : {1, 4}) {
    const ImageShape shape = {67, 83, channels};
    for (const int sampled : {1, 2}) {
      JpegOptions options;
      options.sampling = {{sampled, sampled}};
      const std::string bytes = EncodeJpeg(SomePixels(shape), shape, options);
      for (const int64_t wanted : {1, 3, 4}) {
        SCOPED_TRACE(testing::Message() << channels << " channels " << sampled);
        ASSERT_NO_FATAL_FAILURE(ExpectSameBoxes(bytes, wanted, 12));
      }
    }
  }
}

TEST(ImageDecoder, ForgetsTheTablesOfTheImageBefore) {
  const ImageShape shape = {16, 16, 3};
  const std::string bytes = EncodeJpeg(SomePixels(shape), shape);
  // Without its quantization tables: behind the start marker and JFIF's segment of 18 bytes.
  const size_t tables = bytes.find("\xFF\xDB");
  const size_t frame = bytes.find("\xFF\xC0");
  const std::string abbreviated = bytes.substr(0, tables) + bytes.substr(frame);
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  Decode(decoder.get(), bytes, 0);
  ExpectError(ErrorCode::kDataLoss, "Quantization table 0x00 was not defined",
              [&] { Decode(decoder.get(), abbreviated, 0); });
  EXPECT_TRUE(Decode(decoder.get(), bytes, 0).values == Decode(bytes).values);
}

}  // namespace
}  // namespace millhopper
