// SPDX-License-Identifier: Apache-2.0
// The fields of files that tell what is in them: some of it or all, by names alone.
//
//   fare                  the column of this name, with the type that fits it
//   I1-I13                the columns from I1 to I13, unless one is called so
//   *                     all columns that no other entry names
//   age = driver's age    a column under another name
//   fare float32[]        a field as any other (fields.h)
//   I1-I13 float32[13]    where formats have such fields, "*" leaves these columns out, too
#ifndef MILLHOPPER_READERS_FIELDS_CHOSEN_FIELDS_H_
#define MILLHOPPER_READERS_FIELDS_CHOSEN_FIELDS_H_

#include <string>
#include <vector>

#include "framework/reader/file_format.h"

namespace millhopper {

// The names from "I1" to "I13", with as many digits as the first has; nothing for what is no range.
// Throws kInvalidArgument for one that ends before it begins, kResourceLimit for too many names.
std::vector<std::string> NamesInRange(const std::string& range);

// Whether what is in the files must be known to tell the fields: no entries are given, or one is a
// name alone. Throws what NamesOf throws.
bool AreChosenByName(const std::vector<std::string>& entries);

// The entries with types in place of names alone, which are those of `found`; without entries all
// of these. `exclude` has names and ranges of names that "*" and no entries leave out. Throws
// kInvalidArgument for names that are not found, if there is something among all columns that no
// field can read and `exclude` does not name, and for booleans "a.valid" beside "a", which would be
// taken for its mask, unless they are.
std::vector<std::string> ChooseFields(const std::vector<std::string>& entries,
                                      const std::vector<std::string>& exclude,
                                      const FittingFields& found);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_CHOSEN_FIELDS_H_
