// SPDX-License-Identifier: Apache-2.0
// Decoding images: whole, in part, at a scale, and damaged.
#include "operators/image/codecs/image_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "operators/image/codecs/exif.h"
#include "operators/image/pixels/image.h"
#include "tests/bytes.h"
#include "tests/files/encoded_images.h"
#include "tests/readers/formats/labeled_records.h"
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
  for (const ImageShape& shape :
       {ImageShape{67, 83, 3}, ImageShape{33, 7, 3}, ImageShape{1, 64, 3}, ImageShape{50, 98, 3}}) {
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
        ASSERT_NO_FATAL_FAILURE(ExpectSameBoxes(bytes, 3, 4));
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
  // Without its quantization tables: after the start marker and JFIF's segment of 18 bytes.
  const size_t tables = bytes.find("\xFF\xDB");
  const size_t frame = bytes.find("\xFF\xC0");
  const std::string abbreviated = bytes.substr(0, tables) + bytes.substr(frame);
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  Decode(decoder.get(), bytes, 0);
  ExpectError(ErrorCode::kDataLoss, "Quantization table 0x00 was not defined",
              [&] { Decode(decoder.get(), abbreviated, 0); });
  EXPECT_TRUE(Decode(decoder.get(), bytes, 0).values == Decode(bytes).values);
}

// ---- The sample files, against what independent programs have decoded. ----

// A line of truth/image_truth.tsv.
struct Truth {
  std::string path;
  bool is_jpeg = false;
  std::string line;
  SizeAndDigest rows;  // as the codec writes them, without any conversion

  bool Says(const std::string& words) const { return line.find(words) != std::string::npos; }
  std::string Bytes() const { return ReadFile(TestData() + "/" + path); }
};

std::vector<Truth> ReadTruth() {
  std::vector<Truth> truths;
  std::ifstream table(TestData() + "/truth/image_truth.tsv");
  for (std::string line; std::getline(table, line);) {
    std::istringstream columns(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(columns, field, '\t');) fields.push_back(field);
    if (line[0] == '#') continue;
    truths.push_back({fields[0],
                      fields[1] == "jpg",
                      line,
                      {fields[fields.size() - 2], fields[fields.size() - 1]}});
  }
  return truths;
}

SizeAndDigest DigestOfValues(const std::vector<uint8_t>& values) {
  return SizeAndDigestOf(std::string(values.begin(), values.end()));
}

TEST(ImageDecoder, SampleJpegsAreAsTheirTruthSays) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  int whole = 0, damaged = 0, refused = 0, others = 0;
  for (const Truth& truth : ReadTruth()) {
    if (!truth.is_jpeg || truth.Says("out4")) continue;
    SCOPED_TRACE(truth.line);
    const std::string bytes = truth.Bytes();
    if (truth.Says("starts with 0x42 0x4d") || truth.Says("starts with 0x50 0x3")) {
      ++others;  // BMP and PNM, some of them by the name of a JPEG file
      EXPECT_TRUE(Decode(bytes).whole);
      continue;
    }
    if (truth.Says("\tERR")) {
      ++refused;
      ExpectError(ErrorCode::kDataLoss, "", [&] { Decode(bytes); });
      continue;
    }
    // One file has bad codes in its data, of which libjpeg warns and continues.
    const bool is_truncated = truth.Says("Premature end");
    const bool is_damaged = is_truncated || truth.Says("hopper_bad_exif");
    const Decoded image = Decode(bytes, 0, is_damaged);
    EXPECT_EQ(DigestOfValues(image.values), truth.rows);
    EXPECT_EQ(image.whole, !is_damaged);
    if (is_damaged) {
      ++damaged;
      ExpectError(ErrorCode::kDataLoss,
                  is_truncated ? "Premature end of JPEG file" : "bad Huffman code",
                  [&] { Decode(bytes); });
    } else {
      ++whole;
    }
    for (int orientation = 2; orientation <= 8; ++orientation) {
      if (!truth.Says(",orient" + std::to_string(orientation))) continue;
      EXPECT_EQ(ReadImageHeader(bytes.data(), bytes.size(), kMostPixels).orientation, orientation);
    }
  }
  EXPECT_GT(whole, 100);
  EXPECT_EQ(damaged, 3);
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(others, 6);
}

