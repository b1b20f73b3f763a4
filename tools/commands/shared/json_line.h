// SPDX-License-Identifier: Apache-2.0
// What commands print with --json: values of JSON, each on its own line.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_JSON_LINE_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_JSON_LINE_H_

#include <nlohmann/json_fwd.hpp>

namespace millhopper {

// Prints a line to standard output. Bytes of file names and errors that are not UTF-8 are replaced.
void PrintJsonLine(const nlohmann::json& json);

// The number; or, as JSON has no others than finite ones, "nan", "inf" or "-inf".
nlohmann::json JsonNumber(double number);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_JSON_LINE_H_
