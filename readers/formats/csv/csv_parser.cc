// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/csv/csv_parser.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/compression/text_decoder.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/learned_files.h"
#include "readers/chunks/line_source.h"
#include "readers/chunks/stream_source.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/guessed_type.h"
#include "readers/index/indexable_format.h"
#include "readers/support/line_ends.h"
#include "readers/support/text_file.h"
#include "readers/support/utf8.h"

namespace millhopper {
namespace {

const char* Find(const char* begin, const char* end, char wanted) {
  const void* found = std::memchr(begin, wanted, static_cast<size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

// --- Rows ---

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
    if (is_comment || syntax_.quote == 0 || Find(begin, line_end, syntax_.quote) == line_end) {
      return lines_.From(begin, ended);
    }
    for (const char* cell = begin;;) {
      if (cell < limit_ && *cell == syntax_.quote) {
        do {
          cell = Find(cell + 1, limit_, syntax_.quote);
          if (cell == limit_) return {limit_, nullptr};  // the quotes are not closed
          ++cell;
        } while (cell < limit_ && *cell == syntax_.quote);
        if (cell == limit_ && !ended) return {limit_, nullptr};
        line_end = lines_.Find(cell);
      }
      const char* const delimiter = Find(cell, line_end, syntax_.delimiter);
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

bool IsRecord(std::string_view row, const TableSyntax& syntax) {
  return !row.empty() && (syntax.comment == 0 || row.front() != syntax.comment);
}

// Rows that may contain line ends, so that only reading from the beginning of the file tells where
// one begins.
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
        (syntax_.quote == 0 || Find(block.bytes, limit, syntax_.quote) == limit) &&
        (syntax_.escape == 0 || Find(block.bytes, limit, syntax_.escape) == limit);
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
                 ") has a quote that is not closed before the file ends"))
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

// --- Cells ---

// Goes through the cells of a row.
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
      const char* const stop = Find(here_, end_, syntax_.delimiter);
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
    const char* stop = Find(begin, end_, syntax_.quote);
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
      stop = Find(begin, end_, syntax_.quote);
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
          is_escaped ? R"(; escape: "\\" reads \" as a quote)" : "");
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

std::vector<std::string> CellsOf(std::string_view row, const TableSyntax& syntax) {
  std::vector<std::string> cells;
  Cells reader(row, syntax);
  for (std::string_view cell; reader.Next(&cell);) cells.emplace_back(cell);
  return cells;
}

// --- Columns ---

// A field's columns, as numbers from 0 on.
struct Columns {
  size_t first = 0;
  size_t count = 1;
};

// "#3" or "#1-#13"; nothing for a name.
std::optional<Columns> NumberedColumns(const std::string& name) {
  if (name.empty() || name[0] != '#') return std::nullopt;
  size_t numbers[2] = {0, 0};
  size_t at = 0;
  for (size_t i = 0; i < 2; ++i) {
    if (at >= name.size() || name[at] != '#') return std::nullopt;
    const size_t begin = ++at;
    for (; at < name.size() && name[at] >= '0' && name[at] <= '9' && at < begin + 6; ++at) {
      numbers[i] = 10 * numbers[i] + static_cast<size_t>(name[at] - '0');
    }
    if (at == begin) return std::nullopt;
    if (i == 0 && at == name.size()) return Columns{numbers[0], 1};
    if (i == 0 && name[at++] != '-') return std::nullopt;
  }
  if (at != name.size()) return std::nullopt;
  Require(numbers[1] >= numbers[0], "the columns ", Escaped(name), " run backwards");
  return Columns{numbers[0], numbers[1] - numbers[0] + 1};
}

constexpr char kDelimiter[] = "delimiter";
constexpr char kEncoding[] = "encoding";
constexpr char kUtf8[] = "utf-8";

char OneCharacter(const AttributeMap& attributes, const char* name, bool may_be_empty) {
  const auto& text = attributes.Get<std::string>(name);
  if (text == "\\t") return '\t';
  if (text.empty() && may_be_empty) return 0;
  Require(text.size() == 1 && text[0] != '\n' && text[0] != '\r', name,
          " is one character other than a line end, ", may_be_empty ? "or empty, " : "", "not '",
          Escaped(text), "'",
          text.size() == 2 && text[0] == text[1]
              ? "; one of the two leaves every second column empty: #0, #2, #4 ..."
              : "");
  return text[0];
}

TableSyntax SyntaxOf(const AttributeMap& attributes) {
  TableSyntax syntax;
  syntax.delimiter = OneCharacter(attributes, kDelimiter, true);
  if (syntax.delimiter == 0) syntax.delimiter = ',';
  syntax.quote = OneCharacter(attributes, "quote", true);
  syntax.comment = OneCharacter(attributes, "comment", true);
  syntax.separator = OneCharacter(attributes, "separator", false);
  const char delimiter = syntax.delimiter;
  Require(std::strchr("+-.\"", delimiter) == nullptr &&
              std::isalnum(static_cast<unsigned char>(delimiter)) == 0 &&
              delimiter != syntax.quote && delimiter != syntax.comment,
          "the delimiter '", Escaped(std::string(1, delimiter)),
          "' could be a part of a number, a quote or a comment");
  syntax.escape = OneCharacter(attributes, "escape", true);
  Require(syntax.escape == 0 || (syntax.escape != delimiter && syntax.escape != syntax.quote),
          "escape is the delimiter or the quote; quotes in quotes are doubled without it");
  syntax.decimal = attributes.Get<std::string>("decimal")[0];
  Require(syntax.decimal != delimiter, "decimal and delimiter are both '",
          std::string(1, delimiter), "'");
  syntax.skip_rows = static_cast<size_t>(attributes.Get<int32_t>("skip_rows"));
  const auto& ragged = attributes.Get<std::string>("ragged_rows");
  syntax.ragged_rows = ragged == "fill"  ? TableSyntax::Ragged::kFill
                       : ragged == "cut" ? TableSyntax::Ragged::kCut
                                         : TableSyntax::Ragged::kError;
  syntax.encoding = attributes.Get<std::string>(kEncoding);
  return syntax;
}

// The text of a table, in UTF-8.
std::unique_ptr<ByteStream> OpenText(const std::string& path, BufferType buffer_type,
                                     const TableSyntax& syntax) {
  auto stream = std::make_unique<ByteStream>(path, buffer_type);
  stream->DecodeText(syntax.encoding);
  return stream;
}

// Throws unless a row is UTF-8.
void CheckUtf8(std::string_view row) {
  const size_t at = FirstNoUtf8(row);
  if (at == row.size()) return;
  Throw(ErrorCode::kDataLoss, "byte ", at, " of the row is none of a text in UTF-8; encoding: ",
        "\"latin-1\", \"windows-1252\", \"shift_jis\" or another name of iconv says what it is in, "
        "and "
        "with fields and no encoding the bytes are taken as they are");
}

// What the beginning of a file tells.
struct Head {
  std::vector<std::string> first_row;
  uint64_t first_begin = 0;  // the bytes of the first row
  uint64_t first_end = 0;    // with its line end
};

// Reads the first row after those that are skipped, whatever it is.
Head ReadHead(const std::string& path, const TableSyntax& syntax) {
  const std::unique_ptr<ByteStream> opened = OpenText(path, BufferType::kMemory, syntax);
  ByteStream& stream = *opened;
  std::string text;
  bool ended = false;
  Head head;
  for (;;) {
    const size_t had = text.size();
    text.resize(std::max(size_t{8} << 10, 2 * had));
    text.resize(had + stream.Read(text.data() + had, text.size() - had));
    ended = text.size() < std::max(size_t{8} << 10, 2 * had);
    const char* const limit = text.data() + text.size();
    const char* row = text.data() + Utf8MarkBytes(text);
    RowEnds ends(row, limit, syntax);
    for (size_t number = 0; row < limit; ++number) {
      LineEnds::Line end = ends.From(row, false);
      if (end.next == nullptr && ended) {
        char next;
        stream.Read(&next, 1);  // throws if the text ends where an error is
        end = RowEnds(row, limit, syntax).From(row, true);
      }
      if (end.next == nullptr) break;
      const bool is_record = IsRecord({row, static_cast<size_t>(end.end - row)}, syntax);
      if (number >= syntax.skip_rows && is_record) {
        try {
          head.first_row = CellsOf({row, static_cast<size_t>(end.end - row)}, syntax);
        } catch (const Error& error) {
          throw error.InFile(path, row - text.data());
        }
        head.first_begin = static_cast<uint64_t>(row - text.data());
        head.first_end = static_cast<uint64_t>(end.next - text.data());
        return head;
      }
      row = end.next;
    }
    if (ended || text.size() > kMaxLineBytes) {
      head.first_begin = head.first_end = static_cast<uint64_t>(row - text.data());
      return head;  // the source tells what is wrong
    }
  }
}

// A number with a decimal comma as one with a point.
std::string WithPoint(std::string_view text) {
  if (text.find('.') != std::string_view::npos) {
    Throw(ErrorCode::kDataLoss, "'", Shown(text), "' has a point, and decimal is ','");
  }
  std::string number(text);
  std::replace(number.begin(), number.end(), ',', '.');
  return number;
}

class TableFormat final : public SearchedFormat {
 public:
  explicit TableFormat(const FormatArguments& arguments)
      : TableFormat(arguments, RequiredFields(arguments.attributes)) {}

