// SPDX-License-Identifier: Apache-2.0
#include "operators/nn/optimizer.h"

#include "framework/program/infer_context.h"

namespace millhopper {

InferRule InferOptimizer(std::vector<std::string> states) {
  return [states = std::move(states)](InferContext& context) {
    context.RequireSameShape("Grad", "Param");
    context.SetOut("ParamOut", context.In("Param"));
    for (const std::string& state : states) {
      context.RequireSameShape(state, "Param");
      context.SetOut(state + "Out", context.In("Param"));
    }
  };
}

}  // namespace millhopper
