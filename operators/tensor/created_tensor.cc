// SPDX-License-Identifier: Apache-2.0
#include "operators/tensor/created_tensor.h"

#include <utility>

#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"

namespace millhopper {
namespace {

Dims ShapeOf(const std::vector<int32_t>& shape) {
  Dims dims;
  for (const int32_t dim : shape) dims.push_back(dim);
  return dims;
}

}  // namespace

OpSchema CreationSchema(std::string doc) {
  return OpSchema(std::move(doc))
      .Output("Out", "the created tensor")
      .Attr(AttributeSchema("shape", std::vector<int32_t>{}, "dims of Out").Required().AtLeast(0))
      .Attr({"dtype", static_cast<int32_t>(DataType::kFp32),
             "type of Out, by its number in framework.proto; 5 is float32"})
      .Infer([](InferContext& context) {
        context.SetOut("Out", {DataTypeFromNumber(context.Attr<int32_t>("dtype")),
                               ShapeOf(context.Attr<std::vector<int32_t>>("shape")), 0});
      });
}

LoDTensor* AllocateCreated(OpContext& context) {
  LoDTensor* out = context.Out("Out");
  out->Allocate(DataTypeFromNumber(context.Attr<int32_t>("dtype")),
                ShapeOf(context.Attr<std::vector<int32_t>>("shape")));
  return out;
}

}  // namespace millhopper