  std::string PlaceName(const FileEntry& file, uint64_t offset) const override {
    return LineName(file.path, offset, LoneCr::kEndsLine, &syntax_.encoding);
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    FieldRows field_rows(fields_, n, rows);
    for (const Ticket& ticket : Prefetched(tickets, n)) {
      if (checks_utf8_) CheckUtf8({ticket.bytes, ticket.size});
      LoadRow({ticket.bytes, ticket.size}, layouts_.Of(ticket), &field_rows);
    }
  }

 private:
  static constexpr char kEmptyCell[] = "the cell is empty";

  // Columns, one after the other, that are read for a slot.
  struct Target {
    size_t column;  // the first
    size_t count;
    size_t slot;
    bool one_value;  // each cell is one number or word
    bool at_once;    // numbers that no other slot reads
    size_t end() const { return column + count; }
    bool operator==(const Target& other) const {
      return column == other.column && count == other.count && slot == other.slot &&
             one_value == other.one_value && at_once == other.at_once;
    }
  };

  // The columns of a file.
  struct Layout {
    std::vector<std::string> header;  // the first row
    std::vector<Target> targets;      // by column
    std::vector<size_t> missing;      // the slots whose columns it does not have
    bool operator==(const Layout& other) const {
      return header == other.header && targets == other.targets && missing == other.missing;
    }
  };

  TableFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : SearchedFormat(arguments, AgreeOnSlots(arguments.declared, SlotsOf(fields))),
        fields_(std::move(fields)),
        syntax_(SyntaxOf(arguments.attributes)),
        checks_utf8_(IsUtf8Name(syntax_.encoding)),
        skips_(AnySkips(fields_)),
        layouts_(arguments.files) {
    Require(syntax_.quote == 0 || arguments.buffer_type == BufferType::kMemory,
            "buffer_type \"mmap\" needs quote: \"\": a file with quotes is read as a stream");
    bool named = false;
    for (const Field& field : fields_) {
      const std::optional<Columns> columns = NumberedColumns(field.name);
      named = named || !columns.has_value();
      names_only_ = names_only_ && !columns;
      Require(
          !columns || columns->count == 1 || (columns->count == field.values && !field.sequence),
          "field '", field.name, "': ", columns ? columns->count : 0,
          " columns do not give the values of ", ToString(field.slot));
      Require(field.decode == Field::Decode::kNone || field.decode == Field::Decode::kTimestamp,
              "field '", Escaped(field.name),
              "': of decode=, cells take decode=timestamp alone; they are text already");
    }
    const auto& header = arguments.attributes.Get<std::string>("header");
    Require(!named || header != "no",
            "a field is named by its header, but header is \"no\"; without a header the first "
            "column is #0");
    has_header_ = named || header == "yes";
  }

  std::unique_ptr<IndexableSource> OpenWithoutIndex(const FileEntry& file) override {
    std::unique_ptr<ByteStream> stream = OpenText(file.path, file.buffer_type, syntax_);
    const Head head = ReadHead(file.path, syntax_);
    const uint64_t begin = has_header_ ? head.first_end : head.first_begin;
    LineFilter filter = [this, begin, layout = Learn(file.path, head)](std::string_view* row,
                                                                       uint64_t offset) {
      if (offset + row->size() <= begin) return false;
      if (offset == 0) row->remove_prefix(Utf8MarkBytes(*row));
      return IsRecord(*row, syntax_) && (!skips_ || !IsLeftOut(*row, layout));
    };
    if (syntax_.quote == 0 && syntax_.escape == 0) {
      return MakeLineSource(std::move(stream), LoneCr::kEndsLine, std::move(filter));
    }
    return std::make_unique<QuotedRows>(std::move(stream), syntax_, std::move(filter));
  }

  // Characters as numbers. Where there are no quotes, it does not matter what lies between cells.
  std::string Rules() const override {
    const int delimiter = syntax_.quote == 0 ? 0 : syntax_.delimiter;
    return StrCat("table, delimiter ", delimiter, ", quote ", int{syntax_.quote}, ", comment ",
                  int{syntax_.comment}, has_header_ ? ", header" : ", no header",
                  syntax_.escape == 0 ? "" : StrCat(", escape ", int{syntax_.escape}),
                  syntax_.skip_rows == 0 ? "" : StrCat(", after ", syntax_.skip_rows));
  }

  bool leaves_out_records() const override { return skips_; }

  // Learns the columns of a file. They are those of the files before it, but a file may lack what
  // fields say to be missing. Those of a file without rows are none.
  Layout Learn(const std::string& path, const Head& head) {
    const auto fail = [&](const std::string& problem) {
      throw Error(ErrorCode::kDataLoss, problem)
          .InFile(path, static_cast<int64_t>(head.first_begin));
    };
    if (head.first_row.empty()) {
      if (has_header_) fail("the file has no header: there is no row in it");
      return Layout();
    }
    const Layout* const first = layouts_.first();
    if (first == nullptr) return layouts_.Add(path, LayoutOf(head, fail));
    if (!has_header_) return layouts_.Add(path, *first);
    if (CommonColumns(head.first_row) != CommonColumns(first->header)) {
      fail("its header differs from that of the files before it");
    }
    return layouts_.Add(path, LayoutOf(head, fail));
  }

  // A header without the columns that a file may lack.
  std::vector<std::string> CommonColumns(std::vector<std::string> header) const {
    const auto may_lack = [this](const std::string& name) {
      return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) {
        return field.name == name && field.missing != Field::Missing::kError;
      });
    };
    if (!names_only_) return header;  // numbers would name other columns
    header.erase(std::remove_if(header.begin(), header.end(), may_lack), header.end());
    return header;
  }

