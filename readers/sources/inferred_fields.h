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

// Whether the error, of InferFields or of making a format, is that the format needs fields which
// the first file does not tell because it has no record.
bool FoundNoRecord(const FormatSchema& schema, const FormatArguments& arguments,
                   const Error& error);

// What the format finds in the files, or in the first of them; where `infer` is "all" and no schema
// tells it, what fits all records of the files, which are read for this. Throws what reading
// throws.
FittingFields FieldsThatFit(const FormatSchema& schema, const FormatArguments& arguments);

// Sets the attribute `fields` to those of a file that are chosen (readers/fields/chosen_fields.h)
// by `fields` and `exclude`, with types; `exclude` to nothing, `infer` to its default; `others` to
// "error" if the format has it, it is not given and all fields are chosen; and those that go with
// the fields, such as a delimiter. Throws what ChooseFields throws.
void SetChosenFields(const FormatSchema& schema, const FittingFields& found,
                     AttributeMap* attributes);

// If the format infers fields and the arguments give none, or some by name alone, reads the schema
// or a sample of the first file and calls SetChosenFields. Does nothing where a record is bytes,
// and for files that can be read once only. Throws what SetChosenFields and reading throw.
void InferFields(const FormatSchema& schema, FormatArguments* arguments);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_INFERRED_FIELDS_H_
