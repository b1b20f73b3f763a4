// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/peek/peek_marks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "framework/base/error.h"
#include "operators/image/pixels/outlines.h"
#include "proto/framework.pb.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

constexpr int64_t kMostMarks = 1000;  // of a kind in an image

std::optional<BoxNotation::Format> FormatNamed(const std::string& name) {
  if (name == "xyxy") return BoxNotation::kCorners;
  if (name == "xywh") return BoxNotation::kSize;
  if (name == "cxcywh") return BoxNotation::kCentre;
  return std::nullopt;
}

// The notation that attributes of an operator tell, whose names begin with `before`.
std::optional<BoxNotation> NotationTold(const proto::OpDesc& op, const std::string& before) {
  std::optional<BoxNotation> told;
  bool relative = false;
  for (const proto::OpDesc::Attr& attribute : op.attrs()) {
    if (attribute.name() == before + "relative") relative = attribute.b();
    if (attribute.name() != before + "box_format") continue;
    if (const auto format = FormatNamed(attribute.s())) told = BoxNotation{*format, false};
  }
  if (!told && relative) told.emplace();
  if (told) told->relative = relative;
  return told;
}

// Values [begin, end) of a tensor.
struct Values {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Those of an image among all of an element; none if they are not divided among so many.
Values ValuesOf(const LoDTensor& tensor, int64_t index, int64_t count) {
  if (tensor.dims().empty()) return {};
  const auto rows = static_cast<int64_t>(tensor.rows());
  if (rows == 0) return {};
  const int64_t row = tensor.numel() / rows;
  if (tensor.lod().empty()) {
    if (count != 1 && rows != count) return {};
    const int64_t each = tensor.numel() / count;
    return {index * each, (index + 1) * each};
  }
  if (static_cast<int64_t>(tensor.instances()) != count) return {};
  auto begin = static_cast<uint64_t>(index), end = begin + 1;
  for (const LodLevel& level : tensor.lod()) {
    begin = level[begin];
    end = level[end];
  }
  return {static_cast<int64_t>(begin) * row, static_cast<int64_t>(end) * row};
}

// Whether a tensor is masks of the image's size.
bool AreMasks(const LoDTensor& tensor, const ImageShape& image) {
  const Dims& d = tensor.dims();
  size_t rank = d.size();
  if (IsFloat(tensor.dtype()) || rank < 2) return false;
  if (rank > 2 && d[rank - 1] == 1 && d[rank - 2] == image.width) --rank;
  return d[rank - 2] == image.height && d[rank - 1] == image.width;
}

// Colours of the objects in an image.
class Colors {
 public:
  // The labels are kept by reference.
  Colors(const LoDTensor& labels, const Values& values) : labels_(labels), values_(values) {}

  // That of one object of `count`: by its label, if labels are as many, or else by its place.
  uint8_t Of(int64_t object, int64_t count) const {
    if (values_.size() != count) return static_cast<uint8_t>(object % kMarkColors);
    return OfLabel(ValueAt(labels_, values_.begin + object));
  }
  static uint8_t OfLabel(double label) {
    const double rest = std::fmod(std::abs(label), double{kMarkColors});
    return std::isfinite(rest) ? static_cast<uint8_t>(rest) : uint8_t{0};
  }

