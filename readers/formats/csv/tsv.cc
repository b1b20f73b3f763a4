// SPDX-License-Identifier: Apache-2.0
// The format `tsv`: tables with tabs between their cells and, unless it is asked for, no quotes
// (www.iana.org/assignments/media-types/text/tab-separated-values), so that each line is a row.
#include <memory>
#include <utility>

#include "readers/formats/csv/csv_parser.h"

namespace millhopper {
namespace {

FormatSchema Schema() {
  TableSyntax syntax;
  syntax.delimiter = '\t';
  syntax.quote = 0;
  FormatSchema schema("rows of cells with tabs between them; plain, gzip, zstd, lz4, bzip2, xz");
  AddTableAttributes(syntax, &schema);
  return std::move(schema.Extension(".tsv"));
}

REGISTER_FILE_FORMAT(tsv, Schema, MakeTableFormat);

}  // namespace
}  // namespace millhopper