  template <typename Fail>
  Layout LayoutOf(const Head& head, const Fail& fail) const {
    Layout layout;
    std::vector<Target> targets;
    for (size_t slot = 0; slot < fields_.size(); ++slot) {
      const Field& field = fields_[slot];
      std::optional<Columns> columns = NumberedColumns(field.name);
      if (!columns || has_header_) {
        const auto begin = head.first_row.begin(), end = head.first_row.end();
        const auto found = std::find(begin, end, field.name);
        if (found != end) {
          if (std::find(found + 1, end, field.name) != end) {
            fail(StrCat("two columns are named '", Escaped(field.name), "'; #", found - begin,
                        " names the first of them"));
          }
          columns = Columns{static_cast<size_t>(found - begin), 1};
        }
      }
      if (!columns) {
        if (field.missing == Field::Missing::kError) fail(NoColumn(field, head));
        layout.missing.push_back(slot);
        continue;
      }
      if (columns->first + columns->count > head.first_row.size()) {
        fail(StrCat("there is no column ", Escaped(field.name), ": the first row has ",
                    head.first_row.size(), " columns, the first of which is #0"));
      }
      const bool one_value = !field.sequence && (columns->count > 1 || field.values == 1);
      for (size_t i = 0; i < columns->count; ++i) {
        targets.push_back({columns->first + i, 1, slot, one_value,
                           one_value && field.can_read_cells() && !HasDecimalComma(field)});
      }
    }
    // Without any name of a field, a row of numbers is rather no header.
    if (layouts_.first() == nullptr && targets.empty() && HasNumber(head.first_row)) {
      fail(NoColumn(fields_[layout.missing[0]], head));
    }
    std::stable_sort(targets.begin(), targets.end(), [](const Target& left, const Target& right) {
      return left.column < right.column;
    });
    for (const Target& target : targets) {
      Target* const last = layout.targets.empty() ? nullptr : &layout.targets.back();
      const bool shared = last != nullptr && target.column < last->end();
      if (last != nullptr && last->slot == target.slot && !shared) {
        ++last->count;  // the columns of one slot that follow each other are read together
        continue;
      }
      if (shared) last->at_once = false;
      layout.targets.push_back(target);
      if (shared) layout.targets.back().at_once = false;
    }
    layout.header = head.first_row;
    return layout;
  }

  static std::string NoColumn(const Field& field, const Head& head) {
    std::string names;
    for (const std::string& name : head.first_row) {
      if (names.size() < 200) names += StrCat(names.empty() ? "" : ", ", Escaped(name));
    }
    return StrCat("no column is named '", Escaped(field.name), "'; the header has ", names,
                  "; the columns of a file without a header are #0, #1 ...");
  }

  static bool HasNumber(const std::vector<std::string>& row) {
    return std::any_of(row.begin(), row.end(), [](const std::string& cell) {
      return !IsTextType(GuessedCellType({cell}));
    });
  }

  std::string ColumnName(const Layout& layout, size_t column) const {
    if (!has_header_) return StrCat("column #", column);
    return StrCat("column #", column, " '", Escaped(layout.header[column]), "'");
  }

  void LoadRow(std::string_view row, const Layout& layout, FieldRows* rows) const {
    for (const size_t slot : layout.missing) rows->AppendDefault(slot);
    Cells cells(row, syntax_);
    size_t column = 0;
    std::string_view cell;
    for (const Target& target : layout.targets) {
      size_t next = target.column;  // the one to read
      try {
        for (; column < next; ++column) {
          if (!cells.Next(&cell)) FillCell(layout, column, &cell);
        }
        while (next < target.end()) {
          if (target.at_once) {
            const size_t read =
                cells.Read(fields_[target.slot], target.end() - next, rows->NextPlace(target.slot));
            rows->Pass(target.slot, read);
            column = next += read;
            if (next == target.end()) break;
          }
          // The cell has been read already if a slot before this one reads it, too.
          if (column == next && !cells.Next(&cell)) FillCell(layout, column, &cell);
          column = next + 1;
          LoadCell(target, cell, rows);
          ++next;
        }
      } catch (const Error& error) {
        if (error.interrupts()) throw;
        throw error.WithMessage(StrCat(ColumnName(layout, next), ": ", error.message()));
      }
    }
    while (cells.Next(&cell)) ++column;
    if (column == layout.header.size()) return;
    const bool is_longer = column > layout.header.size();
    if (syntax_.ragged_rows == TableSyntax::Ragged::kError ||
        (is_longer && syntax_.ragged_rows == TableSyntax::Ragged::kFill)) {
      FailColumns(layout, column);
    }
  }

  // The cell that a row lacks in a column.
  void FillCell(const Layout& layout, size_t column, std::string_view* cell) const {
    if (syntax_.ragged_rows == TableSyntax::Ragged::kError) FailColumns(layout, column);
    *cell = std::string_view();
  }

  bool HasDecimalComma(const Field& field) const {
    return syntax_.decimal == ',' && IsFloat(field.slot.dtype) && !field.bytes;
  }

  [[noreturn]] void FailColumns(const Layout& layout, size_t found) const {
    const size_t count = layout.header.size();
    Throw(ErrorCode::kDataLoss, "the row has ", found, found == 1 ? " column, " : " columns, ",
          has_header_ ? "the header has " : "the first row has ", count,
          count == 1 ? "; perhaps the attribute delimiter should be ';' or another one" : "",
          found > count ? "; skip_rows leaves out rows before the table, and ragged_rows \"cut\" "
                          "the cells after those of the first row"
                        : "; with ragged_rows \"fill\" the cells that it lacks are empty");
  }

