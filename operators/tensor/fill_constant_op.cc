// SPDX-License-Identifier: Apache-2.0
// fill_constant: a tensor of one value.
#include <algorithm>

#include "framework/base/attribute.h"
#include "operators/support/conversion.h"
#include "operators/tensor/created_tensor.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return CreationSchema("A tensor of one value.")
      .Attr({"value", 0.0f, "the value; a float32, so not every integer above 2^24 is exact"})
      .Attr({"force_cpu", false, "accepted for older programs; Out is always on the CPU"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const DataType type = DataTypeFromNumber(attributes.Get<int32_t>("dtype"));
        const float value = attributes.Get<float>("value");
        VisitType(AllTypes(), type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          Require(CanHold<T>(value), "attribute 'value' is ", value, ", which ", ToString(type),
                  " cannot hold");
        });
      });
}

void Run(OpContext& context) {
  const float value = context.Attr<float>("value");
  LoDTensor* out = AllocateCreated(context);
  VisitType(AllTypes(), out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(static_cast<T*>(out->mutable_raw_data()), out->numel(), Convert<T>(value));
  });
}

REGISTER_OPERATOR(fill_constant, Schema, Run);

}  // namespace
}  // namespace millhopper
