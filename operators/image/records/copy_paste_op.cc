// SPDX-License-Identifier: Apache-2.0
// copy_paste: objects of one image are pasted into another.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/image/geometry/taken_rows.h"
#include "operators/image/image_draws.h"
#include "operators/image/records/records.h"

namespace millhopper {
namespace {

constexpr size_t kRecords = 2;

OpSchema Schema() {
  OpSchema schema = RecordsSchema(
      "Pastes objects of the second record over the first, as SimpleCopyPaste of torchvision's "
      "references does without blending. Of n objects those are pasted whose numbers draws 1 to n "
      "choose, each among all of them. Objects below lose the pixels that are covered, and are "
      "left out with their labels if none is left; their boxes become those around what is left, "
      "those of pasted objects stay. With p below 1, the first record stays as it is where draw 0 "
      "is not below p (Source: Ghiasi et al., \"Simple Copy-Paste is a Strong Data Augmentation "
      "Method for Instance Segmentation\", 2021).",
      kRecords, "[1, H, W, C], type of X",
      "uint8, uint16 or float32 [n, H, W, 1], not 0 within an object, one for each box, with a "
      "level of detail; one argument of each record");
  schema.OptionalOutput("Areas",
                        "float32 [n]: the pixels of each object, with the level of detail that "
                        "masks have");
  return schema.Infer([](InferContext& context) {
    const Dims dims = InferImages(context);
    Require(context.OutCount("OutMasks") == 1 && context.OutCount("OutBoxes") <= 1 &&
                context.InCount("Points") == 0,
            "one argument of masks, at most one of boxes and none of points (With takes key "
            "points) is needed of each record");
    InferRecords(context, kRecords, dims[1], dims[2]);
    context.SetOut("Areas", {DataType::kFp32, Dims{-1}, 1});
  });
}

// The pixels of an object: how many there are, and the box around them.
struct Extent {
  int64_t pixels = 0;
  Corners box;
};

template <typename T>
Extent ExtentOf(const T* mask, const ImageShape& image) {
  Extent extent;
  int64_t left = image.width, top = image.height, right = 0, bottom = 0;
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      if (mask[y * image.width + x] == T{0}) continue;
      ++extent.pixels;
      left = std::min(left, x), right = std::max(right, x + 1);
      top = std::min(top, y), bottom = y + 1;
    }
  }
  extent.box = {static_cast<double>(left), static_cast<double>(top), static_cast<double>(right),
                static_cast<double>(bottom)};
  return extent;
}

// What is pasted, and what is left of what lies below.
struct Paste {
  RowPlaces pasted;
  std::vector<bool> covered;    // of the pixels
  LoDTensor masks;              // of the first record, without what is covered
  RowPlaces left;               // of its objects
  std::vector<Extent> extents;  // of these
};

RowPlaces DrawnObjects(const RandomKey& key, int64_t n) {
  std::set<size_t> drawn;
  for (int64_t i = 0; i < n; ++i) {
    drawn.insert(key.Below(static_cast<uint64_t>(n), 0, static_cast<uint64_t>(i) + 1));
  }
  return {drawn.begin(), drawn.end()};
}

Paste PasteOf(const OpContext& context, const RandomKey& key) {
  const ImageShape image = ShapeOfImages(context);
  const auto pixels = static_cast<size_t>(image.height * image.width);
  const LoDTensor& source = context.In("Masks", 1);
  Paste paste;
  paste.pasted = DrawnObjects(key, source.dims()[0]);
  paste.covered.resize(pixels);
  paste.masks = context.In("Masks");
  VisitType(ImageTypes(), source.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const size_t object : paste.pasted) {
      const T* const mask = source.template data<T>() + object * pixels;
      for (size_t i = 0; i < pixels; ++i) {
        if (mask[i] != T{0}) paste.covered[i] = true;
      }
    }
    T* const masks = paste.masks.template mutable_data<T>();
    for (size_t object = 0; object < paste.masks.rows(); ++object) {
      T* const mask = masks + object * pixels;
      for (size_t i = 0; i < pixels; ++i) {
        if (paste.covered[i]) mask[i] = T{0};
      }
      const Extent extent = ExtentOf(mask, image);
      if (extent.pixels == 0) continue;
      paste.left.push_back(object);
      paste.extents.push_back(extent);
    }
  });
  return paste;
}

