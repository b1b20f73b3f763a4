// SPDX-License-Identifier: Apache-2.0
// Prints the registered operators and file formats with their documentation to standard output.
#ifndef MILLHOPPER_TOOLS_CATALOG_H_
#define MILLHOPPER_TOOLS_CATALOG_H_

#include <string>
#include <vector>

namespace millhopper {

// Prints the given operators with parameters, attributes and defaults; without types, prints every
// operator with the first sentence of its description. Throws kInvalidArgument for a type that is
// not registered.
void ListOperators(const std::vector<std::string>& types);
// Prints every format, how its files are recognised, and its attributes.
void ListFormats();

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_CATALOG_H_
