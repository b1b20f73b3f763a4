// SPDX-License-Identifier: Apache-2.0
// What the activations and their gradients must do.
#ifndef MILLRACE_TESTS_OPERATORS_ACTIVATION_CHECKS_H_
#define MILLRACE_TESTS_OPERATORS_ACTIVATION_CHECKS_H_

#include <string>

namespace millrace {

// `function` computes one value in double.
void CheckActivation(const std::string& type, double (*function)(double));

}  // namespace millrace

#endif  // MILLRACE_TESTS_OPERATORS_ACTIVATION_CHECKS_H_
