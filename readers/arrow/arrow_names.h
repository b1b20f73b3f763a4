// SPDX-License-Identifier: Apache-2.0
// Where the values of a field lie among Arrow's columns.
//
// A field is named by a column: "age"; "user.age" in a struct, also where the struct is in a list
// ("items.price"); the key and value of a map ("tags.key"). "#3" is the fourth column, or the
// fourth child of a struct ("#0.#3", "user.#3"), whatever its name is. A name that matches a whole
// column name comes first, then a number, then a path with points between the names of structs.
#ifndef MILLHOPPER_READERS_ARROW_ARROW_NAMES_H_
#define MILLHOPPER_READERS_ARROW_ARROW_NAMES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "readers/arrow/arrow_c_data.h"

namespace millhopper {

// Where the values of a field lie in a schema: a child of the schema, a child of that, and so on,
// lists included. Empty if the schema does not have them.
using ArrowColumn = std::vector<size_t>;

// The names of the columns of a schema, which must outlive this. One thread.
class ArrowNames {
 public:
  // `schema` is a struct of columns.
  explicit ArrowNames(const ArrowSchema& schema) : schema_(schema) {}

  // The column of a name. Throws kDataLoss "no column is named 'x'; there are ...", "2 columns are
  // named 'x'; by their numbers they are '#0', '#4'", and for a struct.
  ArrowColumn Find(const std::string& name);
  // Whether there is such a column, or more than one.
  bool Has(const std::string& name);
  // A name that finds the column, with numbers for what names do not tell; "" if there is none.
  std::string NameOf(const ArrowColumn& column);

 private:
  // The children of each name.
  using Children = std::unordered_map<std::string_view, std::vector<size_t>>;

  const Children& ChildrenByName(const ArrowSchema& schema);
  const ArrowSchema* FindIn(const ArrowSchema& schema, std::string_view name, ArrowColumn* column);
  std::optional<size_t> ChildOf(const ArrowSchema& schema, std::string_view name);

  const ArrowSchema& schema_;
  std::map<const ArrowSchema*, Children> children_;  // of the structs that have been looked into
};

// The names of the children, for errors.
std::string NamesIn(const ArrowSchema& schema);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_NAMES_H_