// The values of a row of a PNG image, as it stores them.
std::vector<uint32_t> StoredValues(const PngImage& image, int64_t y) {
  const size_t row_bytes = image.rows.size() / static_cast<size_t>(image.height);
  const std::string row = image.rows.substr(static_cast<size_t>(y) * row_bytes, row_bytes);
  const auto depth = static_cast<size_t>(image.depth);
  const auto byte = [&](size_t at) { return uint32_t{static_cast<uint8_t>(row[at])}; };
  const int channels = image.colors == 2 ? 3 : image.colors == 4 ? 2 : image.colors == 6 ? 4 : 1;
  std::vector<uint32_t> values;
  for (size_t i = 0; i < static_cast<size_t>(image.width * channels); ++i) {
    const size_t bit = i * depth;
    const uint32_t value = depth == 16
                               ? byte(2 * i) << 8 | byte(2 * i + 1)
                               : byte(bit / 8) >> (8 - bit % 8 - depth) & ((1u << depth) - 1);
    values.push_back(value);
  }
  return values;
}

uint32_t KeyOf(const PngImage& image, size_t channel) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(image.transparency[i]));
  };
  return byte(2 * channel) << 8 | byte(2 * channel + 1);
}

// The pixels of a stored image, as image_decoder.h says, computed value by value.
std::vector<uint8_t> Expanded(const PngImage& image) {
  const uint32_t most = (1u << image.depth) - 1;
  const auto eight_bits = [&](uint32_t value) {
    return static_cast<uint8_t>(image.depth == 16 ? value >> 8 : value * 255 / most);
  };
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < image.height; ++y) {
    const std::vector<uint32_t> values = StoredValues(image, y);
    const size_t channels = values.size() / static_cast<size_t>(image.width);
    for (size_t i = 0; i < values.size(); i += channels) {
      if (image.colors == 3) {
        for (size_t c = 0; c < 3; ++c) {
          pixels.push_back(static_cast<uint8_t>(image.palette.at(size_t{3} * values[i] + c)));
        }
        if (image.transparency.empty()) continue;
        pixels.push_back(values[i] < image.transparency.size()
                             ? static_cast<uint8_t>(image.transparency[values[i]])
                             : 255);
        continue;
      }
      bool is_key = true;
      for (size_t c = 0; c < channels; ++c) {
        pixels.push_back(eight_bits(values[i + c]));
        if (!image.transparency.empty()) is_key = is_key && values[i + c] == KeyOf(image, c);
      }
      if (!image.transparency.empty()) pixels.push_back(is_key ? 0 : 255);
    }
  }
  return pixels;
}

TEST(ImageDecoder, SamplePngsAreAsTheirTruthSays) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  int read = 0, refused = 0;
  for (const Truth& truth : ReadTruth()) {
    if (truth.is_jpeg) continue;
    SCOPED_TRACE(truth.line);
    const std::string bytes = truth.Bytes();
    if (truth.Says("\tERR") || truth.Says("/badpal/")) {
      ++refused;
      ExpectError(ErrorCode::kDataLoss, "PNG image, byte ", [&] { Decode(bytes); });
      continue;
    }
    ++read;
    const PngImage stored = ReadPng(bytes);
    EXPECT_EQ(SizeAndDigestOf(stored.rows), truth.rows);
    EXPECT_TRUE(Decode(bytes).values == Expanded(stored));
  }
  EXPECT_GT(read, 140);
  EXPECT_GT(refused, 30);
}

// The numbers that an image is decoded to; of 8 bits, too.
std::vector<uint32_t> NumbersOf(const std::string& bytes, DecodeMode mode) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  const ImageHeader header = decoder->Open(bytes.data(), bytes.size(), kMostPixels, mode);
  const auto size = static_cast<size_t>(header.stored.values());
  if (mode == DecodeMode::k16Bits) {
    std::vector<uint16_t> values(size);
    EXPECT_TRUE(decoder->Decode16(false, Contiguous(values.data(), header.stored)));
    return {values.begin(), values.end()};
  }
  std::vector<uint8_t> values(size);
  EXPECT_TRUE(
      decoder->Decode(WholeImage(header.stored), false, Contiguous(values.data(), header.stored)));
  return {values.begin(), values.end()};
}

