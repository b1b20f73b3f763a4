// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/peek/peek_images.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "operators/image/codecs/image_decoder.h"
#include "operators/image/pixels/orientation.h"

namespace millhopper {
namespace {

constexpr int64_t kMostPixels = int64_t{64} << 20;
constexpr int64_t kMostSide = 256;  // of an image in the sheet

// By how much an image is reduced to fit into the sheet.
int64_t ReductionOf(const ImageShape& shape) {
  return (std::max(shape.height, shape.width) + kMostSide - 1) / kMostSide;
}

// An image of which each pixel is the mean of by x by pixels; those left over at the right and at
// the bottom do not count.
LoDTensor Reduced(const uint8_t* values, const ImageShape& shape, int64_t by) {
  const int64_t height = shape.height / by, width = shape.width / by;
  LoDTensor reduced;
  uint8_t* to = reduced.Allocate<uint8_t>({1, height, width, 3});
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        int64_t sum = 0;
        for (int64_t i = 0; i < by * by; ++i) {
          sum += values[((y * by + i / by) * shape.width + x * by + i % by) * 3 + c];
        }
        *to++ = static_cast<uint8_t>(sum / (by * by));
      }
    }
  }
  return reduced;
}

struct DecodedImage {
  LoDTensor pixels;
  ImageShape stored;
  int64_t by;  // one pixel is by by by of those stored
};

LoDTensor Turned(const LoDTensor& image, int orientation) {
  const Dims& dims = image.dims();
  const ImageShape stored{dims[1], dims[2], dims[3]};
  const ImageShape upright = Upright(stored, orientation);
  LoDTensor turned;
  uint8_t* const values =
      turned.Allocate<uint8_t>({1, upright.height, upright.width, upright.channels});
  Orient(Contiguous(image.data<uint8_t>(), stored), orientation, Contiguous(values, upright));
  return turned;
}

// The image, as it is stored, or turned as its EXIF data asks.
std::optional<DecodedImage> Decoded(const uint8_t* bytes, size_t size, bool is_turned) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  try {
    const ImageHeader& header = decoder->Open(bytes, size, std::numeric_limits<int64_t>::max());
    if (header.stored.height > kMostPixels / header.stored.width) return std::nullopt;
    DecodePart part = WholeImage(header.stored);
    while (header.format == ImageFormat::kJpeg && part.scale < 8 &&
           int64_t{2} * part.scale <= ReductionOf(header.stored)) {
      part.scale *= 2;
    }
    ImageShape shape = Scaled(header.stored, part.scale);
    part.box = WholeImage(shape).box;
    shape.channels = 3;
    LoDTensor image;
    uint8_t* const values = image.Allocate<uint8_t>({1, shape.height, shape.width, 3});
    decoder->Decode(part, false, Contiguous(values, shape));
    const int64_t by = ReductionOf(shape);
    if (by > 1) image = Reduced(values, shape, by);
    if (is_turned && header.orientation > 1) image = Turned(image, header.orientation);
    return DecodedImage{std::move(image), header.stored, part.scale * by};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    return std::nullopt;
  }
}

// Draws over image `place` of a slot in the sheet, where it has the size that is shown.
void Mark(const std::vector<LoDTensor>& element, const MarkSlots& marks, size_t slot, size_t place,
          MarkedImage image, ContactSheet* sheet) {
  if (marks.IsMask(slot)) return;
  const auto [height, width] = sheet->image_size(slot, place);
  image.shown = {static_cast<int64_t>(height), static_cast<int64_t>(width), 3};
  if (image.by == 1) image.stored = image.shown;  // plain images are added as they are
  sheet->SetMarks(slot, place, marks.Of(element, image));
}

void AddPlainImages(const std::vector<LoDTensor>& element, const MarkSlots& marks, size_t most,
                    ContactSheet* sheet) {
  std::vector<size_t> before(element.size());
  for (size_t slot = 0; slot < element.size(); ++slot) before[slot] = sheet->image_count(slot);
  sheet->Add(element, most);
  for (size_t slot = 0; slot < element.size(); ++slot) {
    for (size_t i = before[slot]; i < sheet->image_count(slot); ++i) {
      const auto index = static_cast<int64_t>(i - before[slot]);
      Mark(element, marks, slot, i, {index, element[slot].dims()[0], {}, {}, 1}, sheet);
    }
  }
}

void AddEncodedImages(const std::vector<LoDTensor>& element, const MarkSlots& marks, size_t most,
                      ContactSheet* sheet) {
  for (size_t slot = 0; slot < element.size(); ++slot) {
    const LoDTensor& tensor = element[slot];
    const bool is_bytes = tensor.dtype() == DataType::kUint8 && tensor.dims().size() == 1;
    if (!is_bytes || tensor.lod().empty()) continue;
    const auto& offsets = tensor.lod().back();
    for (size_t i = 0; i + 1 < offsets.size() && sheet->image_count(slot) < most; ++i) {
      const size_t size = offsets[i + 1] - offsets[i];
      // What is said of an image is said of its pixels as stored, as by COCO and VOC.
      std::optional<DecodedImage> image =
          Decoded(tensor.data<uint8_t>() + offsets[i], size, marks.empty());
      if (!image) continue;
      const size_t place = sheet->image_count(slot);
      std::vector<LoDTensor> alone(element.size());
      alone[slot] = std::move(image->pixels);
      sheet->Add(alone, most);
      if (sheet->image_count(slot) == place) continue;
      const auto index = static_cast<int64_t>(i), count = static_cast<int64_t>(offsets.size() - 1);
      Mark(element, marks, slot, place, {index, count, image->stored, {}, image->by}, sheet);
    }
  }
}

}  // namespace

void AddImages(const std::vector<LoDTensor>& element, const MarkSlots& marks, size_t most,
               ContactSheet* sheet) {
  AddPlainImages(element, marks, most, sheet);
  AddEncodedImages(element, marks, most, sheet);
}

}  // namespace millhopper
