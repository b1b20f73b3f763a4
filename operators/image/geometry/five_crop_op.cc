// SPDX-License-Identifier: Apache-2.0
// five_crop: the corners and the middle of each image, also mirrored.
#include <algorithm>
#include <cstdint>
#include <string>

#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

constexpr int64_t kParts = 5;

// The crops of each image.
int64_t CropsOf(const AttributeMap& attributes) {
  return attributes.Get<std::string>("mirror") == "none" ? kParts : 2 * kParts;
}

OpSchema Schema() {
  OpSchema schema = ImageSchema(
      "Five parts of each image: those at its upper left, upper right, lower left and lower right "
      "corner, and the middle, as torchvision's FiveCrop; with `mirror` also the same of the "
      "mirrored image, as its TenCrop.",
      "[5 N, size[0], size[1], C], the parts of each image one after another, with `mirror` 10 N; "
      "type of X; not X");
  AddSizeAttribute(&schema);
  return schema
      .Attr(AttributeSchema("mirror", std::string("none"),
                            "none; horizontal: the parts of an image whose left is right follow "
                            "those of the image itself; vertical: whose top is bottom")
                .OneOf({"none", "horizontal", "vertical"}))
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { CenterCropStep{attributes}; })
      .Infer([](InferContext& context) {
        Dims dims = InferImages(context);
        const ImageSize size = CenterCropStep(context.attributes()).size;
        if (dims[0] >= 0) dims[0] *= CropsOf(context.attributes());
        dims[1] = size.height;
        dims[2] = size.width;
        SetOutImages(context, dims);
      });
}

// Part k of an image.
Box PartOf(const ImageShape& shape, const CenterCropStep& step, int64_t k) {
  Box box = step.Of(shape);
  if (k == kParts - 1) return box;
  box.x = k % 2 == 0 ? 0 : shape.width - box.width;
  box.y = k / 2 == 0 ? 0 : shape.height - box.height;
  return box;
}

// Copies part k of an image that is mirrored.
template <typename T>
void CopyMirrored(const PixelsOf<const T>& image, const CenterCropStep& step, int64_t k,
                  bool horizontal, const PixelsOf<T>& to) {
  Box box = PartOf(image.shape, step, k);
  // What lies there in the image itself.
  if (horizontal) box.x = image.shape.width - box.x - box.width;
  if (!horizontal) box.y = image.shape.height - box.y - box.height;
  const PixelsOf<const T> from = image.Crop(box);
  const int64_t channels = to.shape.channels;
  for (int64_t y = 0; y < to.shape.height; ++y) {
    const T* const row = from.row(horizontal ? y : to.shape.height - 1 - y);
    for (int64_t x = 0; x < to.shape.width; ++x) {
      const int64_t column = horizontal ? to.shape.width - 1 - x : x;
      std::copy_n(row + column * channels, channels, to.row(y) + x * channels);
    }
  }
}

void Run(OpContext& context) {
  const ImageShape shape = ShapeOfImages(context);
  const CenterCropStep step(context.attributes());
  const bool horizontal = context.Attr<std::string>("mirror") == "horizontal";
  const int64_t crops = CropsOf(context.attributes());
  const LoDTensor& x = context.In("X");
  LoDTensor* const out = context.Out("Out");
  DispatchType(ImageTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ImageShape made{step.size.height, step.size.width, shape.channels};
    CheckPixels(made.height * crops, made.width);
    T* to = out->Allocate<T>({x.dims()[0] * crops, made.height, made.width, made.channels});
    for (int64_t i = 0; i < x.dims()[0]; ++i) {
      const PixelsOf<const T> image = ImageOf<T>(x, i);
      for (int64_t k = 0; k < crops; ++k, to += made.values()) {
        if (k < kParts) {
          CopyPixels(image.Crop(PartOf(shape, step, k)), Contiguous(to, made));
        } else {
          CopyMirrored(image, step, k - kParts, horizontal, Contiguous(to, made));
        }
      }
    }
  });
}

REGISTER_OPERATOR(five_crop, Schema, Run);

}  // namespace
}  // namespace millhopper
