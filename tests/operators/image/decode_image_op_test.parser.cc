// SPDX-License-Identifier: Apache-2.0
// decode_image.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "operators/image/pixels/image.h"
#include "tests/files/encoded_images.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Encoded = std::vector<std::string>;

// The bytes of images; several have a level of detail.
LoDTensor BytesOf(const Encoded& images) {
  std::vector<uint8_t> bytes;
  Lod lod = {{0}};
  for (const std::string& image : images) {
    bytes.insert(bytes.end(), image.begin(), image.end());
    lod[0].push_back(bytes.size());
  }
  return MakeTensor<uint8_t>({static_cast<int64_t>(bytes.size())}, bytes,
                             images.size() == 1 ? Lod() : lod);
}

std::map<std::string, LoDTensor> RunDecode(const LoDTensor& x,
                                           const std::vector<std::string>& outputs,
                                           const Attributes& attributes = {}) {
  RunOpOptions options;
  options.dims_by_values = true;
  return RunOp("decode_image", {{"X", x}}, outputs, attributes, options);
}

LoDTensor Decode(const Encoded& images, const Attributes& attributes = {}) {
  return RunDecode(BytesOf(images), {"Out"}, attributes).at("Out");
}

std::string PngOf(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                  const std::string& exif = "") {
  constexpr int kColors[] = {0, 0, 4, 2, 6};
  PngImage image;
  image.height = shape.height;
  image.width = shape.width;
  image.colors = kColors[shape.channels];
  image.rows.assign(pixels.begin(), pixels.end());
  image.exif = exif;
  return EncodePng(image);
}

TEST(DecodeImageOp, DecodesOneImage) {
  const ImageShape shape = {5, 7, 3};
  const std::vector<uint8_t> pixels = SomePixels(shape);
  for (const std::string& image : {PngOf(pixels, shape), EncodeWebp(pixels, shape)}) {
    const LoDTensor out = Decode({image});
    EXPECT_EQ(out.dims(), (Dims{1, 5, 7, 3}));
    EXPECT_EQ(ValuesOf<uint8_t>(out), pixels);
  }
  // The level of detail of a record.
  const std::string image = PngOf(pixels, shape);
  LoDTensor record = BytesOf({image});
  record.set_lod({{0, image.size()}});
  EXPECT_EQ(RunDecode(record, {"Out"}).at("Out").dims(), (Dims{1, 5, 7, 3}));
}

TEST(DecodeImageOp, DecodesImagesOfOneSize) {
  const ImageShape shape = {5, 7, 3};
  const std::vector<uint8_t> first = SomePixels(shape, 1), second = SomePixels(shape, 2);
  const LoDTensor out = Decode({PngOf(first, shape), EncodeWebp(second, shape)});
  EXPECT_EQ(out.dims(), (Dims{2, 5, 7, 3}));
  EXPECT_TRUE(out.lod().empty());
  std::vector<uint8_t> both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(ValuesOf<uint8_t>(out), both);
}

TEST(DecodeImageOp, RefusesImagesOfSeveralSizes) {
  const ImageShape shape = {5, 7, 3}, other = {7, 5, 3};
  const LoDTensor x = BytesOf({PngOf(SomePixels(shape), shape), PngOf(SomePixels(other), other)});
  ExpectRefused("it has 7 x 5 pixels of 3 channels, the first one 5 x 7 of 3", "decode_image",
                {{"X", x}}, {"Out"});
  ExpectRefused("while decoding image 1 of 2", "decode_image", {{"X", x}}, {"Out"});
}

TEST(DecodeImageOp, GivesTheChannelsThatAreAskedFor) {
  const std::vector<uint8_t> gray = {10, 200}, gray_alpha = {10, 50, 200, 60};
  const std::vector<uint8_t> colors = {255, 0, 0, 10, 20, 30};
  const std::vector<uint8_t> colors_alpha = {255, 0, 0, 50, 10, 20, 30, 60};
  const auto decode = [](const std::vector<uint8_t>& pixels, int32_t channels) {
    const auto have = static_cast<int64_t>(pixels.size() / 2);
    const LoDTensor out = Decode({PngOf(pixels, {1, 2, have})}, {{"channels", channels}});
    EXPECT_EQ(out.dims(), (Dims{1, 1, 2, channels == 0 ? have : channels}));
    return ValuesOf<uint8_t>(out);
  };
  using Values = std::vector<uint8_t>;
  for (const Values& pixels : {gray, gray_alpha, colors, colors_alpha}) {
    EXPECT_EQ(decode(pixels, 0), pixels);
  }
  EXPECT_EQ(decode(gray, 3), (Values{10, 10, 10, 200, 200, 200}));
  EXPECT_EQ(decode(gray_alpha, 1), gray);
  EXPECT_EQ(decode(gray_alpha, 4), (Values{10, 10, 10, 50, 200, 200, 200, 60}));
  EXPECT_EQ(decode(colors, 4), (Values{255, 0, 0, 255, 10, 20, 30, 255}));
  EXPECT_EQ(decode(colors_alpha, 3), colors);
  // 0.299 * 255 = 76.2; 0.299 * 10 + 0.587 * 20 + 0.114 * 30 = 18.2.
  EXPECT_EQ(decode(colors, 1), (Values{76, 18}));
  EXPECT_EQ(decode(colors_alpha, 1), (Values{76, 18}));
}

