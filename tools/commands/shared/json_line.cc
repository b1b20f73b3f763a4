// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/json_line.h"

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

namespace millhopper {

void PrintJsonLine(const nlohmann::json& json) {
  std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

nlohmann::json JsonNumber(double number) {
  if (std::isfinite(number)) return number;
  if (std::isnan(number)) return "nan";
  return number > 0 ? "inf" : "-inf";
}

}  // namespace millhopper