 private:
  const LoDTensor& labels_;
  const Values values_;
};

void AddBoxes(const LoDTensor& tensor, const BoxNotation& notation, const MarkedImage& image,
              const Colors& colors, Marks* marks) {
  if (tensor.dims().empty() || tensor.dims()[tensor.dims().size() - 1] != 4) return;
  const Values values = ValuesOf(tensor, image.index, image.count);
  const int64_t boxes = values.size() / 4;
  const auto by = static_cast<double>(image.by);
  for (int64_t i = 0; i < std::min(boxes, kMostMarks); ++i) {
    double numbers[4];
    for (int64_t k = 0; k < 4; ++k) numbers[k] = ValueAt(tensor, values.begin + i * 4 + k);
    const Corners box = notation.Read(numbers, image.stored);
    marks->boxes.push_back(
        {box.left / by, box.top / by, box.right / by, box.bottom / by, colors.Of(i, boxes)});
  }
}

// The objects of an image, from the outermost level of detail; none if it is not of the images.
struct Objects {
  uint64_t begin = 0, end = 0;
  int64_t size() const { return static_cast<int64_t>(end - begin); }
};

Objects ObjectsOf(const LoDTensor& tensor, const MarkedImage& image) {
  if (static_cast<int64_t>(tensor.instances()) != image.count) return {};
  return {tensor.lod()[0][image.index], tensor.lod()[0][image.index + 1]};
}

// What places are multiplied by to be in pixels that are shown.
struct Scale {
  Scale(const BoxNotation& notation, const MarkedImage& image)
      : x((notation.relative ? static_cast<double>(image.stored.width) : 1) /
          static_cast<double>(image.by)),
        y((notation.relative ? static_cast<double>(image.stored.height) : 1) /
          static_cast<double>(image.by)) {}
  const double x, y;
};

// Points of objects follow one another: those of an object have its colour.
void AddPoints(const LoDTensor& tensor, const Scale& scale, const MarkedImage& image,
               const Colors& colors, Marks* marks) {
  const int64_t numbers = tensor.dims().empty() ? 0 : tensor.dims()[tensor.dims().size() - 1];
  if (numbers != 2 && numbers != 3) return;
  const Values values = ValuesOf(tensor, image.index, image.count);
  const int64_t points = values.size() / numbers;
  const bool of_objects = tensor.lod().size() == 2;
  const Objects objects = of_objects ? ObjectsOf(tensor, image) : Objects();
  uint64_t object = objects.begin;
  for (int64_t i = 0; i < std::min(points, kMostMarks); ++i) {
    const int64_t at = values.begin + i * numbers;
    while (object < objects.end &&
           tensor.lod()[1][object + 1] <= static_cast<uint64_t>(at / numbers)) {
      ++object;
    }
    if (numbers == 3 && ValueAt(tensor, at + 2) == 0) continue;
    const uint8_t color =
        of_objects ? colors.Of(static_cast<int64_t>(object - objects.begin), objects.size())
                   : colors.Of(i, points);
    marks->points.push_back(
        {ValueAt(tensor, at) * scale.x, ValueAt(tensor, at + 1) * scale.y, color});
  }
}

// A pixel for each that is shown.
uint8_t* Tints(const MarkedImage& image, Marks* marks) {
  marks->tints.resize(static_cast<size_t>(image.shown.height * image.shown.width));
  return marks->tints.data();
}

// The pixel, along one axis, in the middle of those that are shown as one; the last ones may be
// fewer.
int64_t Middle(int64_t shown, int64_t by, int64_t stored) {
  return std::min(shown * by + by / 2, stored - 1);
}

// Fills points [begin, end) as a polygon, unless a corner is no number or too far away.
void FillPolygon(const LoDTensor& points, uint64_t begin, uint64_t end, const Scale& scale,
                 const MarkedImage& image, uint8_t tint, uint8_t* tints) {
  Outline outline(image.shown.height, image.shown.width);
  try {
    outline.BeginPolygon();
    for (auto at = static_cast<int64_t>(2 * begin); at < static_cast<int64_t>(2 * end); at += 2) {
      outline.AddCorner(ValueAt(points, at) * scale.x, ValueAt(points, at + 1) * scale.y);
    }
    outline.EndPolygon();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument && error.code() != ErrorCode::kResourceLimit) {
      throw;
    }
    return;
  }
  outline.Paint(tint, Contiguous(tints, {image.shown.height, image.shown.width, 1}));
}

void AddPolygons(const LoDTensor& tensor, const Scale& scale, const MarkedImage& image,
                 const Colors& colors, Marks* marks) {
  if (tensor.lod().size() != 3 || tensor.dims().size() != 2 || tensor.dims()[1] != 2) return;
  const Objects objects = ObjectsOf(tensor, image);
  const LodLevel& polygons = tensor.lod()[1];
  const LodLevel& points = tensor.lod()[2];
  const uint64_t most = polygons[objects.begin] + kMostMarks;
  for (uint64_t object = objects.begin; object < objects.end; ++object) {
    const auto place = static_cast<int64_t>(object - objects.begin);
    const auto tint = static_cast<uint8_t>(1 + colors.Of(place, objects.size()));
    for (uint64_t i = polygons[object]; i < std::min(polygons[object + 1], most); ++i) {
      FillPolygon(tensor, points[i], points[i + 1], scale, image, tint, Tints(image, marks));
    }
  }
}

// Fills runs [begin, end), unless they are not as long as the image together.
void FillRuns(const LoDTensor& runs, int64_t begin, int64_t end, const MarkedImage& image,
              uint8_t tint, uint8_t* tints) {
  double pixels = 0;
  for (int64_t i = begin; i < end; ++i) {
    const double length = ValueAt(runs, i);
    if (!(length >= 0)) return;
    pixels += length;
  }
  if (pixels != static_cast<double>(image.stored.height * image.stored.width)) return;
  // Pixels column after column, beside the run that they are in, which ends before `past`.
  int64_t run = begin;
  auto past = static_cast<int64_t>(ValueAt(runs, run));
  for (int64_t x = 0; x < image.shown.width; ++x) {
    const int64_t column = Middle(x, image.by, image.stored.width) * image.stored.height;
    for (int64_t y = 0; y < image.shown.height; ++y) {
      const int64_t place = column + Middle(y, image.by, image.stored.height);
      while (place >= past) past += static_cast<int64_t>(ValueAt(runs, ++run));
      if ((run - begin) % 2 == 1) tints[y * image.shown.width + x] = tint;
    }
  }
}

