// SPDX-License-Identifier: Apache-2.0
// Tables as text: CSV (RFC 4180), TSV and the like.
#ifndef MILLHOPPER_READERS_FORMATS_CSV_CSV_PARSER_H_
#define MILLHOPPER_READERS_FORMATS_CSV_CSV_PARSER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/reader/file_format.h"
#include "readers/fields/fields.h"

namespace millhopper {

// How a table is written.
struct TableSyntax {
  // What to do about rows of another number of cells than the first one.
  enum class Ragged {
    kError,
    kFill,  // cells that they lack are empty
    kCut,   // that, and cells after those of the first row are left out
  };

  char delimiter = ',';  // as a default 0: a comma, or what is found where fields are inferred
  char quote = '"';      // 0: there are no quotes, and each line is a row
  char comment = 0;      // lines that begin so are left out; 0: none are
  char separator = ' ';  // between the values in a cell that has several
  char escape = 0;       // makes the character after it text; 0: none does
  char decimal = '.';    // of floats
  size_t skip_rows = 0;  // before the first one
  Ragged ragged_rows = Ragged::kError;
  std::string encoding;  // "": text in UTF-8, which is not checked
};

// The attributes that formats of tables have in common, with the defaults of the format, and the
// guess of fields. Without quotes as a default it finds them, too.
void AddTableAttributes(const TableSyntax& defaults, FormatSchema* schema);

// The format with these settings. A field names a column by its header, by its number from 0 on
// ("#3"), or names several columns that are the values of one tensor ("#1-#13 float32[13]"). All
// files of a reader have the same columns.
std::unique_ptr<FileFormat> MakeTableFormat(const FormatArguments& arguments);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_CSV_CSV_PARSER_H_
