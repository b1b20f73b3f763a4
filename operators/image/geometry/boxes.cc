// SPDX-License-Identifier: Apache-2.0
#include "operators/image/geometry/boxes.h"

#include <algorithm>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"

namespace millhopper {
namespace {

// At the place of its BoxNotation::Format.
const std::vector<std::string>& BoxFormats() {
  static const auto* const names = new std::vector<std::string>{"xyxy", "xywh", "cxcywh"};
  return *names;
}

bool MayBeFloats(const TensorSpec& spec) { return !spec.dtype || FloatTypes::Has(*spec.dtype); }

bool MayBeBoxes(const TensorSpec& spec) {
  if (!MayBeFloats(spec)) return false;
  if (!spec.dims) return true;
  return spec.dims->size() == 2 && ((*spec.dims)[1] == 4 || (*spec.dims)[1] < 0);
}

bool MayBePoints(const TensorSpec& spec) {
  if (!MayBeFloats(spec)) return false;
  if (!spec.dims) return true;
  if (spec.dims->size() < 2) return false;
  const int64_t numbers = (*spec.dims)[spec.dims->size() - 1];
  return numbers == 2 || numbers == 3 || numbers < 0;
}

}  // namespace

Corners BoxNotation::Read(const double (&values)[4], const ImageShape& image) const {
  const double across = relative ? static_cast<double>(image.width) : 1;
  const double down = relative ? static_cast<double>(image.height) : 1;
  Corners corners{values[0] * across, values[1] * down, values[2] * across, values[3] * down};
  if (format == kCorners) return corners;
  const double width = corners.right, height = corners.bottom;
  if (format == kCentre) {
    corners.left -= width / 2;
    corners.top -= height / 2;
  }
  corners.right = corners.left + width;
  corners.bottom = corners.top + height;
  return corners;
}

void BoxNotation::Write(const Corners& corners, const ImageShape& image,
                        double (&values)[4]) const {
  const auto across = [&](double x) { return relative ? PartOfSide(x, image.width) : x; };
  const auto down = [&](double y) { return relative ? PartOfSide(y, image.height) : y; };
  const double width = corners.right - corners.left, height = corners.bottom - corners.top;
  const bool centre = format == kCentre;
  values[0] = across(centre ? corners.left + width / 2 : corners.left);
  values[1] = down(centre ? corners.top + height / 2 : corners.top);
  values[2] = across(format == kCorners ? corners.right : width);
  values[3] = down(format == kCorners ? corners.bottom : height);
}

OpSchema& WithBoxNotation(OpSchema& schema, const std::string& before) {
  return schema
      .Attr(AttributeSchema(before + "box_format", std::string("xyxy"),
                            "what the four numbers of a box are: xyxy: its left, top, right and "
                            "bottom; xywh: left, top, width and height, as in COCO; cxcywh: its "
                            "centre, width and height, as in YOLO")
                .OneOf(BoxFormats()))
      .Attr({before + "relative", false,
             "whether boxes and points are relative to width and height of the image, from 0 to "
             "1; otherwise they are in pixels"});
}

BoxNotation BoxNotationOf(const AttributeMap& attributes, const std::string& before) {
  const auto& format = attributes.Get<std::string>(before + "box_format");
  const auto& formats = BoxFormats();
  const auto place = std::find(formats.begin(), formats.end(), format) - formats.begin();
  return {static_cast<BoxNotation::Format>(place), attributes.Get<bool>(before + "relative")};
}

void InferBoxes(const InferContext& context, std::string_view parameter, size_t i) {
  if (!MayBeBoxes(context.In(parameter, i))) context.ThrowUnfit(parameter, kWantedBoxes, i);
}

void InferPoints(const InferContext& context, std::string_view parameter, size_t i) {
  if (!MayBePoints(context.In(parameter, i))) context.ThrowUnfit(parameter, kWantedPoints, i);
}

void RequireBoxes(const OpContext& context, std::string_view parameter, size_t i) {
  if (!MayBeBoxes(SpecOf(context.In(parameter, i)))) {
    ThrowUnfit(context, parameter, kWantedBoxes, i);
  }
}

void RequirePoints(const OpContext& context, std::string_view parameter, size_t i) {
  if (!MayBePoints(SpecOf(context.In(parameter, i)))) {
    ThrowUnfit(context, parameter, kWantedPoints, i);
  }
}

RowRange RowsOfImage(const OpContext& context, std::string_view parameter, size_t i, uint64_t image,
                     uint64_t images) {
  const LoDTensor& tensor = context.In(parameter, i);
  const uint64_t instances = tensor.instances();
  if (tensor.lod().empty()) {
    if (images == 1) return {0, instances};
    if (images > 0 && instances % images == 0) {
      return {instances / images * image, instances / images * (image + 1)};
    }
  } else if (instances == images) {
    RowRange range{image, image + 1};
    for (const LodLevel& level : tensor.lod()) range = {level[range.begin], level[range.end]};
    return range;
  }
  ThrowUnfit(context, parameter,
             StrCat("there are ", images,
                    " images; levels of detail must divide it among as many, or its rows be a "
                    "multiple of that"),
             i);
}

}  // namespace millhopper