// Palettes that are too short for an index do not matter to who asks for the indices.
TEST(ImageDecoder, NumbersOfSamplePngsAreThoseThatAreStored) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  int indices = 0, deep = 0, refused = 0;
  for (const Truth& truth : ReadTruth()) {
    if (truth.is_jpeg || truth.Says("\tERR")) continue;
    SCOPED_TRACE(truth.line);
    const std::string bytes = truth.Bytes();
    const PngImage stored = ReadPng(bytes);
    std::vector<uint32_t> values;
    for (int64_t y = 0; y < stored.height; ++y) {
      const std::vector<uint32_t> row = StoredValues(stored, y);
      values.insert(values.end(), row.begin(), row.end());
    }
    const auto expect = [&](DecodeMode mode, bool holds, const std::string& refusal, int* count) {
      if (holds) {
        ++*count;
        EXPECT_EQ(NumbersOf(bytes, mode), values);
      } else {
        ++refused;
        ExpectError(ErrorCode::kDataLoss, refusal, [&] { NumbersOf(bytes, mode); });
      }
    };
    expect(DecodeMode::kIndices, stored.colors == 3 || (stored.colors == 0 && stored.depth <= 8),
           "mode P is for images with a palette", &indices);
    expect(DecodeMode::k16Bits, stored.depth == 16, "mode I;16 is for images of 16 bits", &deep);
  }
  EXPECT_GT(indices, 40);
  EXPECT_GT(deep, 20);
  EXPECT_GT(refused, 150);
}

// A key makes no alpha, and few bits are not spread over a byte.
TEST(ImageDecoder, NumbersAreTakenAsTheyAre) {
  using Numbers = std::vector<uint32_t>;
  PngImage png;
  png.height = 1;
  png.width = 5;
  png.colors = 0;
  png.depth = 2;
  png.rows = std::string("\x1B\x80", 2);
  png.transparency = std::string("\0\x02", 2);
  EXPECT_EQ(NumbersOf(EncodePng(png), DecodeMode::kIndices), (Numbers{0, 1, 2, 3, 2}));
  png.colors = 3;
  png.palette = std::string("\x80\0\0\0\x80\0", 6);
  png.transparency = "";
  EXPECT_EQ(NumbersOf(EncodePng(png), DecodeMode::kIndices), (Numbers{0, 1, 2, 3, 2}));
  ExpectError(ErrorCode::kDataLoss, "a colour that is not in the palette",
              [&] { Decode(EncodePng(png)); });
  png.width = 2;
  png.palette = "";
  png.depth = 16;
  png.colors = 0;
  png.rows = std::string("\x03\xE8\x01\0", 4);
  png.transparency = std::string("\x01\0", 2);
  EXPECT_EQ(NumbersOf(EncodePng(png), DecodeMode::k16Bits), (Numbers{1000, 256}));
  png.width = 1;
  png.colors = 4;
  png.transparency = "";
  EXPECT_EQ(NumbersOf(EncodePng(png), DecodeMode::k16Bits), (Numbers{1000, 256}));
}

TEST(ImageDecoder, ImagesOfOtherFormatsHoldNoNumbers) {
  const ImageShape shape = {2, 3, 3};
  const std::vector<uint8_t> pixels = SomePixels(shape);
  for (const DecodeMode mode : {DecodeMode::kIndices, DecodeMode::k16Bits}) {
    ExpectError(ErrorCode::kDataLoss, "JPEG image of ",
                [&] { NumbersOf(EncodeJpeg(pixels, shape), mode); });
    ExpectError(ErrorCode::kDataLoss, "numbers (modes P and I;16) are read of PNG images",
                [&] { NumbersOf(EncodeWebp(pixels, shape), mode); });
  }
}

