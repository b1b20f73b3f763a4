// SPDX-License-Identifier: Apache-2.0
// The cells of a row of a table.
#ifndef MILLHOPPER_READERS_FORMATS_CSV_CSV_CELLS_H_
#define MILLHOPPER_READERS_FORMATS_CSV_CSV_CELLS_H_

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "readers/fields/fields.h"
#include "readers/formats/csv/csv_syntax.h"

namespace millhopper {

// Where a character first is, or `end`.
inline const char* FindCharacter(const char* begin, const char* end, char wanted) {
  const void* found = std::memchr(begin, wanted, static_cast<size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

// Goes through the cells of a row. The syntax must outlive it. Next throws kDataLoss for quotes
// that are wrong. One thread.
class Cells {
 public:
  Cells(std::string_view row, const TableSyntax& syntax)
      : here_(row.data()), end_(row.data() + row.size()), syntax_(syntax) {}

  // Sets *cell to the next cell; its bytes are valid until the next call. False at the end of the
  // row.
  bool Next(std::string_view* cell) {
    if (done_) return false;
    if (syntax_.escape != 0) {
      *cell = Unescaped();
    } else if (here_ < end_ && syntax_.quote != 0 && *here_ == syntax_.quote) {
      *cell = Unquoted();
    } else {
      const char* const stop = FindCharacter(here_, end_, syntax_.delimiter);
      *cell = std::string_view(here_, static_cast<size_t>(stop - here_));
      here_ = stop;
    }
    Pass();
    return true;
  }

  // Reads up to n cells that are values of the field as they stand. Returns how many.
  size_t Read(const Field& field, size_t n, char* place) {
    if (done_) return 0;
    const size_t read = field.ReadCells(&here_, end_, syntax_.delimiter, n, place);
    done_ = here_ == nullptr;
    return read;
  }

 private:
  void Pass() {
    if (here_ == end_) {
      done_ = true;
    } else {
      ++here_;
    }
  }

  std::string_view Unquoted() {
    const char* begin = here_ + 1;
    const char* stop = FindCharacter(begin, end_, syntax_.quote);
    if (stop + 1 >= end_ || stop[1] == syntax_.delimiter) {  // most have no quote within
      if (stop == end_) Throw(ErrorCode::kDataLoss, "a quote is not closed");
      here_ = stop + 1;
      return {begin, static_cast<size_t>(stop - begin)};
    }
    text_.clear();
    for (;;) {
      text_.append(begin, stop);
      if (stop + 1 >= end_ || stop[1] != syntax_.quote) break;
      text_.push_back(syntax_.quote);
      begin = stop + 2;
      stop = FindCharacter(begin, end_, syntax_.quote);
      if (stop == end_) Throw(ErrorCode::kDataLoss, "a quote is not closed");
    }
    here_ = stop + 1;
    CheckClosed();
    return text_;
  }

  // After a closing quote.
  void CheckClosed() const {
    if (here_ == end_ || *here_ == syntax_.delimiter) return;
    const bool is_escaped = syntax_.escape == 0 && here_[-2] == '\\';
    Throw(ErrorCode::kDataLoss, "text follows the closing quote of a cell",
          is_escaped ? R"(; escape: "\\" reads \" as a quote)"
                     : R"(; quote: "" reads quotes as any other character)");
  }

  std::string_view Unescaped() {
    text_.clear();
    const bool quoted = syntax_.quote != 0 && here_ < end_ && *here_ == syntax_.quote;
    if (quoted) ++here_;
    for (; here_ < end_; ++here_) {
      const char c = *here_;
      if (c == syntax_.escape && here_ + 1 < end_) {
        text_.push_back(*++here_);
      } else if (quoted && c == syntax_.quote) {
        ++here_;
        if (here_ == end_ || *here_ != syntax_.quote) {
          CheckClosed();
          return text_;
        }
        text_.push_back(c);
      } else if (!quoted && c == syntax_.delimiter) {
        return text_;
      } else {
        text_.push_back(c);
      }
    }
    if (quoted) Throw(ErrorCode::kDataLoss, "a quote is not closed");
    return text_;
  }

  const char* here_;
  const char* const end_;
  const TableSyntax& syntax_;
  bool done_ = false;
  std::string text_;
};

// All of them. Throws what Cells::Next throws.
inline std::vector<std::string> CellsOf(std::string_view row, const TableSyntax& syntax) {
  std::vector<std::string> cells;
  Cells reader(row, syntax);
  for (std::string_view cell; reader.Next(&cell);) cells.emplace_back(cell);
  return cells;
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_CSV_CSV_CELLS_H_
