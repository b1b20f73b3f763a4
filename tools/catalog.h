// SPDX-License-Identifier: Apache-2.0
// Prints what is registered: operators and file formats, with their documentation.
#ifndef MILLHOPPER_TOOLS_CATALOG_H_
#define MILLHOPPER_TOOLS_CATALOG_H_

#include <string>
#include <vector>

namespace millhopper {

// To standard output: these operators with parameters, attributes and defaults, or, if there are
// none, every type with its first line. Throws kInvalidArgument for a type that is not registered.
void ListOperators(const std::vector<std::string>& types);
// To standard output: every format, how its files are known, and its attributes.
void ListFormats();

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_CATALOG_H_