// How files of other formats begin.
TEST(ImageDecoder, NamesFormatsThatItCannotDecode) {
  using Text = std::string;
  const auto boxes = [](const Text& brands) {
    return Text("\0\0\0", 3) + static_cast<char>(8 + brands.size()) + "ftyp" + brands;
  };
  const std::pair<Text, Text> images[] = {
      {boxes("heic" + Text(4, '\0') + "mif1heic"), "HEIC"},
      {boxes("mif1" + Text(4, '\0') + "mif1"), "HEIC"},
      {boxes("avif" + Text(4, '\0') + "avifmif1"), "AVIF"},
      {boxes("mif1" + Text(4, '\0') + "mif1avif"), "AVIF"},
      {"\xFF\x0A\xFA\x7F", "JPEG XL"},
      {Text("\0\0\0\x0CJXL \r\n\x87\n", 12), "JPEG XL"},
      {Text("\0\0\0\x0CjP  \r\n\x87\n", 12), "JPEG 2000"},
      {"P7\nWIDTH", "PAM"},
      {"qoif", "QOI"},
      {"<svg xmlns=", "SVG"},
      {"\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- a -->\n<svg xmlns=", "SVG"},
      {"%PDF-1.7", "PDF"},
  };
  for (const auto& [bytes, format] : images) {
    ExpectError(ErrorCode::kDataLoss, StrCat(format, " image of "),
                [&, &image = bytes] { Decode(image); });
    ExpectError(ErrorCode::kDataLoss,
                "only JPEG, PNG, WebP, TIFF, GIF, BMP and PNM can be decoded. Convert it",
                [&, &image = bytes] { Decode(image); });
  }
  const Text others[] = {"",
                         "B",
                         "BM",
                         "BM" + Text(16, 'x'),
                         "P8 ",
                         "P6",
                         "GIF",
                         boxes("isom" + Text(4, '\0') + "mp42"),
                         boxes("qt  avif"),
                         boxes("mp42" + Text(4, '\0')) + "avif",
                         Text("\0\0\0\x08"
                              "ftyp",
                              8)};
  for (const Text& bytes : others) {
    ExpectError(ErrorCode::kDataLoss, StrCat(bytes.size(), " bytes that are no image"),
                [&] { Decode(bytes); });
  }
}

TEST(ImageDecoder, SampleCmykImagesAreAsTheirTruthSays) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  int read = 0;
  for (const Truth& truth : ReadTruth()) {
    if (!truth.is_jpeg || !truth.Says("out4")) continue;
    SCOPED_TRACE(truth.line);
    const std::string cmyk = ReadCmyk(truth.Bytes());
    ASSERT_EQ(SizeAndDigestOf(cmyk), truth.rows);
    const Decoded image = Decode(truth.Bytes());
    ASSERT_EQ(image.values.size(), cmyk.size() / 4 * 3);
    for (size_t i = 0; i < image.values.size(); ++i) {
      const double ink = static_cast<uint8_t>(cmyk[i / 3 * 4 + i % 3]);
      const double black = static_cast<uint8_t>(cmyk[i / 3 * 4 + 3]);
      ASSERT_EQ(image.values[i], std::lround(ink * black / 255)) << "value " << i;
    }
    ++read;
  }
  EXPECT_GT(read, 0);
}

TEST(ImageDecoder, CmykBecomesColorsAsWithPillow) {
  // Equal values everywhere, so that the codec loses nothing: c * k / 255, rounded.
  const ImageShape shape = {16, 16, 4};
  const uint8_t ink[] = {200, 100, 50, 128};
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 16 * 16; ++i) pixels.insert(pixels.end(), ink, ink + 4);
  JpegOptions options;
  options.quality = 100;
  options.as_rgb = true;
  const Decoded image = Decode(EncodeJpeg(pixels, shape, options));
  EXPECT_EQ(image.shape, (ImageShape{16, 16, 3}));
  EXPECT_EQ(std::vector<uint8_t>(image.values.begin(), image.values.begin() + 3),
            (std::vector<uint8_t>{100, 50, 25}));
}

