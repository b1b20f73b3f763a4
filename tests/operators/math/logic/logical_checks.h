// SPDX-License-Identifier: Apache-2.0
// What the logical operators of two inputs must do.
#ifndef MILLHOPPER_TESTS_OPERATORS_MATH_LOGIC_LOGICAL_CHECKS_H_
#define MILLHOPPER_TESTS_OPERATORS_MATH_LOGIC_LOGICAL_CHECKS_H_

#include <string>
#include <vector>

namespace millhopper {

// `expected` are the results for false and false, false and true, true and false, true and true.
void CheckLogical(const std::string& type, const std::vector<bool>& expected);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_MATH_LOGIC_LOGICAL_CHECKS_H_
