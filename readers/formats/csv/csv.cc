// SPDX-License-Identifier: Apache-2.0
// The format `csv`: tables of comma-separated values (RFC 4180). Empty lines are no rows.
#include <memory>
#include <utility>

#include "readers/formats/csv/csv_parser.h"

namespace millhopper {
namespace {

FormatSchema Schema() {
  FormatSchema schema(
      "rows of cells with commas between them (RFC 4180); plain, gzip, zstd, lz4, bzip2, xz");
  TableSyntax syntax;
  syntax.delimiter = 0;
  AddTableAttributes(syntax, &schema);
  return std::move(schema.Extension(".csv"));
}

REGISTER_FILE_FORMAT(csv, Schema, MakeTableFormat);

}  // namespace
}  // namespace millhopper