// The pixels of a stored image as they should be seen. Source: Exif 2.32, orientation: where row 0
// and column 0 of the stored image lie in the image that is seen.
std::vector<uint8_t> Seen(const std::vector<uint8_t>& stored, const ImageShape& shape,
                          int orientation) {
  const int64_t h = shape.height, w = shape.width, c = shape.channels;
  std::vector<uint8_t> seen(stored.size());
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < w; ++x) {
      const bool row_0_at_end = orientation == 3 || orientation == 4 || orientation == 6 ||
                                orientation == 7;  // bottom or right
      const bool column_0_at_end = orientation == 2 || orientation == 3 || orientation == 7 ||
                                   orientation == 8;  // right or bottom
      const int64_t by_row = row_0_at_end ? h - 1 - y : y;
      const int64_t by_column = column_0_at_end ? w - 1 - x : x;
      const int64_t at = orientation >= 5 ? by_column * h + by_row : by_row * w + by_column;
      std::copy_n(&stored[static_cast<size_t>((y * w + x) * c)], c,
                  &seen[static_cast<size_t>(at * c)]);
    }
  }
  return seen;
}

TEST(DecodeImageOp, AppliesTheOrientation) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const ImageShape shape = {5, 7, channels};
    const std::vector<uint8_t> pixels = SomePixels(shape);
    for (int orientation = 1; orientation <= 8; ++orientation) {
      SCOPED_TRACE(orientation);
      const std::string exif = ExifWith(orientation, orientation % 2 == 0);
      Encoded images = {PngOf(pixels, shape, exif)};
      if (channels >= 3) {
        WebpOptions options;
        options.exif = exif;
        images.push_back(EncodeWebp(pixels, shape, options));
      }
      for (const std::string& image : images) {
        const LoDTensor out = Decode({image});
        EXPECT_EQ(out.dims(),
                  orientation >= 5 ? (Dims{1, 7, 5, channels}) : (Dims{1, 5, 7, channels}));
        EXPECT_EQ(ValuesOf<uint8_t>(out), Seen(pixels, shape, orientation));
        EXPECT_EQ(ValuesOf<uint8_t>(Decode({image}, {{"orientation", false}})), pixels);
      }
    }
  }
}

TEST(DecodeImageOp, TurnsSamplePhotosAsTheirTruthSays) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const std::string folder = TestData() + "/jpeg_reference/";
  const auto expect = [&](const std::string& image, const std::string& truth,
                          const Attributes& attributes) {
    SCOPED_TRACE(image);
    constexpr size_t kHeaderBytes = 128;
    const LoDTensor out = Decode({ReadFile(image)}, attributes);
    const std::vector<uint8_t> values = ValuesOf<uint8_t>(out);
    EXPECT_TRUE(std::string(values.begin(), values.end()) ==
                ReadFile(folder + truth).substr(kHeaderBytes));
  };
  for (const std::string turn : {"horizontal", "rotate_90", "mirror_horizontal_rotate_270"}) {
    const std::string name = "orientation/padlock-406986_640_" + turn;
    expect(folder + name + ".jpg", name + ".npy", {});
  }
  const std::string swan = TestData() + "/jpeg_photos/dali/100/swan-3584559_640.jpg";
  expect(swan, "swan-3584559_640.npy", {});
  expect(swan, "swan-3584559_640_gray.npy", {{"channels", int32_t{1}}});
}

