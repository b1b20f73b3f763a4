// SPDX-License-Identifier: Apache-2.0
// What the operators that train a parameter have in common.
#ifndef MILLHOPPER_OPERATORS_NN_OPTIMIZER_H_
#define MILLHOPPER_OPERATORS_NN_OPTIMIZER_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/support/arguments.h"

namespace millhopper {

// The rule: Grad and all `states` must have the dims and type of Param, and ParamOut and the output
// SOut of each state S get them.
InferRule InferOptimizer(std::vector<std::string> states);

inline OpSchema OptimizerSchema(std::string doc) {
  return OpSchema(std::move(doc))
      .Input("Param", "float32 or float64")
      .Input("Grad", "gradient of Param, with its dims and type")
      .Input("LearningRate", "[1], type of Param")
      .Output("ParamOut", "usually the variable of Param")
      .Infer(InferOptimizer({}));
}

// Throws unless Grad and the `states` have the dims and type of Param.
inline void CheckOptimizer(const OpContext& context,
                           std::initializer_list<std::string_view> states) {
  RequireSameShape(context, "Grad", "Param");
  for (const std::string_view state : states) RequireSameShape(context, state, "Param");
}

// The value of an input that must have one value, of Param's type.
template <typename T>
T ScalarInput(const OpContext& context, std::string_view parameter) {
  const LoDTensor& tensor = context.In(parameter);
  RequireInput(tensor.dtype() == DataTypeOf<T>() && tensor.numel() == 1, context, parameter,
               ToString(DataTypeOf<T>()), " [1] is needed, the type of 'Param'");
  return tensor.data<T>()[0];
}

template <typename T>
T LearningRate(const OpContext& context) {
  return ScalarInput<T>(context, "LearningRate");
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_NN_OPTIMIZER_H_