TEST(ImageDecoder, BoxesOfOtherFormatsAreThoseOfTheImage) {
  const ImageShape shape = {12, 17, 4};
  const std::vector<uint8_t> pixels = SomePixels(shape);
  PngImage png;
  png.height = shape.height;
  png.width = shape.width;
  png.colors = 6;
  png.interlaced = true;
  png.rows.assign(pixels.begin(), pixels.end());
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  for (const std::string& bytes : {EncodePng(png), EncodeWebp(pixels, shape)}) {
    const Box box = {3, 2, 9, 5};
    EXPECT_EQ(DecodePartOf(decoder.get(), bytes, 4, {1, box}).values,
              Cropped(Decode(bytes, 4), box));
  }
}

TEST(ImageDecoder, RefusesAnimations) {
  const ImageShape shape = {4, 4, 3};
  WebpOptions options;
  options.animated = true;
  const std::string bytes = EncodeWebp(SomePixels(shape), shape, options);
  ExpectError(ErrorCode::kDataLoss, "an animation", [&] { Decode(bytes); });
}

TEST(ImageDecoder, LimitsTheScansOfAJpeg) {
  const ImageShape shape = {8, 8, 3};
  JpegOptions options;
  options.progressive = true;
  const std::string bytes = EncodeJpeg(SomePixels(shape), shape, options);
  // The last scan, over and over.
  const size_t last = bytes.rfind("\xFF\xDA");
  std::string bomb = bytes.substr(0, bytes.size() - 2);
  for (int i = 0; i < 200; ++i) bomb += bytes.substr(last, bytes.size() - 2 - last);
  ExpectError(ErrorCode::kResourceLimit, "more than 100 scans",
              [&] { Decode(bomb + "\xFF\xD9", 0, true); });
}

// ---- Damage. ----

// Small images of each kind, by name.
std::vector<std::pair<std::string, std::string>> SmallImages() {
  std::vector<std::pair<std::string, std::string>> images;
  const ImageShape shape = {17, 19, 3};
  const std::vector<uint8_t> pixels = SomePixels(shape);
  JpegOptions jpeg;
  jpeg.quality = 50;
  jpeg.exif = ExifWith(6);
  images.emplace_back("baseline", EncodeJpeg(pixels, shape, jpeg));
  jpeg.restart_rows = 1;
  images.emplace_back("restarts", EncodeJpeg(pixels, shape, jpeg));
  jpeg.progressive = true;
  images.emplace_back("progressive", EncodeJpeg(pixels, shape, jpeg));
  jpeg.arithmetic = true;
  images.emplace_back("arithmetic", EncodeJpeg(pixels, shape, jpeg));
  PngImage png;
  png.height = shape.height;
  png.width = shape.width;
  png.rows.assign(pixels.begin(), pixels.end());
  png.exif = ExifWith(6, false);
  images.emplace_back("png", EncodePng(png));
  png.colors = 3;
  png.depth = 2;
  png.palette = std::string("abcdefghijkl");
  png.transparency = std::string("\x00\x80", 2);
  png.rows.resize(85);  // 17 rows of 5 bytes
  png.interlaced = true;
  images.emplace_back("palette", EncodePng(png));
  png.colors = 2;
  png.depth = 16;
  png.palette = png.transparency = "";
  for (const uint8_t value : pixels) png.rows += StrCat(static_cast<char>(value), "x");
  png.rows.erase(0, 85);
  images.emplace_back("16 bits", EncodePng(png));
  WebpOptions webp;
  webp.exif = ExifWith(6);
  images.emplace_back("lossless", EncodeWebp(pixels, shape, webp));
  webp.lossless = false;
  images.emplace_back("lossy", EncodeWebp(pixels, shape, webp));
  return images;
}

// What decoding bytes of unknown worth leads to: pixels, or an error that blames the bytes. The
// same decoder and a new one must agree.
std::string OutcomeOf(ImageDecoder* decoder, const std::string& bytes, bool partial,
                      DecodeMode mode = DecodeMode::kPixels) {
  constexpr int64_t kFewPixels = 10000;
  try {
    const ImageHeader header = decoder->Open(bytes.data(), bytes.size(), kFewPixels, mode);
    const auto count = static_cast<size_t>(header.stored.values());
    if (mode == DecodeMode::k16Bits) {
      std::vector<uint16_t> values(count);
      const bool whole = decoder->Decode16(partial, Contiguous(values.data(), header.stored));
      return (whole ? "whole " : "partial ") +
             std::string(reinterpret_cast<const char*>(values.data()), 2 * count);
    }
    std::vector<uint8_t> values(count);
    const bool whole = decoder->Decode(WholeImage(header.stored), partial,
                                       Contiguous(values.data(), header.stored));
    return (whole ? "whole " : "partial ") + std::string(values.begin(), values.end());
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::kDataLoss || error.code() == ErrorCode::kResourceLimit)
        << error.what();
    return error.what();
  }
}

