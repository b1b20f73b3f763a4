// SPDX-License-Identifier: Apache-2.0
// Tables for terminals.
#ifndef MILLHOPPER_FRAMEWORK_BASE_TEXT_TABLE_H_
#define MILLHOPPER_FRAMEWORK_BASE_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace millhopper {

// Rows of as many cells each, as lines with columns: the first one begins at the left, the others,
// which are numbers, end at the right.
std::string TextTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_TEXT_TABLE_H_