// A mask whose palette has a color for each class, and depths of 16 bits.
TEST(DecodeImageOp, GivesTheNumbersOfPalettesAndOf16Bits) {
  PngImage png;
  png.height = 1;
  png.width = 3;
  png.colors = 3;
  png.palette = std::string("\0\0\0\x80\0\0\0\x80\0", 9);
  png.rows = std::string("\0\1\2", 3);
  png.exif = ExifWith(6);
  const std::string mask = EncodePng(png);
  const Attributes p = {{"mode", std::string("P")}};
  const LoDTensor classes = Decode({mask, mask}, p);
  EXPECT_EQ(classes.dims(), (Dims{2, 3, 1, 1}));
  EXPECT_EQ(ValuesOf<uint8_t>(classes), (std::vector<uint8_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(ValuesOf<uint8_t>(Decode({mask}, {{"channels", int32_t{1}}})),
            (std::vector<uint8_t>{0, 38, 75}));
  png.colors = 0;
  png.depth = 16;
  png.palette = "";
  png.rows = std::string("\0\x64\1\0\x03\xE8", 6);
  const std::string depths = EncodePng(png);
  const Attributes deep = {{"mode", std::string("I;16")}};
  const LoDTensor numbers = Decode({depths}, deep);
  EXPECT_EQ(numbers.dims(), (Dims{1, 3, 1, 1}));
  EXPECT_EQ(ValuesOf<uint16_t>(numbers), (std::vector<uint16_t>{100, 256, 1000}));
  EXPECT_EQ(Decode({depths}, {{"mode", std::string("I;16")}, {"channels", int32_t{1}}}).dims(),
            (Dims{1, 3, 1, 1}));
  ExpectRefused("asks for 3, but the image has 1", "decode_image", {{"X", BytesOf({depths})}},
                {"Out"}, {{"mode", std::string("I;16")}, {"channels", int32_t{3}}});
  ExpectRefused("with mode P images have 1 channel", "decode_image", {{"X", BytesOf({mask})}},
                {"Out"}, {{"mode", std::string("P")}, {"channels", int32_t{3}}});
  ExpectError(ErrorCode::kDataLoss, "while decoding image 1 of 2", [&] {
    Decode({mask, depths}, p);
  });
}

TEST(DecodeImageOp, OrientsValuesOf16Bits) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const ImageShape shape = {5, 7, channels};
    const std::vector<uint8_t> low = SomePixels(shape, 1), high = SomePixels(shape, 2);
    constexpr int kColors[] = {0, 0, 4, 2, 6};
    PngImage png;
    png.height = shape.height;
    png.width = shape.width;
    png.depth = 16;
    png.colors = kColors[channels];
    for (size_t i = 0; i < low.size(); ++i) {
      png.rows += {static_cast<char>(high[i]), static_cast<char>(low[i])};
    }
    for (int orientation = 1; orientation <= 8; ++orientation) {
      png.exif = ExifWith(orientation);
      const LoDTensor out = Decode({EncodePng(png)}, {{"mode", std::string("I;16")}});
      const std::vector<uint8_t> seen_low = Seen(low, shape, orientation);
      const std::vector<uint8_t> seen_high = Seen(high, shape, orientation);
      std::vector<uint16_t> expected;
      for (size_t i = 0; i < low.size(); ++i) {
        expected.push_back(static_cast<uint16_t>(seen_high[i] << 8 | seen_low[i]));
      }
      EXPECT_EQ(ValuesOf<uint16_t>(out), expected) << channels << " " << orientation;
    }
  }
}

TEST(DecodeImageOp, MarksWhatWasTruncated) {
  const ImageShape shape = {64, 64, 3};
  const std::string image = EncodeJpeg(SomePixels(shape), shape);
  const std::string cut = image.substr(0, image.size() * 3 / 4);
  ExpectError(ErrorCode::kDataLoss, "Premature end of JPEG file", [&] { Decode({cut}); });
  const std::map<std::string, LoDTensor> result =
      RunDecode(BytesOf({image, cut}), {"Out", "Truncated"}, {{"partial", true}});
  EXPECT_EQ(result.at("Truncated").dims(), (Dims{2}));
  EXPECT_FALSE(result.at("Truncated").data<bool>()[0]);
  EXPECT_TRUE(result.at("Truncated").data<bool>()[1]);
  // The upper quarter was read.
  const std::vector<uint8_t> values = ValuesOf<uint8_t>(result.at("Out"));
  const size_t size = values.size() / 2;
  EXPECT_TRUE(std::equal(&values[0], &values[size / 4], &values[size]));
  EXPECT_FALSE(std::equal(&values[0], &values[size], &values[size]));
}

TEST(DecodeImageOp, LimitsThePixels) {
  const ImageShape shape = {5, 7, 3};
  const std::string image = PngOf(SomePixels(shape), shape);
  EXPECT_EQ(Decode({image}, {{"max_pixels", int64_t{35}}}).dims(), (Dims{1, 5, 7, 3}));
  ExpectError(ErrorCode::kResourceLimit, "PNG image of 7 x 5 pixels; the limit is 34", [&] {
    Decode({image}, {{"max_pixels", int64_t{34}}});
  });
}

TEST(DecodeImageOp, RefusesWhatIsNoImage) {
  const LoDTensor x = MakeTensor<uint8_t>({3}, {1, 2, 3});
  ExpectError(ErrorCode::kDataLoss, "3 bytes that are no image", [&] { RunDecode(x, {"Out"}); });
  ExpectError(ErrorCode::kDataLoss, "0 bytes that are no image",
              [&] { RunDecode(MakeTensor<uint8_t>({0}, {}), {"Out"}); });
  ExpectRefused("encoded images are uint8 [n]", "decode_image",
                {{"X", MakeTensor<float>({2}, {1, 2})}}, {"Out"});
  ExpectRefused("attribute 'channels' is 2; it must be 0, 1, 3 or 4", "decode_image", {{"X", x}},
                {"Out"}, {{"channels", int32_t{2}}});
}

}  // namespace
}  // namespace millhopper