// Tensor i of a parameter of what is left, and of what is pasted.
LoDTensor JoinedObjects(const OpContext& context, const char* parameter, const char* output,
                        size_t i, const LoDTensor& below, const Paste& paste) {
  const LoDTensor& above = context.In(parameter, ArgumentOf(context, output, 1, i));
  const auto require = [&](const LoDTensor& tensor, size_t record) {
    const LoDTensor& masks = context.In("Masks", record);
    const bool fits =
        !tensor.dims().empty() &&
        (tensor.lod().size() <= 1 ? tensor.rows() : tensor.lod()[1].size() - 1) == masks.rows() &&
        (tensor.lod().empty() || tensor.instances() == 1);
    if (fits) return;
    ThrowUnfit(context, parameter,
               StrCat("it needs a row, or a sequence, for each of the ", masks.rows(), " masks"),
               ArgumentOf(context, output, record, i));
  };
  require(below, 0);
  require(above, 1);
  const auto depth = [](const LoDTensor& tensor) {
    return std::min<size_t>(tensor.lod().size(), 1);
  };
  return Joined(context, parameter, i,
                {Taken(below, depth(below), paste.left), Taken(above, depth(above), paste.pasted)});
}

LoDTensor JoinedBoxes(const OpContext& context, const Paste& paste) {
  RequireBoxes(context, "Boxes", 0);
  RequireBoxes(context, "Boxes", 1);
  const BoxNotation notation = BoxNotationOf(context.attributes());
  LoDTensor made = JoinedObjects(context, "Boxes", "OutBoxes", 0, context.In("Boxes"), paste);
  VisitType(FloatTypes(), made.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = made.template mutable_data<T>();
    for (const Extent& extent : paste.extents) {
      double numbers[4];
      notation.Write(extent.box, ShapeOfImages(context), numbers);
      for (const double number : numbers) *to++ = static_cast<T>(number);
    }
  });
  return made;
}

LoDTensor AreasOf(const LoDTensor& masks) {
  LoDTensor areas;
  float* to = areas.Allocate<float>({masks.dims()[0]});
  const ImageShape image{masks.dims()[1], masks.dims()[2], 1};
  VisitType(ImageTypes(), masks.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < masks.dims()[0]; ++i) {
      const T* const mask = masks.template data<T>() + i * image.values();
      *to++ = static_cast<float>(ExtentOf(mask, image).pixels);
    }
  });
  *areas.mutable_lod_unchecked() = masks.lod();
  return areas;
}

void PasteImage(OpContext& context, const std::vector<bool>& covered) {
  const LoDTensor below = context.In("X"), above = context.In("X", 1);
  const int64_t channels = below.dims()[3];
  VisitType(ImageTypes(), below.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const out = context.Out("Out")->Allocate<T>(below.dims());
    for (int64_t i = 0; i < static_cast<int64_t>(covered.size()); ++i) {
      const LoDTensor& from = covered[static_cast<size_t>(i)] ? above : below;
      std::copy_n(from.template data<T>() + i * channels, channels, out + i * channels);
    }
  });
}

void Run(OpContext& context) {
  RequireOneSize(context, kRecords);
  for (size_t i = 0; i < kRecords; ++i) {
    const LoDTensor& masks = context.In("Masks", i);
    if (masks.dims()[3] != 1 || masks.dtype() != context.In("Masks").dtype()) {
      ThrowUnfit(context, "Masks", "masks have one channel, and one type in all records", i);
    }
  }
  const RandomKey key = ImageKey(context);
  std::vector<std::pair<LoDTensor*, LoDTensor>> made;  // all first: an output may be any input
  if (!(ToUnitDouble(key.Bits(0, 0)) < context.Attr<float>("p"))) {
    if (IsWanted(context, "Areas")) {
      made.emplace_back(context.Out("Areas"), AreasOf(context.In("Masks")));
    }
    KeepFirst(context);
  } else {
    const Paste paste = PasteOf(context, key);
    made.emplace_back(context.Out("OutMasks"),
                      JoinedObjects(context, "Masks", "OutMasks", 0, paste.masks, paste));
    if (IsWanted(context, "Areas")) {
      made.emplace_back(context.Out("Areas"), AreasOf(made[0].second));
    }
    if (IsWanted(context, "OutBoxes")) {
      made.emplace_back(context.Out("OutBoxes"), JoinedBoxes(context, paste));
    }
    for (size_t i = 0; i < context.OutCount("OutWith"); ++i) {
      made.emplace_back(context.Out("OutWith", i),
                        JoinedObjects(context, "With", "OutWith", i, context.In("With", i), paste));
    }
    PasteImage(context, paste.covered);
  }
  for (auto& [out, tensor] : made) *out = std::move(tensor);
}

REGISTER_OPERATOR(copy_paste, Schema, Run);

}  // namespace
}  // namespace millhopper