void ExpectDefined(ImageDecoder* decoder, const std::string& bytes) {
  for (const DecodeMode mode : {DecodeMode::kPixels, DecodeMode::kIndices, DecodeMode::k16Bits}) {
    for (const bool partial : {false, true}) {
      const std::string outcome = OutcomeOf(decoder, bytes, partial, mode);
      ASSERT_TRUE(outcome == OutcomeOf(ImageDecoder::Take().get(), bytes, partial, mode));
    }
  }
}

TEST(ImageDecoder, EveryCutIsAnErrorOrAPartOfTheImage) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  for (const auto& [name, bytes] : SmallImages()) {
    ASSERT_EQ(OutcomeOf(decoder.get(), bytes, false).rfind("whole", 0), 0u) << name;
    // WebP may lack chunks after its pixels, and libjpeg may do without the last bit of the data.
    const std::string whole = OutcomeOf(decoder.get(), bytes, false);
    for (size_t size = 0; size < bytes.size(); ++size) {
      SCOPED_TRACE(testing::Message() << name << " cut at " << size << " of " << bytes.size());
      const std::string cut = bytes.substr(0, size);
      ASSERT_NO_FATAL_FAILURE(ExpectDefined(decoder.get(), cut));
      const std::string outcome = OutcomeOf(decoder.get(), cut, false);
      EXPECT_TRUE(outcome.rfind("whole", 0) != 0 || outcome == whole);
      EXPECT_TRUE(outcome.rfind("whole", 0) != 0 || (name != "baseline" && name != "png"));
    }
  }
}

TEST(ImageDecoder, CutJpegsAreReadInPartWhereverTheyAreCut) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  for (const auto& [name, bytes] : SmallImages()) {
    if (bytes.compare(0, 2, "\xFF\xD8") != 0) continue;
    const size_t header = bytes.find("\xFF\xDA") + 14;  // with the first scan's own
    for (size_t size = header; size < bytes.size() - 2; ++size) {
      EXPECT_EQ(OutcomeOf(decoder.get(), bytes.substr(0, size), true).rfind("partial", 0), 0u)
          << name << " cut at " << size << " of " << bytes.size();
    }
  }
}

TEST(ImageDecoder, EveryFlippedBitIsDefined) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  for (const auto& [name, bytes] : SmallImages()) {
    for (size_t bit = 0; bit < 8 * bytes.size(); bit += 3) {
      SCOPED_TRACE(testing::Message() << name << " bit " << bit);
      ASSERT_NO_FATAL_FAILURE(ExpectDefined(decoder.get(), FlipBit(bytes, bit)));
    }
  }
}

TEST(ImageDecoder, OrientationsAreFoundAndDamagedOnesIgnored) {
  const ImageShape shape = {2, 3, 3};
  for (int orientation = 0; orientation <= 9; ++orientation) {
    for (const bool little_endian : {false, true}) {
      JpegOptions options;
      options.exif = ExifWith(orientation, little_endian);
      const std::string bytes = EncodeJpeg(SomePixels(shape), shape, options);
      EXPECT_EQ(ReadImageHeader(bytes.data(), bytes.size(), kMostPixels).orientation,
                orientation >= 1 && orientation <= 8 ? orientation : 1);
    }
  }
  const std::string exif = ExifWith(6);
  for (size_t size = 0; size < exif.size(); ++size) {
    const std::string cut = exif.substr(0, size);
    const int found = OrientationOf(reinterpret_cast<const uint8_t*>(cut.data()), cut.size());
    constexpr size_t kEndOfEntry = 22;
    EXPECT_EQ(found, size >= kEndOfEntry ? 6 : 1) << size;
  }
  for (size_t bit = 0; bit < 8 * exif.size(); ++bit) {
    const std::string damaged = FlipBit(exif, bit);
    const int found =
        OrientationOf(reinterpret_cast<const uint8_t*>(damaged.data()), damaged.size());
    EXPECT_TRUE(found >= 1 && found <= 8) << bit;
  }
}