  void LoadCell(const Target& target, std::string_view cell, FieldRows* rows) const {
    const Field& field = fields_[target.slot];
    if (!target.one_value && field.IsNull(cell)) {
      if (field.missing != Field::Missing::kDefault) field.ThrowNull(cell);
      return rows->AppendDefault(target.slot);
    }
    if (field.bytes_list) {
      std::vector<std::string_view> values;
      ForEachValue(cell, field,
                   [&](std::string_view value) { values.push_back(field.BytesOf(value)); });
      return rows->AppendBytes(target.slot, values);
    }
    if (field.mask && cell.empty() && !target.one_value) return rows->AppendDefault(target.slot);
    if (field.bytes) return rows->AppendBytes(target.slot, cell);
    if (target.one_value) {
      char* const place = rows->NextPlace(target.slot);
      if (field.missing == Field::Missing::kDefault && (cell.empty() || field.IsNull(cell))) {
        if (char* const mask = rows->NextMask(target.slot)) *mask = 0;
        field.WriteDefault(1, place);
      } else if (cell.empty()) {
        field.ThrowMissing(kEmptyCell);
      } else {
        ReadCell(field, cell, place);
      }
      return rows->Pass(target.slot, 1);
    }
    size_t count = 0;
    ForEachValue(cell, field, [&](std::string_view) { ++count; });
    if (count == 0 && (!field.sequence || field.has_default)) {
      return rows->AppendDefault(target.slot, kEmptyCell);
    }
    char* place = rows->Take(target.slot, count);
    ForEachValue(cell, field, [&](std::string_view value) {
      ReadCell(field, value, place);
      place += field.value_bytes();
    });
  }

  void ReadCell(const Field& field, std::string_view text, char* place) const {
    try {
      if (HasDecimalComma(field) && !field.IsNull(text)) {
        field.ReadAll(WithPoint(text), place);
      } else {
        field.ReadAll(text, place);
      }
    } catch (const Error& error) {
      if (error.interrupts() || field.IsNull(text)) throw;
      throw error.WithMessage(StrCat(error.message(), OptionForText(field, std::string(text))));
    }
  }

  // Calls value(text) for each value of a cell that has several.
  template <typename Value>
  void ForEachValue(std::string_view cell, const Field& field, const Value& value) const {
    const char separator = field.separator == 0 ? syntax_.separator : field.separator;
    size_t begin = 0;
    while (begin < cell.size()) {
      if (cell[begin] == ' ' || cell[begin] == separator) {
        ++begin;
        continue;
      }
      const size_t end = std::min(cell.find(separator, begin), cell.size());
      value(cell.substr(begin, end - begin));
      begin = end;
    }
  }

  // Whether a cell for several values, or for bytes, is empty or a null, or one of its values is
  // missing.
  bool LacksValues(std::string_view cell, const Field& field) const {
    bool lacks = cell.empty() || field.IsNull(cell);
    if (field.bytes && !field.bytes_list) return lacks;
    ForEachValue(cell, field,
                 [&](std::string_view value) { lacks = lacks || field.IsMissing(value); });
    return lacks;
  }

  bool LacksSkipped(const Layout& layout) const {
    return std::any_of(layout.missing.begin(), layout.missing.end(), [this](size_t slot) {
      return fields_[slot].missing == Field::Missing::kSkip;
    });
  }

  // Whether a field with missing=skip has no value in the row. False for a row that is wrong; Load
  // tells.
  bool IsLeftOut(std::string_view row, const Layout& layout) const {
    if (LacksSkipped(layout)) return true;
    try {
      Cells cells(row, syntax_);
      std::string_view cell;
      size_t column = 0;
      for (const Target& target : layout.targets) {
        const Field& field = fields_[target.slot];
        if (field.missing != Field::Missing::kSkip) continue;
        for (size_t next = target.column; next < target.end(); ++next) {
          for (; column <= next; ++column) {
            if (cells.Next(&cell)) continue;
            if (syntax_.ragged_rows == TableSyntax::Ragged::kError) return false;
            cell = std::string_view();
          }
          if (target.one_value ? field.IsMissing(cell) : LacksValues(cell, field)) return true;
        }
      }
    } catch (const Error& error) {
      if (error.interrupts()) throw;
    }
    return false;
  }

  const std::vector<Field> fields_;
  const TableSyntax syntax_;
  const bool checks_utf8_;
  const bool skips_;
  bool has_header_ = false;
  bool names_only_ = true;  // no field is a column by its number
  LearnedFiles<Layout> layouts_;
};

// --- Inference ---

// What is looked at of a file.
struct Sample {
  std::string head;
  bool more = false;  // whether text follows the head
  std::vector<TextSample> later;
};

struct SampledRow {
  std::vector<std::string> cells;
  size_t number;  // of all rows of the file, also those that are skipped and those without cells
};

// The rows of the head from the first that is not skipped on, up to `most`. Throws for a row that
// is wrong, with its place.
std::vector<SampledRow> RowsOfHead(const std::string& path, const Sample& sample,
                                   const TableSyntax& syntax, size_t most) {
  std::vector<SampledRow> rows;
  const std::string& text = sample.head;
  const char* const limit = text.data() + text.size();
  RowEnds ends(text.data(), limit, syntax);
  size_t number = 0;
  for (const char* row = text.data() + Utf8MarkBytes(text); row < limit && rows.size() < most;
       ++number) {
    const LineEnds::Line end = ends.From(row, !sample.more);
    if (end.next == nullptr) break;
    const std::string_view whole(row, static_cast<size_t>(end.end - row));
    try {
      if (IsUtf8Name(syntax.encoding)) CheckUtf8(whole);
      if (number >= syntax.skip_rows && IsRecord(whole, syntax)) {
        rows.push_back({CellsOf(whole, syntax), number});
      }
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      const auto offset = static_cast<uint64_t>(row - text.data());
      const std::string line = LineName(path, offset, LoneCr::kEndsLine, &syntax.encoding);
      throw error.InFile(path, static_cast<int64_t>(offset))
          .WithContext(StrCat("in ", line, ", which begins at byte ", offset));
    }
    row = end.next;
  }
  return rows;
}

