// SPDX-License-Identifier: Apache-2.0
// What values that are texts look like, for the fields that peek and errors propose.
#ifndef MILLHOPPER_READERS_FIELDS_GUESSED_TYPE_H_
#define MILLHOPPER_READERS_FIELDS_GUESSED_TYPE_H_

#include <string>
#include <vector>

#include "readers/fields/fields.h"

namespace millhopper {

// The type of a field, and its options, that all cells of a column fit: "int64[-1] missing=default"
// if some are empty, "float32[] null=NA default=nan", "int64[] decode=timestamp unit=ms",
// "int64[-1]", "bytes[-1] separator=|", and "bytes" if nothing else does.
std::string GuessedCellType(const std::vector<std::string>& cells);

// Whether a float32 keeps a number as people write it: the fewest digits that tell it from other
// floats are the number itself. NaN and infinite ones are kept, too.
bool FitsFloat32(double number);

// A type that is guessed, with its options, for a field that has no value in some records. It
// yields what cannot be mistaken for a value, so that no training uses a label that is none: NaN,
// an empty sequence or text, of a timestamp numpy's NaT. "int64[]" becomes "int64[-1]
// missing=default".
std::string OrMissing(const std::string& type);

// "int64[] decode=timestamp" with the coarsest unit that all texts fit; empty if there is none.
std::string GuessedTimestampType(const std::vector<std::string>& texts);

// A hint for an error about a text that is no value of a field: the option that accepts it, ";
// null=NA after the field says that it is no value", or "".
std::string OptionForText(const Field& field, const std::string& text);

// Whether it is bytes or a list of bytes.
bool IsTextType(const std::string& type);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_GUESSED_TYPE_H_
