// SPDX-License-Identifier: Apache-2.0
#include "operators/image/image_argument.h"

#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/record_id.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"

namespace millhopper {
namespace {

constexpr char kWanted[] =
    "images are uint8, uint16 or float32 [N, H, W, C] with 1 to 4 channels C and no level of "
    "detail";

constexpr char kWantedOfEither[] =
    "images are uint8, uint16 or float32 [N, H, W, C] or [N, C, H, W] with 1 to 4 channels C and "
    "no level of detail";

bool MayBeChannels(int64_t size) { return size != 0 && size <= 4; }

// Whether the channels come before the rows. Where both axes may be channels, it is the last one.
bool IsPlanar(const Dims& dims) { return !MayBeChannels(dims[3]) && MayBeChannels(dims[1]); }

// A level of detail may divide masks of objects among the images that these are in.
bool MayBeImages(const TensorSpec& spec, std::string_view parameter, bool either = false) {
  if (spec.dtype && !ImageTypes::Has(*spec.dtype)) return false;
  if (spec.lod_level.value_or(0) > (parameter == "Masks" ? 1 : 0)) return false;
  if (!spec.dims) return true;
  if (spec.dims->size() != 4) return false;
  return MayBeChannels((*spec.dims)[3]) || (either && IsPlanar(*spec.dims));
}

}  // namespace

OpSchema ImageSchema(std::string doc, std::string out) {
  return OpSchema(std::move(doc))
      .Input("X", "images, uint8, uint16 or float32 [N, H, W, C]")
      .Output("Out", std::move(out));
}

OpSchema RandomImageSchema(std::string doc, std::string out) {
  return WithDraws(ImageSchema(std::move(doc), std::move(out)));
}

OpSchema WithDraws(OpSchema schema) {
  return schema
      .OptionalInput("Step",
                     "int64 [1]; other numbers are drawn for each value. Only needed in a main "
                     "program: in a block for the elements of a reader each element has its own")
      .Attr({"seed", int32_t{0},
             "decides the draws together with --seed, the name of Out, and the pass and number of "
             "the element. Processes that each open files of their own need a --seed each; with "
             "shards of one reader they need none"});
}

Dims InferImages(const InferContext& context, std::string_view parameter, size_t i) {
  const TensorSpec& spec = context.In(parameter, i);
  if (!MayBeImages(spec, parameter)) context.ThrowUnfit(parameter, kWanted, i);
  return spec.dims.value_or(Dims{-1, -1, -1, -1});
}

void SetOutImages(InferContext& context, const Dims& dims) {
  context.SetOut("Out", {context.In("X").dtype, dims, 0});
}

void InferSameImages(InferContext& context) { SetOutImages(context, InferImages(context)); }

Dims InferEitherLayout(const InferContext& context, int64_t* channels) {
  const TensorSpec& spec = context.In("X");
  if (!MayBeImages(spec, "X", true)) context.ThrowUnfit("X", kWantedOfEither);
  Dims dims = spec.dims.value_or(Dims{-1, -1, -1, -1});
  *channels = dims[IsPlanar(dims) ? 1 : 3];
  return dims;
}

ImageShape ShapeOfImages(const OpContext& context, std::string_view parameter, size_t i) {
  const LoDTensor& images = context.In(parameter, i);
  if (!MayBeImages(SpecOf(images), parameter)) ThrowUnfit(context, parameter, kWanted, i);
  const Dims& dims = images.dims();
  return {dims[1], dims[2], dims[3]};
}

ImagePlanes PlanesOfImages(const OpContext& context) {
  const LoDTensor& images = context.In("X");
  if (!MayBeImages(SpecOf(images), "X", true)) ThrowUnfit(context, "X", kWantedOfEither);
  const Dims& dims = images.dims();
  if (IsPlanar(dims)) return {dims[1], {dims[2], dims[3], 1}};
  return {1, {dims[1], dims[2], dims[3]}};
}

RandomKey ImageKey(OpContext& context) {
  const RandomKey key(context.run().seed, static_cast<uint64_t>(context.Attr<int32_t>("seed")),
                      context.OutVar("Out").name());
  if (context.InCount("Step") > 0) {
    RecordId step;
    step.pass = static_cast<uint64_t>(context.In("Step").scalar<int64_t>());
    return key.Of(step);
  }
  return context.run().record == nullptr ? key : key.Of(*context.run().record);
}

}  // namespace millhopper
