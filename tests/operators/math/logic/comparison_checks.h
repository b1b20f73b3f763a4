// SPDX-License-Identifier: Apache-2.0
// What all comparing operators must do.
#ifndef MILLHOPPER_TESTS_OPERATORS_MATH_LOGIC_COMPARISON_CHECKS_H_
#define MILLHOPPER_TESTS_OPERATORS_MATH_LOGIC_COMPARISON_CHECKS_H_

#include <string>
#include <vector>

namespace millhopper {

// `expected` are the results for X below, the same as and above Y.
void CheckComparison(const std::string& type, const std::vector<bool>& expected);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_MATH_LOGIC_COMPARISON_CHECKS_H_
