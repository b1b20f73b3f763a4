// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/csv/csv_rows.h"

#include <cstdint>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/chunks/stream_source.h"
#include "readers/fields/fields.h"
#include "readers/support/text_file.h"
#include "readers/support/utf8.h"

namespace millhopper {
namespace {

constexpr char kSpacesBeforeQuote[] =
    "; a quote is one as the first character of its cell only, and here spaces stand before it: "
    "write the file without them, such as from what csv.reader(file, skipinitialspace=True) of "
    "Python reads";

class QuotedRows final : public StreamSource {
 public:
  QuotedRows(std::unique_ptr<ByteStream> stream, const TableSyntax& syntax, LineFilter filter)
      : StreamSource(std::move(stream)), syntax_(syntax), filter_(std::move(filter)) {}

  void Fetch(Chunk* chunk) const override {
    const char* const begin = chunk->bytes->data() + chunk->lead();
    const char* const limit = begin + chunk->length;
    RowEnds ends(begin, limit, syntax_);
    for (const char* next = FirstRow(begin, limit, chunk->offset); next < limit;) {
      const LineEnds::Line end = ends.From(next, true);
      const uint64_t offset = chunk->offset + static_cast<uint64_t>(next - begin);
      if (end.next == nullptr) {  // an index may say so of any place
        throw Error(ErrorCode::kDataLoss,
                    StrCat("the row at ", stream().Describe(offset), " (", PlaceOf(offset),
                           ") has a quote that is not closed where the chunk ends"))
            .InFile(stream().path(), static_cast<int64_t>(offset));
      }
      std::string_view row(next, static_cast<size_t>(end.end - next));
      CheckSize(row.size(), offset);
      if (filter_(&row, offset)) {
        chunk->pieces.push_back({static_cast<uint32_t>(row.data() - chunk->bytes->data()),
                                 static_cast<uint32_t>(row.size())});
      }
      next = end.next;
    }
  }

 private:
  size_t WholeRecords(const Block& block) const override {
    const char* const limit = block.bytes + block.size;
    const bool each_line_is_a_row =
        (syntax_.quote == 0 || FindCharacter(block.bytes, limit, syntax_.quote) == limit) &&
        (syntax_.escape == 0 || FindCharacter(block.bytes, limit, syntax_.escape) == limit);
    if (each_line_is_a_row) {
      if (block.ended) return block.size;
      const size_t whole = EndOfWholeLines(block.bytes, block.size, 0, LoneCr::kEndsLine);
      if (whole > 0) return whole;
    } else {
      const char* row = FirstRow(block.bytes, limit, block.offset);
      RowEnds ends(row, limit, syntax_);
      while (row < limit) {
        const LineEnds::Line end = ends.From(row, block.ended);
        if (end.next == nullptr) break;
        row = end.next;
      }
      if (row > block.bytes) return static_cast<size_t>(row - block.bytes);
    }
    CheckSize(block.size, block.offset);
    if (block.ended) {
      throw Error(
          ErrorCode::kDataLoss,
          StrCat("the row at ", stream().Describe(block.offset), " (", PlaceOf(block.offset),
                 ") has a quote that is not closed before the file ends; quote: \"\" reads "
                 "quotes as any other character"))
          .InFile(stream().path(), static_cast<int64_t>(block.offset));
    }
    return 0;
  }

  // A quote after the mark of UTF-8 begins a cell.
  static const char* FirstRow(const char* bytes, const char* limit, uint64_t offset) {
    return offset > 0 ? bytes : bytes + Utf8MarkBytes({bytes, static_cast<size_t>(limit - bytes)});
  }

  void CheckSize(size_t size, uint64_t offset) const {
    if (size <= kMaxLineBytes + 2) return;
    throw Error(ErrorCode::kResourceLimit,
                StrCat("the row at ", stream().Describe(offset), " (", PlaceOf(offset),
                       ") is longer than ", kMaxLineBytes, " bytes; is a quote not closed?"))
        .InFile(stream().path(), static_cast<int64_t>(offset));
  }

  std::string PlaceOf(uint64_t offset) const {
    return LineName(stream().path(), offset, LoneCr::kEndsLine, &syntax_.encoding);
  }

  const TableSyntax syntax_;
  const LineFilter filter_;
};

}  // namespace

std::unique_ptr<ByteStream> OpenTableText(const std::string& path, BufferType buffer_type,
                                          const TableSyntax& syntax) {
  auto stream = std::make_unique<ByteStream>(path, buffer_type);
  stream->DecodeText(syntax.encoding);
  return stream;
}

void CheckUtf8(std::string_view row) {
  const size_t at = FirstNoUtf8(row);
  if (at == row.size()) return;
  Throw(ErrorCode::kDataLoss, "byte ", at, " of the row is none of a text in UTF-8; encoding: ",
        "\"latin-1\", \"windows-1252\", \"shift_jis\" or another name of iconv says what it is in, "
        "and "
        "with fields and no encoding the bytes are taken as they are");
}

std::string QuoteAdvice(const std::vector<std::string>& cells, const TableSyntax& syntax) {
  for (const char quote : {'"', '\''}) {
    bool is_open = false, after_spaces = false;
    for (const std::string& cell : cells) {
      const std::string_view text = WithoutSpaces(cell);
      const bool begins = !text.empty() && text.front() == quote;
      const bool ends = !text.empty() && text.back() == quote;
      if (is_open && ends && (!begins || text.size() == 1)) {
        return StrCat(quote == syntax.quote ? ""
                      : quote == '"' ? R"(; quote: "\"" makes one cell of what is in such quotes)"
                                     : R"(; quote: "'" makes one cell of what is in such quotes)",
                      after_spaces ? kSpacesBeforeQuote : "");
      }
      if (is_open || !begins || (ends && text.size() > 1)) continue;
      after_spaces = cell.front() != quote;
      is_open = after_spaces || quote != syntax.quote;
    }
    if (is_open && after_spaces && quote == syntax.quote) return kSpacesBeforeQuote;
  }
  return "";
}

bool EndsWithinQuotes(const std::vector<std::string>& cells, const TableSyntax& syntax) {
  if (syntax.quote == 0) return false;
  for (const std::string& cell : cells) {
    const std::string_view text = WithoutSpaces(cell);
    if (text.empty()) continue;
    if (text.front() == syntax.quote && text.size() > 1) return false;
    if (text.back() == syntax.quote) return true;
  }
  return false;
}

std::unique_ptr<IndexableSource> MakeQuotedRowSource(std::unique_ptr<ByteStream> stream,
                                                     const TableSyntax& syntax, LineFilter filter) {
  return std::make_unique<QuotedRows>(std::move(stream), syntax, std::move(filter));
}

}  // namespace millhopper
