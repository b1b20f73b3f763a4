// SPDX-License-Identifier: Apache-2.0
// A plugin with one operator. It is loaded by `millhopper-executor --plugin=...`, by LoadPlugin in
// C++ or by millhopper.load_plugin in Python.
#include "framework/plugin.h"

namespace {

millhopper::OpSchema Schema() {
  return millhopper::OpSchema("Multiplies every value by a factor.")
      .Input("X", "float32 values")
      .Output("Out", "the same dims as X")
      .Attr({"factor", 2.0f, "what is multiplied by"});
}

void Run(millhopper::OpContext& context) {
  const millhopper::LoDTensor x = context.In("X");
  const float factor = context.Attr<float>("factor");
  float* const out = context.Out("Out")->Allocate<float>(x.dims());
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x.data<float>()[i] * factor;
}

REGISTER_OPERATOR(example_scale, Schema, Run);

}  // namespace

MILLHOPPER_PLUGIN;
