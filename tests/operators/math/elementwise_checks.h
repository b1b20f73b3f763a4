// SPDX-License-Identifier: Apache-2.0
// What all operators of two numeric inputs must do, and their gradients.
#ifndef MILLHOPPER_TESTS_OPERATORS_MATH_ELEMENTWISE_CHECKS_H_
#define MILLHOPPER_TESTS_OPERATORS_MATH_ELEMENTWISE_CHECKS_H_

#include <string>

namespace millhopper {

// `function` computes one value in double. Covers equal dims, every broadcast, integers, levels of
// detail, results written to the place of an input, tensors without rows, and refused inputs.
void CheckBinaryOperator(const std::string& type, double (*function)(double, double));

// Compares <type>_grad with numerical differences, for equal dims and every broadcast.
void CheckBinaryGradient(const std::string& type);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_MATH_ELEMENTWISE_CHECKS_H_
