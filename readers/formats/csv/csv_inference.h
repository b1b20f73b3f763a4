// SPDX-License-Identifier: Apache-2.0
// What a sample of a table tells of its columns, and of how it is written.
#ifndef MILLHOPPER_READERS_FORMATS_CSV_CSV_INFERENCE_H_
#define MILLHOPPER_READERS_FORMATS_CSV_CSV_INFERENCE_H_

#include <memory>
#include <string>

#include "framework/base/attribute.h"
#include "framework/reader/file_format.h"

namespace millhopper {

// The fields that fit the beginning, middle and end of a file, with the delimiter, the header and
// the encoding, unless the attributes give them. Throws kDataLoss for rows of the beginning that
// are wrong, and what reading throws.
FittingFields GuessTableFields(const std::string& path, const AttributeMap& attributes);
// The same, and whether there are quotes, for formats that have none by default.
FittingFields GuessTableFieldsAndQuotes(const std::string& path, const AttributeMap& attributes);
// Finds the types of these columns in all rows.
std::unique_ptr<FieldsOfRecords> TableFieldsOfAll(const FittingFields& sampled,
                                                  const AttributeMap& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_CSV_CSV_INFERENCE_H_
