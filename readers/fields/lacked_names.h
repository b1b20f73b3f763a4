// SPDX-License-Identifier: Apache-2.0
// Columns that no file of a reader has. A file may lack a column whose field says missing= or
// default=; one that all lack is a name that was mistyped, of which a constant would be read.
#ifndef MILLHOPPER_READERS_FIELDS_LACKED_NAMES_H_
#define MILLHOPPER_READERS_FIELDS_LACKED_NAMES_H_

#include <functional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "readers/fields/fields.h"

namespace millhopper {

// Whether a file has what a field names.
using HasColumn = std::function<bool(const Field& field)>;
// What tells that of the file of this path. Throws what opening the file throws.
using ColumnsOfFile = std::function<HasColumn(const std::string& path)>;

// The first field for which the file at `path`, the first that is opened of a reader's files, has
// no column, nor has any other of them; null if there is none. It looks into the others until each
// field has one. Null, too, if one of them cannot be looked into, since that one may have the
// column; an error of it comes when it is read.
const Field* FirstLackedByAll(const std::vector<Field>& fields, const HasColumn& has,
                              const std::string& path, const std::vector<FileEntry>& files,
                              const ColumnsOfFile& columns_of);

// The error of a format about a field that may not be missing, for one that FirstLackedByAll gives.
Error LackedByAll(const Error& error);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_LACKED_NAMES_H_
