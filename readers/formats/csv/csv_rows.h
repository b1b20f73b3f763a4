// SPDX-License-Identifier: Apache-2.0
// The rows of a table, which are lines unless quotes and escapes make line ends text.
#ifndef MILLHOPPER_READERS_FORMATS_CSV_CSV_ROWS_H_
#define MILLHOPPER_READERS_FORMATS_CSV_CSV_ROWS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/chunks/line_source.h"
#include "readers/formats/csv/csv_cells.h"
#include "readers/formats/csv/csv_syntax.h"
#include "readers/support/line_ends.h"

namespace millhopper {

// Finds the rows of a text, one after another. RFC 4180: a quote opens a cell only as its first
// character; within, two quotes are one, and line ends are text.
class RowEnds {
 public:
  RowEnds(const char* begin, const char* limit, const TableSyntax& syntax)
      : limit_(limit), lines_(begin, limit, LoneCr::kEndsLine), syntax_(syntax) {}

  // The row that begins here; `next` is null if it continues beyond the limit. `ended`: no byte
  // follows the limit. Calls go forward.
  LineEnds::Line From(const char* begin, bool ended) {
    if (syntax_.escape != 0) return FromEscaped(begin, ended);
    const char* line_end = lines_.Find(begin);
    const bool is_comment = syntax_.comment != 0 && *begin == syntax_.comment;
    if (is_comment || syntax_.quote == 0 ||
        FindCharacter(begin, line_end, syntax_.quote) == line_end) {
      return lines_.From(begin, ended);
    }
    for (const char* cell = begin;;) {
      if (cell < limit_ && *cell == syntax_.quote) {
        do {
          cell = FindCharacter(cell + 1, limit_, syntax_.quote);
          if (cell == limit_) return {limit_, nullptr};  // the quotes are not closed
          ++cell;
        } while (cell < limit_ && *cell == syntax_.quote);
        if (cell == limit_ && !ended) return {limit_, nullptr};
        line_end = lines_.Find(cell);
      }
      const char* const delimiter = FindCharacter(cell, line_end, syntax_.delimiter);
      if (delimiter == line_end) return lines_.From(line_end, ended);
      cell = delimiter + 1;
    }
  }

 private:
  // Goes from one character to the next: any of them may be text because of the one before it.
  LineEnds::Line FromEscaped(const char* begin, bool ended) {
    if (syntax_.comment != 0 && *begin == syntax_.comment) return lines_.From(begin, ended);
    bool quoted = false, begins_cell = true;
    for (const char* here = begin; here < limit_;) {
      const char c = *here++;
      if (c == syntax_.escape) {
        if (here < limit_) ++here;
        begins_cell = false;
      } else if (syntax_.quote != 0 && c == syntax_.quote && (quoted || begins_cell)) {
        begins_cell = false;
        if (here == limit_ && !ended) return {limit_, nullptr};
        const bool is_doubled = quoted && here < limit_ && *here == syntax_.quote;
        if (is_doubled) ++here;
        quoted = !quoted || is_doubled;
      } else if (!quoted && (c == '\n' || c == '\r')) {
        return lines_.From(here - 1, ended);
      } else {
        begins_cell = !quoted && c == syntax_.delimiter;
      }
    }
    return {limit_, ended && !quoted ? limit_ : nullptr};
  }

  const char* const limit_;
  LineEnds lines_;
  const TableSyntax& syntax_;
};

// Whether a row is one of the table: it is neither empty nor a comment.
inline bool IsRecord(std::string_view row, const TableSyntax& syntax) {
  return !row.empty() && (syntax.comment == 0 || row.front() != syntax.comment);
}

// The text of a table, in UTF-8. Throws what ByteStream throws.
std::unique_ptr<ByteStream> OpenTableText(const std::string& path, BufferType buffer_type,
                                          const TableSyntax& syntax);
// Throws kDataLoss unless a row is UTF-8.
void CheckUtf8(std::string_view row);

// What to write where delimiters have cut a row within quotes that the syntax takes for text, by
// the cells of the row; "" if they have not.
std::string QuoteAdvice(const std::vector<std::string>& cells, const TableSyntax& syntax);
// Whether a row, by its cells, has a closing quote that none in it has opened.
bool EndsWithinQuotes(const std::vector<std::string>& cells, const TableSyntax& syntax);

// A source of rows that may contain line ends, so that only reading from the beginning of the file
// tells where one begins.
std::unique_ptr<IndexableSource> MakeQuotedRowSource(std::unique_ptr<ByteStream> stream,
                                                     const TableSyntax& syntax, LineFilter filter);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_CSV_CSV_ROWS_H_
