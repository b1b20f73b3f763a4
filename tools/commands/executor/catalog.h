// SPDX-License-Identifier: Apache-2.0
// Prints the registered operators and file formats with their documentation to standard output, for
// people and as JSON.
#ifndef MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_CATALOG_H_
#define MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_CATALOG_H_

#include <string>
#include <vector>

namespace millhopper {

// Prints the given operators with parameters, attributes and defaults; without types, prints every
// operator with the first sentence of its description. Throws kInvalidArgument for a type that is
// not registered.
void ListOperators(const std::vector<std::string>& types);
// The same as JSON: a line for each operator, of those given or, without types, of all.
void ListOperatorsAsJson(const std::vector<std::string>& types);
// Prints the given formats or, without tags, all: how its files are recognised, and its attributes.
// Throws kInvalidArgument for a tag that no format has.
void ListFormats(const std::vector<std::string>& tags);
// The same as JSON: a line for each format.
void ListFormatsAsJson(const std::vector<std::string>& tags);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_CATALOG_H_
