// SPDX-License-Identifier: Apache-2.0
// What the activations and their gradients must do.
#ifndef MILLHOPPER_TESTS_OPERATORS_NN_ACTIVATION_CHECKS_H_
#define MILLHOPPER_TESTS_OPERATORS_NN_ACTIVATION_CHECKS_H_

#include <string>

namespace millhopper {

// `function` computes one value in double.
void CheckActivation(const std::string& type, double (*function)(double));

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_NN_ACTIVATION_CHECKS_H_
