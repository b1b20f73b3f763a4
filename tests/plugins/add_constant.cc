// SPDX-License-Identifier: Apache-2.0
// The smallest useful plugin: one operator.
#include "framework/plugin.h"

namespace {

millhopper::OpSchema Schema() {
  return millhopper::OpSchema("Adds a constant to every value.")
      .Input("X", "float32 values")
      .Output("Out", "the same dims as X")
      .Attr({"value", 0.0f, "what is added"});
}

void Run(millhopper::OpContext& context) {
  const millhopper::LoDTensor x = context.In("X");
  float* out = context.Out("Out")->Allocate<float>(x.dims());
  for (int64_t i = 0; i < x.numel(); ++i) {
    out[i] = x.data<float>()[i] + context.Attr<float>("value");
  }
}

REGISTER_OPERATOR(add_constant, Schema, Run);

}  // namespace

MILLHOPPER_PLUGIN;
