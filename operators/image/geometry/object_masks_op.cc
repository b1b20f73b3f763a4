// SPDX-License-Identifier: Apache-2.0
// object_masks: the pixels within the outlines of objects.
#include <algorithm>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/boxes.h"
#include "operators/image/image_argument.h"
#include "operators/image/pixels/outlines.h"

namespace millhopper {
namespace {

using RunTypes = Types<uint32_t, int32_t, int64_t>;
using LabelTypes = Types<int32_t, int64_t>;

constexpr char kWantedPolygons[] =
    "polygons are float32 or float64 [n, 2], x and y, with three levels of detail or more: the "
    "objects of images, the polygons of objects and the points of polygons";
constexpr char kWantedRuns[] =
    "runs are uint32, int32 or int64 [n] with two levels of detail: the objects of images and the "
    "runs of objects";
constexpr char kWantedLabels[] =
    "labels are int32 or int64 [n], one for each object, with the level of detail of the objects";

bool IsOfClasses(const AttributeMap& attributes) {
  return attributes.Get<std::string>("kind") == "classes";
}

OpSchema Schema() {
  OpSchema schema(
      "Masks of objects from their outlines, with the bytes of pycocotools: a pixel of an object "
      "is within one of its polygons, or in a run of it that is on. Move polygons as Points with "
      "the image and make masks last, which takes less than to move masks; runs fit the image as "
      "it was, so masks of them are made first and moved (Masks).");
  schema.Input("X", "images [N, H, W, C] that the objects are in; only their size counts")
      .OptionalInput("Polygons", kWantedPolygons)
      .OptionalInput("Runs",
                     std::string(kWantedRuns) +
                         ". They are the lengths of runs of pixels, off and on by turns, column "
                         "after column, H x W together; none for an object that has polygons")
      .OptionalInput("Labels", std::string(kWantedLabels) + "; for kind classes")
      .Output("Out",
              "uint8 [n, H, W, 1], 1 within an object and 0 elsewhere, with a level of detail "
              "that divides the n objects among the images; for kind classes uint8 [N, H, W, 1], "
              "the label of the object at each pixel and 0 where there is none");
  return schema
      .Attr(AttributeSchema("kind", std::string("objects"),
                            "objects: a mask for each; classes: one for each image")
                .OneOf({"objects", "classes"}))
      .Attr({"overlap", int32_t{255},
             "for kind classes: the value of pixels of several objects; -1 for the largest label"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto value = attributes.Get<int32_t>("overlap");
        Require(value >= -1 && value <= 255, "attribute 'overlap' is ", value,
                "; values of masks are from 0 to 255, and -1 is the largest label");
      })
      .Infer([](InferContext& context) {
        const Dims images = InferImages(context);
        Require(context.InCount("Polygons") + context.InCount("Runs") > 0,
                "input 'Polygons' or 'Runs' is needed");
        const bool of_classes = IsOfClasses(context.attributes());
        Require(!of_classes || context.InCount("Labels") > 0,
                "input 'Labels' is needed for kind classes");
        context.SetOut(
            "Out", {DataType::kUint8, Dims{of_classes ? images[0] : -1, images[1], images[2], 1},
                    of_classes ? 0 : 1});
      });
}

// What the inputs say of all objects.
class Objects {
 public:
  explicit Objects(const OpContext& context) : image_(ShapeOfImages(context)) {
    const auto images = static_cast<size_t>(context.In("X").dims()[0]);
    if (context.InCount("Polygons") > 0) {
      polygons_ = context.In("Polygons");
      const Dims& dims = polygons_.dims();
      if (!FloatTypes::Has(polygons_.dtype()) || dims.size() != 2 || dims[1] != 2 ||
          polygons_.lod().size() != 3) {
        ThrowUnfit(context, "Polygons", kWantedPolygons);
      }
      of_images_ = polygons_.lod()[0];
    }
    if (context.InCount("Runs") > 0) {
      runs_ = context.In("Runs");
      if (!RunTypes::Has(runs_.dtype()) || runs_.lod().size() != 2 ||
          static_cast<uint64_t>(runs_.numel()) != runs_.rows()) {
        ThrowUnfit(context, "Runs", kWantedRuns);
      }
      if (context.InCount("Polygons") > 0 && runs_.lod()[0] != of_images_) {
        ThrowUnfit(context, "Runs", "they must be of the same objects as Polygons");
      }
      of_images_ = runs_.lod()[0];
    }
    if (of_images_.size() != images + 1) {
      ThrowUnfit(context, context.InCount("Runs") > 0 ? "Runs" : "Polygons",
                 StrCat("there are ", images,
                        " images; the outermost level divides the objects "
                        "among as many"));
    }
  }

  const LodLevel& of_images() const { return of_images_; }
  uint64_t size() const { return of_images_.back(); }

  // Sets the pixels of an object to a value.
  void Paint(uint64_t object, const PixelsOf<uint8_t>& to, uint8_t value) const {
    Outline outline(image_.height, image_.width);
    if (!polygons_.lod().empty()) {
      VisitType(FloatTypes(), polygons_.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const LodLevel& polygons = polygons_.lod()[1];
        const LodLevel& points = polygons_.lod()[2];
        const T* const values = polygons_.template data<T>();
        for (uint64_t i = polygons[object]; i < polygons[object + 1]; ++i) {
          outline.BeginPolygon();
          for (uint64_t point = points[i]; point < points[i + 1]; ++point) {
            outline.AddCorner(values[2 * point], values[2 * point + 1]);
          }
          outline.EndPolygon();
          outline.Paint(value, to);
        }
      });
    }
    if (!runs_.lod().empty()) PaintRuns(object, &outline, to, value);
  }

