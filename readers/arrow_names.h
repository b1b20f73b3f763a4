// SPDX-License-Identifier: Apache-2.0
// Where the values of a field lie among Arrow's columns, and fields that fit them.
//
// A field is named by a column: "age"; "user.age" in a struct, also where the struct is in a list
// ("items.price"); the key and value of a map ("tags.key"); "#3" for the fourth column.
#ifndef MILLHOPPER_READERS_ARROW_NAMES_H_
#define MILLHOPPER_READERS_ARROW_NAMES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readers/arrow_c_data.h"

namespace millhopper {

// Where the values of a field lie in a schema: a child of the schema, a child of that, and so on,
// lists included. `names` are those of the children of structs alone, so that they find the column
// again in a schema that has fewer columns.
struct ArrowColumn {
  std::vector<size_t> children;
  std::vector<std::string> names;
};

// Finds the column of a name in a schema, a struct of columns. Throws kDataLoss "no column is named
// 'x'; there are ...", and if it is a struct or more than one column.
ArrowColumn FindArrowColumn(const ArrowSchema& schema, const std::string& name);

// The child of this name; nothing if there is none. Throws kDataLoss if there are several.
std::optional<size_t> ChildNamed(const ArrowSchema& schema, std::string_view name);
// The names of the children, for errors.
std::string NamesIn(const ArrowSchema& schema);

// Fields that fit a schema and a batch of it, which tells where nulls are; without a batch there
// are none. Leaves out columns that no field can be.
std::vector<std::string> GuessArrowFields(const ArrowSchema& schema, const ArrowArray* sample);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_NAMES_H_
