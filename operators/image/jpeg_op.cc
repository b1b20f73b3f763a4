// SPDX-License-Identifier: Apache-2.0
// jpeg: images as JPEG compression leaves them.
#include <cstdint>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/byte_images.h"
#include "operators/image/codecs/image_decoder.h"
#include "operators/image/codecs/jpeg_encoder.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

// The qualities from `low` to `high`.
struct JpegStep {
  explicit JpegStep(const AttributeMap& attributes) {
    const auto& quality = attributes.Get<std::vector<int32_t>>("quality");
    Require(quality.size() == 1 || quality.size() == 2, "attribute 'quality' has ", quality.size(),
            " values; it is one, or the lowest and the highest");
    low = quality.front();
    high = quality.back();
    Require(low >= 1 && high <= 100 && low <= high, "attribute 'quality' asks for ", low, " to ",
            high, "; qualities are from 1 to 100, the lowest first");
  }

  int32_t low, high;
};

OpSchema Schema() {
  return RandomImageSchema(
             "Each image as JPEG compression leaves it: encoded by libjpeg-turbo as its defaults "
             "are (baseline, chroma of half the width and height), and decoded again, as "
             "torchvision's JPEG does, with its bytes where both have the same libjpeg-turbo. The "
             "quality is the lowest one plus draw 0, below how many there are. X is uint8 with 1 "
             "or 3 channels and at most 65500 pixels each way.",
             "images with dims and type of X; may be X")
      .Attr(AttributeSchema("quality", std::vector<int32_t>{},
                            "{q}, or {lowest, highest}, which are drawn: from 1 to 100")
                .Required())
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) { JpegStep{attributes}; })
      .Infer(InferSameByteImages);
}

void Run(OpContext& context) {
  const JpegStep step(context.attributes());
  const ImageShape shape = ShapeOfImages(context);
  RequireInput(shape.height <= kMostJpegSide && shape.width <= kMostJpegSide, context, "X",
               "a JPEG image has at most ", kMostJpegSide, " pixels each way");
  const RandomKey key = ImageKey(context);
  const Ref<JpegEncoder> encoder = JpegEncoder::Take();
  const Ref<ImageDecoder> decoder = ImageDecoder::Take();
  MapByteImages(context, shape.channels,
                [&](const PixelsOf<const uint8_t>& from, const PixelsOf<uint8_t>& to, uint64_t i) {
                  if (shape.values() == 0) return;
                  const auto qualities = static_cast<uint64_t>(int64_t{step.high} - step.low + 1);
                  const int quality = step.low + static_cast<int>(key.Below(qualities, i, 0));
                  const std::vector<uint8_t>& bytes = encoder->Encode(from, quality);
                  decoder->Open(bytes.data(), bytes.size(), shape.height * shape.width);
                  decoder->Decode(WholeImage(shape), false, to);
                });
}

REGISTER_OPERATOR(jpeg, Schema, Run);

}  // namespace
}  // namespace millhopper
