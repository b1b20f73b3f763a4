// SPDX-License-Identifier: Apache-2.0
#include "operators/image/records/records.h"

#include <algorithm>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/tensor/rows.h"
#include "operators/image/image_draws.h"

namespace millhopper {
namespace {

// An input, and the output that has it of all records.
struct InputAndOutput {
  const char *input, *output;
};
constexpr InputAndOutput kOfRecords[] = {
    {"Masks", "OutMasks"}, {"Boxes", "OutBoxes"}, {"With", "OutWith"}, {"Points", "OutPoints"}};

void InferArguments(InferContext& context, const InputAndOutput& pair, size_t records) {
  const size_t outputs = context.OutCount(pair.output);
  Require(context.InCount(pair.input) == records * outputs, "input '", pair.input, "' has ",
          context.InCount(pair.input), " arguments and output '", pair.output, "' ", outputs,
          "; each output has one of each of ", records, " records");
}

}  // namespace

OpSchema RecordsSchema(std::string doc, size_t records, std::string out, std::string masks) {
  OpSchema schema(std::move(doc));
  schema
      .Inputs("X", StrCat("images, uint8, uint16 or float32 [1, H, W, C], of ", records,
                          " records, as create_partners_reader lays them side by side"))
      .OneOrMore()
      .Inputs("Masks", std::move(masks) + ". Those of the first record, then those of the next")
      .Inputs("Boxes",
              "float32 or float64 [n, 4], boxes in the images, of the first record, then of the "
              "next")
      .Inputs("With",
              "labels, areas ...: tensors of any type with a row for each box, of the first "
              "record, then of the next")
      .Inputs("Points",
              "float32 or float64 [.., 2] or [.., 3], places in the images, of the first record, "
              "then of the next")
      .Output("Out", std::move(out))
      .Outputs("OutMasks", "Masks of all records")
      .Outputs("OutBoxes", "Boxes of all records, in Out")
      .Outputs("OutWith", "With of all records")
      .Outputs("OutPoints", "Points of all records, in Out");
  schema = WithDraws(std::move(schema));
  return WithBoxNotation(schema)
      .Attr({"p", 1.0f, "how often; otherwise Out and the others are those of the first record"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        RequireProbability(attributes);
      });
}

void InferRecords(InferContext& context, size_t records, int64_t height, int64_t width) {
  Require(context.InCount("X") == records, "input 'X' has ", context.InCount("X"),
          " arguments; it needs ", records);
  for (size_t i = 0; i < records; ++i) InferImages(context, "X", i);
  const int64_t channels = InferImages(context)[3];
  context.SetOut("Out", {context.In("X").dtype, Dims{1, height, width, channels}, 0});
  for (const InputAndOutput& pair : kOfRecords) {
    InferArguments(context, pair, records);
    for (size_t i = 0; i < context.OutCount(pair.output); ++i) {
      TensorSpec spec = context.In(pair.input, i);
      if (*pair.input == 'B') InferBoxes(context, pair.input, i);
      if (*pair.input == 'P') InferPoints(context, pair.input, i);
      if (spec.dims && !spec.dims->empty()) (*spec.dims)[0] = -1;
      if (*pair.input == 'M') {
        spec.dims = Dims{-1, height, width, InferImages(context, "Masks", i)[3]};
      }
      context.SetOut(pair.output, spec, i);
    }
  }
}

void RequireRecords(const OpContext& context, size_t records) {
  for (size_t i = 0; i < records; ++i) {
    const ImageShape image = ShapeOfImages(context, "X", i);
    RequireInput(context.In("X", i).dims()[0] == 1, context, "X",
                 "each record has one image; make one of several before they are batched");
    if (context.In("X", i).dtype() != context.In("X").dtype() ||
        image.channels != ShapeOfImages(context).channels) {
      ThrowUnfit(context, "X", "all records have images of one type and number of channels", i);
    }
    for (size_t k = 0; k < context.OutCount("OutMasks"); ++k) {
      const size_t argument = ArgumentOf(context, "OutMasks", i, k);
      const ImageShape mask = ShapeOfImages(context, "Masks", argument);
      const LoDTensor& masks = context.In("Masks", argument);
      if (mask.height != image.height || mask.width != image.width ||
          (masks.lod().empty() ? masks.dims()[0] != 1 : masks.instances() != 1)) {
        ThrowUnfit(context, "Masks",
                   StrCat("the image is of ", image.height, " x ", image.width,
                          " pixels, and has one mask of this size or, with a level of detail, "
                          "those of its objects"),
                   argument);
      }
    }
  }
}

void RequireOneSize(const OpContext& context, size_t records) {
  RequireRecords(context, records);
  for (size_t i = 0; i < records; ++i) {
    if (ShapeOfImages(context, "X", i) != ShapeOfImages(context)) {
      ThrowUnfit(context, "X",
                 StrCat("the first record has ", ToString(context.In("X").dims()),
                        "; make images of one size before they are drawn (resize, or pad and "
                        "random_crop)"),
                 i);
    }
  }
  for (size_t i = 0; i < context.InCount("Masks"); ++i) {
    if (context.In("Masks", i).lod().size() != 1) {
      ThrowUnfit(context, "Masks", "masks of objects, with a level of detail, are needed", i);
    }
  }
}

void KeepFirst(OpContext& context) {
  std::vector<std::pair<LoDTensor*, LoDTensor>> kept = {{context.Out("Out"), context.In("X")}};
  for (const InputAndOutput& pair : kOfRecords) {
    for (size_t i = 0; i < context.OutCount(pair.output); ++i) {
      kept.emplace_back(context.Out(pair.output, i), context.In(pair.input, i));
    }
  }
  for (auto& [out, tensor] : kept) *out = tensor;  // after all are read: one may be the other
}

LoDTensor Joined(const OpContext& context, std::string_view parameter, size_t i,
                 const std::vector<LoDTensor>& parts) {
  const LoDTensor& first = parts.front();
  for (const LoDTensor& part : parts) {
    const bool fits =
        part.dtype() == first.dtype() && !part.dims().empty() &&
        part.dims().size() == first.dims().size() &&
        std::equal(part.dims().begin() + 1, part.dims().end(), first.dims().begin() + 1) &&
        part.lod().size() == first.lod().size() && (part.lod().empty() || part.instances() == 1);
    if (fits) continue;
    ThrowUnfit(context, parameter,
               StrCat("it is ", Describe(part), " of a record, and ", Describe(first),
                      " of the first; records have what can be laid end to end"),
               i);
  }
  SlotSpec spec;
  spec.dtype = first.dtype();
  spec.dims = first.dims();
  spec.dims[0] = -1;
  spec.lod_level = static_cast<int>(first.lod().size());
  Rows rows({spec});
  for (const LoDTensor& part : parts) rows.Append(0, part);
  std::vector<LoDTensor> made;
  rows.MoveTo(&made);
  Lod lod = made[0].lod();
  // What were several sequences, one of each record, is one.
  if (!lod.empty()) lod[0] = LodLevel{0, lod[0].back()};
  *made[0].mutable_lod_unchecked() = std::move(lod);
  return std::move(made[0]);
}

LoDTensor Joined(const OpContext& context, std::string_view parameter, std::string_view output,
                 size_t records, size_t i) {
  std::vector<LoDTensor> parts;
  for (size_t record = 0; record < records; ++record) {
    parts.push_back(context.In(parameter, ArgumentOf(context, output, record, i)));
  }
  return Joined(context, parameter, i, parts);
}

}  // namespace millhopper
