// SPDX-License-Identifier: Apache-2.0
// Tables as text: CSV (RFC 4180), TSV and the like.
#ifndef MILLHOPPER_READERS_FORMATS_CSV_CSV_PARSER_H_
#define MILLHOPPER_READERS_FORMATS_CSV_CSV_PARSER_H_

#include <memory>

#include "framework/reader/file_format.h"
#include "readers/formats/csv/csv_syntax.h"

namespace millhopper {

// The attributes that formats of tables have in common, with the defaults of the format, and the
// guess of fields. Without quotes as a default it finds them, too.
void AddTableAttributes(const TableSyntax& defaults, FormatSchema* schema);

// The format with these settings. A field names a column by its header, by its number from 0 on
// ("#3"), or names several columns that are the values of one tensor ("#1-#13 float32[13]"). All
// files of a reader have the same columns.
std::unique_ptr<FileFormat> MakeTableFormat(const FormatArguments& arguments);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_CSV_CSV_PARSER_H_