// How many rows begin and end in the head, up to `most`.
size_t CountRows(const Sample& sample, const TableSyntax& syntax, size_t most) {
  const char* const limit = sample.head.data() + sample.head.size();
  RowEnds ends(sample.head.data(), limit, syntax);
  size_t count = 0;
  for (const char* row = sample.head.data(); row < limit && count < most;) {
    const LineEnds::Line end = ends.From(row, !sample.more);
    if (end.next == nullptr) break;
    if (IsRecord({row, static_cast<size_t>(end.end - row)}, syntax)) ++count;
    row = end.next;
  }
  return count;
}

Sample ReadSample(const std::string& path, const TableSyntax& syntax) {
  const std::unique_ptr<ByteStream> stream = OpenText(path, BufferType::kMemory, syntax);
  Sample sample;
  // A header and a row, at least.
  do {
    sample.more = AddToHead(stream.get(), &sample.head);
  } while (sample.more && sample.head.size() < kMaxLineBytes &&
           CountRows(sample, syntax, syntax.skip_rows + 2) < syntax.skip_rows + 2);
  sample.later = LaterSamples(*stream, sample.head.size());
  return sample;
}

// The rows of a sample that is no beginning of a file: those that have as many cells as others.
// None if a quote or an escape is in it, which may have begun before it.
void AddRows(std::string_view sample, size_t columns, const TableSyntax& syntax,
             std::vector<SampledRow>* rows) {
  for (const char special : {syntax.quote, syntax.escape}) {
    if (special != 0 && sample.find(special) != std::string_view::npos) return;
  }
  const char* const limit = sample.data() + sample.size();
  LineEnds ends(sample.data(), limit, LoneCr::kEndsLine);
  for (const char* row = sample.data(); row < limit;) {
    const LineEnds::Line end = ends.From(row, true);
    const std::string_view whole(row, static_cast<size_t>(end.end - row));
    std::vector<std::string> cells;
    if (IsRecord(whole, syntax)) cells = CellsOf(whole, syntax);
    if (cells.size() == columns) rows->push_back({std::move(cells), 0});
    row = end.next;
  }
}

// How many cells most of the rows have, and how many rows that are.
std::pair<size_t, size_t> UsualCells(const std::vector<SampledRow>& rows) {
  std::map<size_t, size_t> times;
  std::pair<size_t, size_t> usual = {0, 0};
  for (const SampledRow& row : rows) ++times[row.cells.size()];
  for (const auto& [cells, count] : times) {
    if (count >= usual.second) usual = {cells, count};
  }
  return usual;
}

// Whether a cell is a number by all of its characters, whatever type reads it.
bool LooksLikeNumber(std::string_view cell) {
  return cell.find_first_of("0123456789") != std::string_view::npos &&
         cell.find_first_not_of("0123456789+-.,: eE$%/") == std::string_view::npos;
}

bool AreNumbers(const std::vector<SampledRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const SampledRow& row) {
    return std::all_of(row.cells.begin(), row.cells.end(), LooksLikeNumber);
  });
}

// The delimiter by which all rows have as many cells, and most cells; or by which most rows have as
// many. A table of one column, by commas, is one, unless another delimiter cuts its first row so,
// too.
char FoundDelimiter(const std::string& path, const Sample& sample, TableSyntax syntax) {
  constexpr size_t kMostRows = 1000;
  char best = ',';
  size_t best_cells = 1, best_rows = 0;
  bool best_is_even = false, is_one_column = false;
  for (const char delimiter : {',', '\t', ';', '|'}) {
    if (delimiter == syntax.quote || delimiter == syntax.comment || delimiter == syntax.escape ||
        delimiter == syntax.decimal) {
      continue;
    }
    syntax.delimiter = delimiter;
    std::vector<SampledRow> rows;
    try {
      rows = RowsOfHead(path, sample, syntax, kMostRows);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      continue;
    }
    const auto [cells, count] = UsualCells(rows);
    const bool is_even = count == rows.size();
    if (delimiter == ',') is_one_column = is_even && cells == 1;
    if (cells < 2 || 2 * count <= rows.size()) continue;
    if (is_one_column && rows[0].cells.size() != cells) continue;
    // "1,5;2,5" is two numbers with decimal commas.
    const bool has_decimal_commas = delimiter == ';' && best == ',' && is_even && AreNumbers(rows);
    const bool is_better = is_even != best_is_even ? is_even
                           : is_even               ? cells > best_cells || has_decimal_commas
                                                   : count > best_rows;
    if (!is_better) continue;
    best = delimiter;
    best_cells = cells;
    best_rows = count;
    best_is_even = is_even;
  }
  return best;
}

