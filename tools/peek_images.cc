// SPDX-License-Identifier: Apache-2.0
#include "tools/peek_images.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "operators/image/image_decoder.h"

namespace millhopper {
namespace {

constexpr int64_t kMostPixels = 4096 * 4096;

// The image, as it is stored: what EXIF says of its orientation is left to programs.
std::optional<LoDTensor> DecodedImage(const uint8_t* bytes, size_t size) {
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  try {
    ImageShape shape = decoder->Open(bytes, size, kMostPixels).stored;
    shape.channels = 3;
    LoDTensor image;
    uint8_t* const values = image.Allocate<uint8_t>({1, shape.height, shape.width, 3});
    decoder->Decode(WholeImage(decoder->header().stored), false, Contiguous(values, shape));
    return image;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::vector<LoDTensor>> DecodedImages(const std::vector<LoDTensor>& element) {
  std::vector<std::vector<LoDTensor>> images;
  for (size_t slot = 0; slot < element.size(); ++slot) {
    const LoDTensor& tensor = element[slot];
    const bool is_bytes = tensor.dtype() == DataType::kUint8 && tensor.dims().size() == 1;
    if (!is_bytes || tensor.lod().empty()) continue;
    const auto& offsets = tensor.lod().back();
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      const size_t size = offsets[i + 1] - offsets[i];
      std::optional<LoDTensor> image = DecodedImage(tensor.data<uint8_t>() + offsets[i], size);
      if (!image) continue;
      images.emplace_back(element.size());
      images.back()[slot] = std::move(*image);
    }
  }
  return images;
}

}  // namespace millhopper