// EXIF data with an entry that has these bytes as its values, in the entry or, if they are more
// than four, after it.
std::string ExifOf(bool little_endian, uint64_t type, uint64_t count, const std::string& values) {
  const auto number = [&](uint64_t value, size_t size) {
    const std::string bytes = BigEndian(value, size);
    return little_endian ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
  };
  constexpr uint64_t kEnd = 8 + 2 + 12 + 4;
  const bool inside = values.size() <= 4;
  return (little_endian ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) +
         number(0x0112, 2) + number(type, 2) + number(count, 4) +
         (inside ? (values + std::string(4 - values.size(), '\0')) : number(kEnd, 4)) +
         number(0, 4) + (inside ? "" : values);
}

// As Pillow 12 has it: of the types 1 to 18, those of integers but BYTE (1) and signed ones of 8
// bytes, and the first of several values. PIL.ImageOps.exif_transpose of such images.
TEST(ImageDecoder, OrientationsOfEveryTypeOfIntegersCount) {
  const std::pair<uint64_t, size_t> types[] = {{3, 2}, {4, 4},  {6, 1}, {8, 2},
                                               {9, 4}, {13, 4}, {16, 8}};
  for (const bool little_endian : {false, true}) {
    const auto number = [&](uint64_t value, size_t size) {
      const std::string bytes = BigEndian(value, size);
      return little_endian ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
    };
    const auto found = [&](uint64_t type, uint64_t count, const std::string& values) {
      const std::string exif = ExifOf(little_endian, type, count, values);
      return OrientationOf(reinterpret_cast<const uint8_t*>(exif.data()), exif.size());
    };
    for (const auto& [type, size] : types) {
      SCOPED_TRACE(type);
      EXPECT_EQ(found(type, 0, ""), 1);
      for (uint64_t count = 1; count <= 3; ++count) {
        std::string values = number(6, size);
        for (uint64_t i = 1; i < count; ++i) values += number(3, size);
        EXPECT_EQ(found(type, count, values), 6);
        EXPECT_EQ(found(type, count + 100, values), 1);  // more than there are
      }
      EXPECT_EQ(found(type, 1, number(9, size)), 1);
      EXPECT_EQ(found(type, 1, number(~uint64_t{0}, size)), 1);
      EXPECT_EQ(found(type, 0xFFFFFFFF, number(6, size)), 1);
    }
    for (const uint64_t type : {1, 2, 7, 14, 15, 17, 18, 0}) {
      EXPECT_EQ(found(type, 1, number(6, 1)), 1) << type;
    }
  }
  // The same in each format.
  const ImageShape shape = {2, 3, 3};
  const std::vector<uint8_t> pixels = SomePixels(shape);
  const std::string exif = ExifOf(true, 4, 1, std::string("\x06\0\0\0", 4));
  JpegOptions jpeg;
  jpeg.exif = exif;
  WebpOptions webp;
  webp.exif = exif;
  PngImage png;
  png.height = shape.height;
  png.width = shape.width;
  png.rows.assign(pixels.begin(), pixels.end());
  png.exif = exif;
  for (const std::string& bytes :
       {EncodeJpeg(pixels, shape, jpeg), EncodeWebp(pixels, shape, webp), EncodePng(png)}) {
    EXPECT_EQ(ReadImageHeader(bytes.data(), bytes.size(), kMostPixels).orientation, 6);
  }
}

TEST(ImageDecoder, KeepsNoMemoryOfAnImage) {
  const ImageShape shape = {64, 64, 3};
  const std::string bytes = EncodeJpeg(SomePixels(shape), shape);
  const Holdings before = CurrentHoldings();
  Decode(bytes);
  EXPECT_EQ(CurrentHoldings().buffer_bytes, before.buffer_bytes);
}

}  // namespace
}  // namespace millhopper