// Whether cells of a table without quotes are all in quotes where one begins or ends with them.
bool HasQuotes(const std::string& path, const Sample& sample, TableSyntax syntax) {
  constexpr char kQuote = '"';
  const std::vector<SampledRow> plain = RowsOfHead(path, sample, syntax, 1000);
  const bool any = std::any_of(plain.begin(), plain.end(), [](const SampledRow& row) {
    return std::any_of(row.cells.begin(), row.cells.end(), [](const std::string& cell) {
      return cell.size() > 1 && cell.front() == kQuote && cell.back() == kQuote;
    });
  });
  if (!any) return false;
  syntax.quote = kQuote;
  try {
    const std::vector<SampledRow> rows = RowsOfHead(path, sample, syntax, 1000);
    return !rows.empty() && UsualCells(rows).second == rows.size();
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
  return false;
}

// The type that fits all cells of a column from row `first` on.
std::string TypeOfColumn(const std::vector<SampledRow>& rows, size_t first, size_t column,
                         const TableSyntax& syntax) {
  std::vector<std::string> cells, with_points;
  for (size_t i = first; i < rows.size(); ++i) {
    const bool is_there = column < rows[i].cells.size();
    cells.push_back(is_there ? rows[i].cells[column] : std::string());
  }
  if (syntax.decimal == ',') {
    bool any = false, has_points = false;
    for (std::string cell : cells) {
      any = any || cell.find(',') != std::string::npos;
      has_points = has_points || cell.find('.') != std::string::npos;
      std::replace(cell.begin(), cell.end(), ',', '.');
      with_points.push_back(std::move(cell));
    }
    std::string type = GuessedCellType(with_points);
    if (any && !has_points && type.compare(0, 5, "float") == 0) return type;
    if (has_points && GuessedCellType(cells).compare(0, 5, "float") == 0) return "bytes";
  }
  return GuessedCellType(cells);
}

// Whether a cell can be the name of a column, and no value: it has a letter or what is not ASCII,
// and no type reads it.
bool IsName(const std::string& cell) {
  return !LooksLikeNumber(cell) && IsTextType(GuessedCellType({"1", cell})) &&
         IsTextType(GuessedCellType({cell})) && std::any_of(cell.begin(), cell.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte >= 0x80 || std::isalpha(byte) != 0;
         });
}

// Whether the first row names columns by their numbers from 0 on, above other values, as pandas
// names those of an array; its index has no name.
bool HasNumbersForNames(const std::vector<SampledRow>& rows, const TableSyntax& syntax) {
  const std::vector<std::string>& names = rows[0].cells;
  const size_t first = !names.empty() && names[0].empty() ? 1 : 0;
  if (names.size() < 2 || rows.size() < 2) return false;
  bool any_integers = false;
  for (size_t column = first; column < names.size(); ++column) {
    if (names[column] != StrCat(column - first)) return false;
    any_integers = any_integers || TypeOfColumn(rows, 1, column, syntax).compare(0, 3, "int") == 0;
  }
  return first == 1 || !any_integers;
}

// Whether the first row is names and years one after another: those of columns, since pandas and
// others write tables of years so.
bool HasYearsForNames(const std::vector<std::string>& names) {
  std::vector<int> years;
  bool any_name = false;
  for (const std::string& name : names) {
    const bool is_number = !name.empty() && name.size() <= 4 &&
                           name.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number && !IsName(name)) return false;
    any_name = any_name || !is_number;
    if (is_number) years.push_back(std::stoi(name));
  }
  constexpr int kFirst = 1900, kLast = 2100;
  for (size_t i = 0; i < years.size(); ++i) {
    if (years[i] < kFirst || years[i] > kLast || years[i] != years[0] + static_cast<int>(i)) {
      return false;
    }
  }
  return any_name && years.size() > 1;
}

// Whether the first row names the columns: it has a name above a column of numbers, or no number at
// all. A row alone is a header if it could be one.
bool HasHeader(const std::vector<SampledRow>& rows, const TableSyntax& syntax) {
  bool name_above_value = false, any_value = false;
  for (size_t column = 0; column < rows[0].cells.size(); ++column) {
    const std::string& cell = rows[0].cells[column];
    any_value = any_value || LooksLikeNumber(cell) || !IsTextType(GuessedCellType({cell}));
    name_above_value =
        name_above_value || (IsName(cell) && !IsTextType(TypeOfColumn(rows, 1, column, syntax)));
  }
  return name_above_value || !any_value || HasNumbersForNames(rows, syntax) ||
         HasYearsForNames(rows[0].cells);
}

// Throws if the first rows have fewer cells than most rows: they are titles, perhaps.
void RefuseTitles(const std::string& path, const std::vector<SampledRow>& rows) {
  const auto [cells, count] = UsualCells(rows);
  if (rows[0].cells.size() >= cells || 2 * count <= rows.size()) return;
  const size_t usual = cells;  // a binding cannot be captured
  const auto table = std::find_if(rows.begin(), rows.end(), [usual](const SampledRow& row) {
    return row.cells.size() == usual;
  });
  throw Error(ErrorCode::kDataLoss,
              StrCat("the first row has ", rows[0].cells.size(),
                     rows[0].cells.size() == 1 ? " cell" : " cells", ", and most have ", cells,
                     "; if rows before the table are titles, skip_rows: ", table->number,
                     " begins with the row '", Shown(table->cells[0]),
                     "' ..., and ragged_rows: "
                     "\"cut\" leaves out what is after the cells of the first row",
                     rows[0].cells[0].compare(0, 1, "#") == 0
                         ? "; comment: \"#\" leaves out rows that begin so"
                         : ""))
      .InFile(path, 0);
}

