// SPDX-License-Identifier: Apache-2.0
// Runs one operator as a separate program, and compares gradients with numerical differences.
#ifndef MILLHOPPER_TESTS_OPERATORS_RUN_OP_H_
#define MILLHOPPER_TESTS_OPERATORS_RUN_OP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// Tensors by slot. A slot that takes a list is named once for each of its tensors.
using SlotTensors = std::vector<std::pair<std::string, LoDTensor>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

struct RunOpOptions {
  // Output slots, each with the input slot whose variable it writes to.
  std::map<std::string, std::string> in_place;
  uint64_t seed = 0;  // --seed
  // The dims of outputs depend on values, so the rule need not know them.
  bool dims_by_values = false;
};

// Runs one operator as a separate program, checked as every program is, and returns its outputs by
// slot. Expects them to agree with the operator's rule (OpSchema::Infer). The variable of slot X is
// called x_variable, those of a list x_variable, x_variable1 ...; a variable has no value if its
// tensor has none.
std::map<std::string, LoDTensor> RunOp(const std::string& type, const SlotTensors& inputs,
                                       const std::vector<std::string>& outputs,
                                       const Attributes& attributes = {},
                                       const RunOpOptions& options = {});

// Expects RunOp to throw kInvalidArgument with these words.
void ExpectRefused(const std::string& words, const std::string& type, const SlotTensors& inputs,
                   const std::vector<std::string>& outputs, const Attributes& attributes = {});

// The gradient of a function at a float64 tensor, by central differences.
std::vector<double> NumericGradient(const std::function<double(const LoDTensor&)>& function,
                                    const LoDTensor& at);

// An operator, and the tensors that its gradient operator is given.
struct GradientCase {
  std::string type;
  SlotTensors inputs;                // float64 where a gradient is asked for
  std::vector<std::string> outputs;  // of the operator
  std::string output;                // the one whose gradient is given, with fixed values
  std::vector<std::string> given;    // inputs and outputs given to <type>_grad, by slot
  std::vector<std::string> wanted;   // inputs whose gradients are compared
  Attributes attributes;
};

// Expects that <type>_grad agrees with the numerical differences.
void ExpectGradients(const GradientCase& gradient);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_RUN_OP_H_
