// SPDX-License-Identifier: Apache-2.0
#include "operators/image/image_sampling.h"

#include <cmath>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"

namespace millhopper {

OpSchema& WithSampling(OpSchema& schema) {
  return schema
      .Attr(AttributeSchema("interpolation", std::string("nearest"),
                            "nearest, bilinear, or bicubic, which is Pillow's for rotations: the "
                            "fraction of a value is cut off")
                .OneOf({"nearest", "bilinear", "bicubic"}))
      .Attr({"fill", std::vector<int32_t>{},
             "what lies outside of the image: one value or one a channel, from 0 to 255; black if "
             "there is none"});
}

Sampling SamplingOf(const AttributeMap& attributes, int64_t channels) {
  Sampling sampling;
  const auto& filter = attributes.Get<std::string>("interpolation");
  if (filter == "bilinear") sampling.filter = Sampling::kBilinear;
  if (filter == "bicubic") sampling.filter = Sampling::kBicubic;
  const auto& fill = attributes.Get<std::vector<int32_t>>("fill");
  const auto given = static_cast<int64_t>(fill.size());
  Require(given <= 1 || (channels < 0 ? given == 3 : given == channels), "attribute 'fill' has ",
          given, " values; it is one, or one for each channel of the images");
  for (const int32_t value : fill) {
    Require(value >= 0 && value <= 255, "attribute 'fill' has the value ", value,
            "; values of pixels are from 0 to 255");
  }
  for (size_t c = 0; c < sampling.fill.size() && !fill.empty(); ++c) {
    sampling.fill[c] = static_cast<uint8_t>(fill[c < fill.size() ? c : 0]);
  }
  return sampling;
}

OpSchema& WithCenter(OpSchema& schema) {
  return schema.Attr({"center", std::vector<float>{},
                      "{x, y}: what stays in its place, in pixels from the upper left corner; the "
                      "middle of the image if there is none"});
}

void CheckCenter(const AttributeMap& attributes) {
  const auto& center = attributes.Get<std::vector<float>>("center");
  Require(center.empty() ||
              (center.size() == 2 && std::isfinite(center[0]) && std::isfinite(center[1])),
          "attribute 'center' must be {x, y} or empty");
}

void SetCenter(const AttributeMap& attributes, const ImageShape& shape, Affine* affine) {
  const auto& center = attributes.Get<std::vector<float>>("center");
  if (center.empty()) return;
  affine->centre_x = center[0] - static_cast<double>(shape.width) / 2;
  affine->centre_y = center[1] - static_cast<double>(shape.height) / 2;
}

void RequireWarpable(const ImageShape& shape) {
  Require(shape.width <= kMaxWarpedSide && shape.height <= kMaxWarpedSide, "images are ",
          shape.width, " x ", shape.height, " pixels; the most each way is ", kMaxWarpedSide);
}

}  // namespace millhopper
