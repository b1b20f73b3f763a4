// SPDX-License-Identifier: Apache-2.0
// cast: the values of X in another type.
#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "operators/support/conversion.h"

namespace millhopper {
namespace {

constexpr int32_t kAnyType = -1;

OpSchema Schema() {
  return OpSchema("The values of X in another type.")
      .Input("X", "any dims and type")
      .Output("Out",
              "dims and levels of detail of X; may be X. Fractions are cut off; a float that an "
              "integer type cannot hold becomes the nearest value that it can, and NaN becomes 0; "
              "integers wrap around; every number except 0 is true")
      .Attr({"in_dtype", kAnyType, "type of X, by its number in framework.proto; -1: any"})
      .Attr(AttributeSchema("out_dtype", int32_t{}, "type of Out").Required())
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto declared = attributes.Get<int32_t>("in_dtype");
        if (declared != kAnyType) DataTypeFromNumber(declared);
        DataTypeFromNumber(attributes.Get<int32_t>("out_dtype"));
      })
      .Infer([](InferContext& context) {
        TensorSpec spec = context.In("X");
        spec.dtype = DataTypeFromNumber(context.Attr<int32_t>("out_dtype"));
        context.SetOut("Out", spec);
      });
}

void Run(OpContext& context) {
  const auto declared = context.Attr<int32_t>("in_dtype");
  const DataType type = DataTypeFromNumber(context.Attr<int32_t>("out_dtype"));
  if (declared != kAnyType) {
    const DataType in_type = DataTypeFromNumber(declared);
    RequireInput(context.In("X").dtype() == in_type, context, "X", "attribute 'in_dtype' says ",
                 ToString(in_type));
  }
  RequireInput(context.In("X").on_host(), context, "X", "it is needed on the cpu");
  LoDTensor* output = context.Out("Out");
  const StableInput input(context.In("X"), output);
  const int64_t count = input->numel();
  output->Allocate(type, input->dims());
  VisitType(AllTypes(), input->dtype(), [&](auto from_tag) {
    const auto* from = static_cast<const typename decltype(from_tag)::type*>(input->raw_data());
    VisitType(AllTypes(), type, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      auto* to = static_cast<To*>(output->mutable_raw_data());
      for (int64_t i = 0; i < count; ++i) to[i] = Convert<To>(from[i]);
    });
  });
  CopyLod(*input, output);
}

REGISTER_OPERATOR(cast, Schema, Run);

}  // namespace
}  // namespace millhopper