void AddRuns(const LoDTensor& tensor, const MarkedImage& image, const Colors& colors,
             Marks* marks) {
  if (IsFloat(tensor.dtype()) || tensor.lod().size() != 2 || tensor.dims().size() != 1) return;
  const Objects objects = ObjectsOf(tensor, image);
  for (int64_t i = 0; i < std::min(objects.size(), kMostMarks); ++i) {
    const auto tint = static_cast<uint8_t>(1 + colors.Of(i, objects.size()));
    const auto begin = tensor.lod()[1].begin() + static_cast<int64_t>(objects.begin) + i;
    FillRuns(tensor, static_cast<int64_t>(begin[0]), static_cast<int64_t>(begin[1]), image, tint,
             Tints(image, marks));
  }
}

void AddMasks(const LoDTensor& tensor, const MarkedImage& image, const Colors& colors,
              Marks* marks) {
  if (!AreMasks(tensor, image.stored)) return;
  const int64_t size = image.stored.height * image.stored.width;
  const Values values = ValuesOf(tensor, image.index, image.count);
  const int64_t masks = values.size() / size;
  const bool has_classes = masks == 1 && tensor.lod().empty();
  for (int64_t i = 0; i < std::min(masks, kMostMarks); ++i) {
    const uint8_t color = colors.Of(i, masks);
    uint8_t* tint = Tints(image, marks);
    for (int64_t y = 0; y < image.shown.height; ++y) {
      for (int64_t x = 0; x < image.shown.width; ++x, ++tint) {
        const int64_t row = Middle(y, image.by, image.stored.height);
        const int64_t column = Middle(x, image.by, image.stored.width);
        const double value =
            ValueAt(tensor, values.begin + i * size + row * image.stored.width + column);
        if (value == 0) continue;
        *tint = static_cast<uint8_t>(1 + (has_classes ? Colors::OfLabel(value) : color));
      }
    }
  }
}

}  // namespace

BoxNotation BoxNotationOf(const Program& program) {
  BoxNotation notation;
  for (const proto::BlockDesc& block : program.desc().blocks()) {
    for (const proto::OpDesc& op : block.ops()) {
      if (op.type() == "convert_boxes") {
        notation = NotationTold(op, "to_").value_or(BoxNotation());
      } else {
        notation = NotationTold(op, "").value_or(notation);
      }
    }
  }
  return notation;
}

MarkSlots::MarkSlots(const std::vector<std::string>& names, const BoxNotation& notation)
    : notation_(notation) {
  for (size_t slot = 0; slot < names.size(); ++slot) {
    const std::string& name = names[slot];
    const size_t end = name.rfind('_');
    const auto format = end == std::string::npos ? std::nullopt : FormatNamed(name.substr(end + 1));
    const std::string kind = format ? name.substr(0, end) : name;
    if (kind == "boxes" || kind == "bbox" || kind == "bboxes") {
      boxes_.push_back({slot, format ? BoxNotation{*format, notation.relative} : notation});
    } else if (name == "points" || name == "keypoints") {
      points_.push_back(slot);
    } else if (name == "polygons") {
      polygons_.push_back(slot);
    } else if (name == "runs") {
      runs_.push_back(slot);
    } else if (name == "mask" || name == "masks") {
      masks_.push_back(slot);
    } else if (name == "labels" || name == "label") {
      labels_.push_back(slot);
    }
  }
}

bool MarkSlots::IsMask(size_t slot) const {
  return std::find(masks_.begin(), masks_.end(), slot) != masks_.end();
}

Marks MarkSlots::Of(const std::vector<LoDTensor>& element, const MarkedImage& image) const {
  LoDTensor labels;
  if (!labels_.empty()) labels = element[labels_.front()].OnHost();
  const Colors colors(labels, ValuesOf(labels, image.index, image.count));
  Marks marks;
  for (const Boxes& boxes : boxes_) {
    AddBoxes(element[boxes.slot].OnHost(), boxes.notation, image, colors, &marks);
  }
  const Scale scale(notation_, image);
  for (const size_t slot : points_) AddPoints(element[slot].OnHost(), scale, image, colors, &marks);
  for (const size_t slot : polygons_) {
    AddPolygons(element[slot].OnHost(), scale, image, colors, &marks);
  }
  for (const size_t slot : runs_) AddRuns(element[slot].OnHost(), image, colors, &marks);
  for (const size_t slot : masks_) AddMasks(element[slot].OnHost(), image, colors, &marks);
  return marks;
}

}  // namespace millhopper
