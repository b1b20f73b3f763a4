// SPDX-License-Identifier: Apache-2.0
#include "framework/base/text_table.h"

#include <algorithm>
#include <cstddef>

namespace millhopper {

std::string TextTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    text += row[0] + std::string(widths[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i) {
      text += std::string(2 + widths[i] - row[i].size(), ' ') + row[i];
    }
    text += "\n";
  }
  return text;
}

}  // namespace millhopper
