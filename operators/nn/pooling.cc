// SPDX-License-Identifier: Apache-2.0
#include "operators/nn/pooling.h"

#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

// The windows along an axis of X; `axis` is 0 for the height.
ImageWindow WindowOf(const AttributeMap& attributes, size_t axis, int64_t length) {
  if (attributes.Get<bool>("global_pooling")) return {length};
  const auto at = [&](const char* name) {
    return static_cast<int64_t>(attributes.Get<std::vector<int32_t>>(name)[axis]);
  };
  return {at("ksize"), at("strides"), at("paddings")};
}

int64_t CountWindows(const AttributeMap& attributes, size_t axis, int64_t length,
                     const Refusal& refuse) {
  if (attributes.Get<bool>("global_pooling")) return 1;
  if (length < 0) return -1;
  const ImageWindow window = WindowOf(attributes, axis, length);
  const int64_t count = window.Count(length, attributes.Get<bool>("ceil_mode"));
  if (count == 0 || window.padding >= window.size || window.Begin(count - 1) >= length) {
    refuse("X",
           StrCat("of its ", axis == 0 ? "height" : "width",
                  " every window must cover a value; they are ", window.size, " long, ",
                  window.stride, " apart, and begin in ", window.padding, " places of padding"));
  }
  return count;
}

Dims OutDims(const AttributeMap& attributes, const Dims& x, const Refusal& refuse) {
  if (x.size() != 4) refuse("X", "images [N, C, H, W] are needed");
  if (x[2] == 0 || x[3] == 0) refuse("X", "images have a height and a width of at least 1");
  return {x[0], x[1], CountWindows(attributes, 0, x[2], refuse),
          CountWindows(attributes, 1, x[3], refuse)};
}

}  // namespace

OpSchema WithPool2dAttrs(OpSchema schema) {
  return WithLineageAttrs(
      schema
          .Attr(AttributeSchema("pooling_type", std::string("max"),
                                "max: the highest value of a window; avg: the mean of its values")
                    .Required()
                    .OneOf({"max", "avg"}))
          .Attr(AttributeSchema("ksize", std::vector<int32_t>(), "height and width of a window")
                    .Required())
          .Attr(PairAttr("strides", 1, "pixels from one window to the next, down and across"))
          .Attr(PairAttr("paddings", 0,
                         "places of padding above and below, and left and right; less than the "
                         "window has"))
          .Attr({"global_pooling", false,
                 "the image is one window; ksize, strides and paddings have no effect"})
          .Attr({"exclusive", true,
                 "a mean is one of the values in the image, not also of zeros in the padding"})
          .Attr({"ceil_mode", false, "the last windows may reach beyond the padding"})
          .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
            CheckPairs(attributes, {"ksize", "strides", "paddings"});
            const auto& size = attributes.Get<std::vector<int32_t>>("ksize");
            Require(attributes.Get<bool>("global_pooling") || (size[0] >= 1 && size[1] >= 1),
                    "attribute 'ksize' is ", ToString(size),
                    "; a window has a height and a width of at least 1");
          }));
}

TensorSpec InferPool2dOut(const InferContext& context) {
  const TensorSpec& x = context.In("X");
  TensorSpec out{x.dtype, Dims{-1, -1, -1, -1}, x.lod_level};
  if (x.dims) out.dims = OutDims(context.attributes(), *x.dims, RefusalOf(context));
  return out;
}

Pooling MatchPool2d(const OpContext& context) {
  const Dims& x = context.In("X").dims();
  const AttributeMap& attributes = context.attributes();
  const Dims out = OutDims(attributes, x, RefusalOf(context));
  return {x[0],
          x[1],
          x[2],
          x[3],
          WindowOf(attributes, 0, x[2]),
          WindowOf(attributes, 1, x[3]),
          out[2],
          out[3],
          attributes.Get<std::string>("pooling_type") == "max",
          attributes.Get<bool>("exclusive")};
}

}  // namespace millhopper
