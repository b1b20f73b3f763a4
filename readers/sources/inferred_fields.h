// SPDX-License-Identifier: Apache-2.0
// The fields of a reader of files that is given none.
#ifndef MILLHOPPER_READERS_SOURCES_INFERRED_FIELDS_H_
#define MILLHOPPER_READERS_SOURCES_INFERRED_FIELDS_H_

#include <string>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"

namespace millhopper {

// Whether neither slots nor fields are given, so that the files must tell what is in them.
bool GivesNoFields(const FormatArguments& arguments);

// If the format infers fields and the arguments give none, or some by name alone
// (readers/fields/chosen_fields.h), reads the schema or a sample of the first file and sets the
// attribute `fields` to what is chosen, with types, `exclude` to nothing, and those that go with the
// fields, such as a delimiter. Leaves them as they are where a record is bytes, and for files that
// can be read once only. Throws kInvalidArgument for names that the file does not have, and, with
// fields that can be given, if all of it is chosen and there is something that no field can read;
// and what reading throws.
void InferFields(const FormatSchema& schema, FormatArguments* arguments);

// The error of a format that needs fields and has none, with fields that fit the first file, if
// some do. Throws what is wrong with that file, which would be wrong with any fields, too.
Error WithFittingFields(const FormatSchema& schema, const FormatArguments& arguments,
                        const Error& error);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_INFERRED_FIELDS_H_