FittingFields GuessFieldsOfTable(const std::string& path, const AttributeMap& attributes,
                                 bool finds_quotes) {
  TableSyntax syntax = SyntaxOf(attributes);
  FittingFields fields;
  if (syntax.encoding.empty()) {
    syntax.encoding = kUtf8;
    fields.attributes.Set(kEncoding, std::string(kUtf8));
  }
  const Sample sample = ReadSample(path, syntax);
  if (attributes.Get<std::string>(kDelimiter).empty()) {
    syntax.delimiter = FoundDelimiter(path, sample, syntax);
    if (syntax.delimiter != ',') {
      fields.attributes.Set(kDelimiter, syntax.delimiter == '\t'
                                            ? std::string("\\t")
                                            : std::string(1, syntax.delimiter));
    }
  }
  if (finds_quotes && syntax.quote == 0 && HasQuotes(path, sample, syntax)) {
    syntax.quote = '"';
    fields.attributes.Set("quote", std::string(1, syntax.quote));
  }
  std::vector<SampledRow> rows = RowsOfHead(path, sample, syntax, SIZE_MAX);
  if (rows.empty()) return {};
  if (syntax.ragged_rows != TableSyntax::Ragged::kCut) RefuseTitles(path, rows);
  for (const TextSample& later : sample.later) {
    AddRows(later.text, rows[0].cells.size(), syntax, &rows);
  }
  const auto& header = attributes.Get<std::string>("header");
  const bool has_header = header == "yes" || (header == "auto" && HasHeader(rows, syntax));
  const std::vector<std::string>& names = rows[0].cells;
  std::map<std::string_view, size_t> times;
  for (const std::string& name : names) ++times[name];
  bool named = false;
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    const bool can_be_named = has_header && CanBeNamed(name) && times[name] == 1;
    const std::string number = StrCat("#", column);
    // A column that is really called so is what the number names.
    if (has_header && !can_be_named && times.count(number) > 0) {
      fields.left_out.push_back(StrCat("column ", number, ": another one is named so"));
      continue;
    }
    named = named || (can_be_named && name[0] != '#');
    fields.entries.push_back(EntryFor(can_be_named ? name : number,
                                      TypeOfColumn(rows, has_header ? 1 : 0, column, syntax)));
  }
  if (has_header && !named) fields.attributes.Set("header", std::string("yes"));
  return fields;
}

FittingFields GuessTableFields(const std::string& path, const AttributeMap& attributes) {
  return GuessFieldsOfTable(path, attributes, false);
}

FittingFields GuessTableFieldsAndQuotes(const std::string& path, const AttributeMap& attributes) {
  return GuessFieldsOfTable(path, attributes, true);
}

}  // namespace

void AddTableAttributes(const TableSyntax& defaults, FormatSchema* schema) {
  const auto text = [](char c) {
    return c == 0 ? std::string() : c == '\t' ? std::string("\\t") : std::string(1, c);
  };
  schema->Attr(
      FieldsAttribute("names of columns, #3 for a column by its number from 0 on, or "
                      "#1-#13 for the values of float32[13]"));
  schema->Attr(AttributeSchema("header", std::string("auto"),
                               "whether the first row names the columns: yes, no, or auto: if a "
                               "field is named other than by #")
                   .OneOf({"auto", "yes", "no"}));
  const bool finds_delimiter = defaults.delimiter == 0;
  schema->Attr({kDelimiter, text(defaults.delimiter),
                finds_delimiter
                    ? "between cells; \\t is a tab. \"\" is a comma, and, if there are no "
                      "fields either, what the rows of a sample are cut by: , \\t ; or |"
                    : "between cells; \\t is a tab"});
  schema->Attr({"quote", text(defaults.quote),
                "around cells with delimiters or line ends in them, doubled within; without quotes "
                "(\"\") each line is a row, and a file is read in parallel"});
  schema->Attr({"comment", text(defaults.comment), "lines that begin so are left out; \"\": none"});
  schema->Attr(
      {"separator", text(defaults.separator), "between the values of a cell that has several"});
  schema->Attr({"escape", text(defaults.escape),
                "a character that makes the one after it text, in quotes and without, such as a "
                "backslash; \"\": none"});
  schema->Attr(AttributeSchema("decimal", std::string("."),
                               "before the decimals of floats: a point or a comma")
                   .OneOf({".", ","}));
  schema->Attr(AttributeSchema("skip_rows", int32_t{0},
                               "how many rows before the table are left out, such as titles; blank "
                               "ones and comments count")
                   .AtLeast(0));
  schema->Attr(
      AttributeSchema("ragged_rows", std::string("error"),
                      "what to do about a row of another number of cells than the first "
                      "one: error, fill (those that it lacks are empty), or cut (that, and "
                      "those after the first row's are left out)")
          .OneOf({"error", "fill", "cut"}));
  schema->Attr(
      {kEncoding, std::string(),
       "what the text is in, by a name of iconv, such as latin-1, windows-1252, shift_jis; "
       "utf-8: it is an error if it is not, which is so where fields are inferred; \"\": "
       "bytes as they are. With either of these, the mark of UTF-16 or UTF-32 at the "
       "beginning tells that it is in that"});
  schema->InferFields(defaults.quote == 0 ? &GuessTableFieldsAndQuotes : &GuessTableFields);
  schema->Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc);
}

std::unique_ptr<FileFormat> MakeTableFormat(const FormatArguments& arguments) {
  return std::make_unique<TableFormat>(arguments);
}

}  // namespace millhopper
