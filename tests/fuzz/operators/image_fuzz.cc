// SPDX-License-Identifier: Apache-2.0
// Fuzzes encoded images: whole, what can be read of damaged ones, boxes at each scale, and numbers.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "operators/image/codecs/image_decoder.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 16;

struct Decoded {
  std::string error;
  bool whole = false;
  ImageHeader header;
  std::vector<uint8_t> values;
};

// The part that `choose` picks for a stored shape.
template <typename Choose>
Decoded Decode(const uint8_t* data, size_t size, bool partial, const Choose& choose) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  Decoded decoded;
  decoded.error = Outcome([&] {
    decoded.header = decoder->Open(data, size, kMostPixels);
    const ImageShape& stored = decoded.header.stored;
    CHECK(stored.height > 0 && stored.width > 0 && stored.channels >= 1 && stored.channels <= 4);
    CHECK(decoded.header.orientation >= 1 && decoded.header.orientation <= 8);
    const DecodePart part = choose(decoded.header);
    const ImageShape shape = {part.box.height, part.box.width, stored.channels};
    decoded.values.resize(static_cast<size_t>(shape.values()));
    decoded.whole = decoder->Decode(part, partial, Contiguous(decoded.values.data(), shape));
  });
  return decoded;
}

// The numbers of a mode, as bytes.
Decoded DecodeNumbers(const uint8_t* data, size_t size, bool partial, DecodeMode mode) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  Decoded decoded;
  decoded.error = Outcome([&] {
    decoded.header = decoder->Open(data, size, kMostPixels, mode);
    const ImageShape& stored = decoded.header.stored;
    const auto count = static_cast<size_t>(stored.values());
    if (mode == DecodeMode::k16Bits) {
      std::vector<uint16_t> values(count);
      decoded.whole = decoder->Decode16(partial, Contiguous(values.data(), stored));
      const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
      decoded.values.assign(bytes, bytes + 2 * count);
    } else {
      CHECK_EQ(stored.channels, 1);
      decoded.values.resize(count);
      decoded.whole =
          decoder->Decode(WholeImage(stored), partial, Contiguous(decoded.values.data(), stored));
    }
  });
  return decoded;
}

void Fuzz(const uint8_t* data, size_t size) {
  for (const DecodeMode mode : {DecodeMode::kIndices, DecodeMode::k16Bits}) {
    const Decoded numbers = DecodeNumbers(data, size, false, mode);
    const Decoded again = DecodeNumbers(data, size, true, mode);
    if (numbers.whole) CHECK(again.whole && again.values == numbers.values);
  }
  const auto whole = [](const ImageHeader& header) { return WholeImage(header.stored); };
  const Decoded image = Decode(data, size, false, whole);
  const Decoded partial = Decode(data, size, true, whole);
  const Decoded again = Decode(data, size, true, whole);
  CHECK_EQ(partial.error, again.error);
  CHECK(partial.values == again.values);
  CHECK_EQ(partial.whole, again.whole);
  if (image.whole) CHECK(partial.whole && partial.values == image.values);
  // A box in the middle: at full size it has the pixels of the image, if the image is sound.
  constexpr int kFactors[] = {1, 2, 4, 8};
  for (const int factor : kFactors) {
    Box box;
    const Decoded part = Decode(data, size, false, [&](const ImageHeader& header) {
      const int scale = header.format == ImageFormat::kJpeg ? factor : 1;
      const ImageShape shape = Scaled(header.stored, scale);
      box = {shape.width / 3, shape.height / 3, (shape.width + 2) / 3, (shape.height + 2) / 3};
      return DecodePart{scale, box};
    });
    if (!image.whole) continue;
    CHECK(part.whole) << part.error;
    if (factor > 1) continue;
    const auto all = Contiguous(image.values.data(), image.header.stored).Crop(box);
    const int64_t row = box.width * image.header.stored.channels;
    for (int64_t y = 0; y < box.height; ++y) {
      CHECK(std::equal(all.row(y), all.row(y) + row, &part.values[static_cast<size_t>(y * row)]));
    }
  }
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(data, size);
  return 0;
}