 private:
  void PaintRuns(uint64_t object, Outline* outline, const PixelsOf<uint8_t>& to,
                 uint8_t value) const {
    const LodLevel& runs = runs_.lod()[1];
    if (runs[object] == runs[object + 1]) return;
    const auto pixels = static_cast<uint64_t>(image_.height * image_.width);
    outline->BeginRuns();
    VisitType(RunTypes(), runs_.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* const values = runs_.template data<T>();
      for (uint64_t i = runs[object]; i < runs[object + 1]; ++i) {
        const auto length = static_cast<uint64_t>(values[i]);
        Require(length <= pixels - outline->pixels_of_runs(), "object ", object,
                " has more runs than the ", pixels, " pixels of the image");
        outline->AddRun(length);
      }
    });
    Require(outline->pixels_of_runs() == pixels, "the runs of object ", object, " have ",
            outline->pixels_of_runs(), " pixels; the image has ", pixels,
            " (make masks of runs before the image is moved)");
    outline->Paint(value, to);
  }

  const ImageShape image_;
  LoDTensor polygons_, runs_;  // that share the values, since Out may be an input
  LodLevel of_images_;
};

uint8_t* AllocateMasks(OpContext& context, int64_t n, const ImageShape& image) {
  CheckPixels(image.height, image.width);
  Require(n == 0 || image.height * image.width <= kMostPixels / n, n, " masks of ", image.height,
          " x ", image.width, " pixels are more than ", kMostPixels, " together");
  uint8_t* const masks = context.Out("Out")->Allocate<uint8_t>({n, image.height, image.width, 1});
  std::fill_n(masks, n * image.height * image.width, uint8_t{0});
  return masks;
}

PixelsOf<uint8_t> MaskAt(uint8_t* masks, uint64_t i, const ImageShape& image) {
  return Contiguous(masks + static_cast<int64_t>(i) * image.height * image.width,
                    {image.height, image.width, 1});
}

void MakeObjects(OpContext& context, const Objects& objects, const ImageShape& image) {
  uint8_t* const masks = AllocateMasks(context, static_cast<int64_t>(objects.size()), image);
  for (uint64_t i = 0; i < objects.size(); ++i) objects.Paint(i, MaskAt(masks, i, image), 1);
  *context.Out("Out")->mutable_lod_unchecked() = {objects.of_images()};
}

std::vector<uint8_t> LabelsOf(const OpContext& context, const Objects& objects) {
  const LoDTensor& labels = context.In("Labels");
  if (!LabelTypes::Has(labels.dtype()) || labels.rows() != objects.size() ||
      static_cast<uint64_t>(labels.numel()) != objects.size() || labels.lod().size() != 1 ||
      labels.lod()[0] != objects.of_images()) {
    ThrowUnfit(context, "Labels", kWantedLabels);
  }
  std::vector<uint8_t> values;
  VisitType(LabelTypes(), labels.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (uint64_t i = 0; i < objects.size(); ++i) {
      const auto label = static_cast<int64_t>(labels.template data<T>()[i]);
      Require(label >= 0 && label <= 255, "label ", label, " of object ", i,
              " is no value of a mask, which are from 0 to 255");
      values.push_back(static_cast<uint8_t>(label));
    }
  });
  return values;
}

void MakeClasses(OpContext& context, const Objects& objects, const ImageShape& image) {
  const std::vector<uint8_t> labels = LabelsOf(context, objects);
  const auto overlap = context.Attr<int32_t>("overlap");
  const int64_t pixels = image.height * image.width;
  const LodLevel& of_images = objects.of_images();
  uint8_t* const masks = AllocateMasks(context, static_cast<int64_t>(of_images.size()) - 1, image);
  std::vector<uint8_t> one(static_cast<size_t>(pixels)), seen(static_cast<size_t>(pixels));
  for (size_t i = 0; i + 1 < of_images.size(); ++i) {
    uint8_t* const mask = masks + static_cast<int64_t>(i) * pixels;
    std::fill(seen.begin(), seen.end(), uint8_t{0});
    for (uint64_t object = of_images[i]; object < of_images[i + 1]; ++object) {
      std::fill(one.begin(), one.end(), uint8_t{0});
      objects.Paint(object, MaskAt(one.data(), 0, image), 1);
      for (size_t pixel = 0; pixel < one.size(); ++pixel) {
        if (one[pixel] == 0) continue;
        mask[pixel] = std::max(mask[pixel], labels[object]);
        if (seen[pixel] < 2) ++seen[pixel];
      }
    }
    for (size_t pixel = 0; pixel < seen.size() && overlap >= 0; ++pixel) {
      if (seen[pixel] > 1) mask[pixel] = static_cast<uint8_t>(overlap);
    }
  }
}

void Run(OpContext& context) {
  const ImageShape image = ShapeOfImages(context);
  const Objects objects(context);
  if (IsOfClasses(context.attributes())) {
    MakeClasses(context, objects, image);
  } else {
    MakeObjects(context, objects, image);
  }
}

REGISTER_OPERATOR(object_masks, Schema, Run);

}  // namespace
}  // namespace millhopper
