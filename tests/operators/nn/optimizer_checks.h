// SPDX-License-Identifier: Apache-2.0
// Inputs and checks that the tests of optimizers share.
#ifndef MILLHOPPER_TESTS_OPERATORS_NN_OPTIMIZER_CHECKS_H_
#define MILLHOPPER_TESTS_OPERATORS_NN_OPTIMIZER_CHECKS_H_

#include <string>
#include <vector>

#include "tests/operators/run_op.h"

namespace millhopper {

constexpr double kParams[] = {1, -2, 0.5};
constexpr double kGrads[] = {0.25, 4, -8};

// Param and Grad with fixed values, a LearningRate of 0.1, and the other state of the optimizer.
SlotTensors OptimizerInputs(const SlotTensors& state);

// Expects that the operator is refused with these words if the input `slot` is `tensor`.
void ExpectInputRefused(const std::string& words, const std::string& type,
                        const SlotTensors& inputs, const std::string& slot, const LoDTensor& tensor,
                        const std::vector<std::string>& outputs, const Attributes& attributes = {});

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_NN_OPTIMIZER_CHECKS_H_
