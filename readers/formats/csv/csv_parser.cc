// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/csv/csv_parser.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/spelling.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/compression/text_decoder.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/learned_files.h"
#include "readers/chunks/line_source.h"
#include "readers/fields/chosen_fields.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/fields.h"
#include "readers/fields/guessed_type.h"
#include "readers/fields/lacked_names.h"
#include "readers/formats/csv/csv_cells.h"
#include "readers/formats/csv/csv_inference.h"
#include "readers/formats/csv/csv_rows.h"
#include "readers/index/indexable_format.h"
#include "readers/support/line_ends.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

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

// The names of the columns of which a field has the values, in their order: one, or those of a
// range that no column is called.
std::vector<std::string> NamesFor(const Field& field, const std::vector<std::string>& header) {
  std::vector<std::string> names;
  if (field.values > 1 && !field.sequence &&
      std::find(header.begin(), header.end(), field.name) == header.end()) {
    names = NamesInRange(field.name);
  }
  if (names.empty()) names.push_back(field.name);
  return names;
}

// What the beginning of a file tells.
struct Head {
  std::vector<std::string> first_row;
  uint64_t first_begin = 0;  // the bytes of the first row
  uint64_t first_end = 0;    // with its line end
};

// Reads the first row after those that are skipped, whatever it is.
Head ReadHead(const std::string& path, const TableSyntax& syntax) {
  const std::unique_ptr<ByteStream> opened = OpenTableText(path, BufferType::kMemory, syntax);
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
        files_(arguments.files),
        layouts_(files_) {
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
    std::unique_ptr<ByteStream> stream = OpenTableText(file.path, file.buffer_type, syntax_);
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
    return MakeQuotedRowSource(std::move(stream), syntax_, std::move(filter));
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
    if (first == nullptr) {
      RequireNames(path, head, fail);
      return layouts_.Add(path, LayoutOf(head, fail));
    }
    if (!has_header_) return layouts_.Add(path, *first);
    if (CommonColumns(head.first_row) != CommonColumns(first->header)) {
      fail(HeaderDiffers(head.first_row, first->header));
    }
    return layouts_.Add(path, LayoutOf(head, fail));
  }

  // Throws if a field names columns that neither the first file has nor any other.
  template <typename Fail>
  void RequireNames(const std::string& path, const Head& head, const Fail& fail) const {
    const auto has_column = [](std::vector<std::string> header) {
      return [header = std::move(header)](const Field& field) {
        const std::vector<std::string> names = NamesFor(field, header);
        return NumberedColumns(field.name) ||
               std::find_first_of(header.begin(), header.end(), names.begin(), names.end()) !=
                   header.end();
      };
    };
    const Field* const lacked = FirstLackedByAll(
        fields_, has_column(head.first_row), path, files_,
        [&](const std::string& other) { return has_column(ReadHead(other, syntax_).first_row); });
    if (lacked == nullptr) return;
    try {
      fail(NoColumn(*lacked, head));
    } catch (const Error& error) {
      throw LackedByAll(error);
    }
  }

  // A header without the columns that a file may lack, which may stand in any order if fields name
  // their columns.
  std::vector<std::string> CommonColumns(std::vector<std::string> header) const {
    if (!names_only_) return header;  // numbers would name other columns
    std::set<std::string> may_lack;
    for (const Field& field : fields_) {
      if (field.missing == Field::Missing::kError) continue;
      for (std::string& name : NamesFor(field, header)) may_lack.insert(std::move(name));
    }
    header.erase(std::remove_if(header.begin(), header.end(),
                                [&](const auto& name) { return may_lack.count(name) > 0; }),
                 header.end());
    std::sort(header.begin(), header.end());
    return header;
  }

  // The error about the header of a file, and what reads the file.
  std::string HeaderDiffers(const std::vector<std::string>& header,
                            const std::vector<std::string>& first) const {
    const auto apart = [](const std::vector<std::string>& some,
                          const std::vector<std::string>& others) {
      std::vector<std::string> names;
      std::copy_if(some.begin(), some.end(), std::back_inserter(names), [&](const auto& name) {
        return std::find(others.begin(), others.end(), name) == others.end();
      });
      return names;
    };
    const std::vector<std::string> lacks = CommonColumns(apart(first, header)),
                                   has = CommonColumns(apart(header, first));
    const std::string problem = "its header differs from that of the files before it: ";
    if (lacks.empty() && has.empty()) {
      return StrCat(problem,
                    names_only_ ? "the same names stand in it another number of times"
                                : "the same names stand in another order, or another number of "
                                  "times; fields that name columns, and do not number them, take "
                                  "any order",
                    "; a reader of its own reads it");
    }
    return StrCat(problem, lacks.empty() ? "" : StrCat("it lacks ", Listed(lacks)),
                  lacks.empty() || has.empty() ? "" : ", and ",
                  has.empty() ? "" : StrCat("it has ", Listed(has)),
                  "; missing=mask, or another missing=, after fields of these names reads files "
                  "with and without them",
                  names_only_ ? "" : ", if no field names a column by its number");
  }

  // The columns that a field has the values of, in order; none if the file has none of these names.
  template <typename Fail>
  std::vector<size_t> ColumnsOf(const Field& field, const Head& head, const Fail& fail) const {
    const std::vector<std::string>& header = head.first_row;
    std::vector<std::string> names;
    if (has_header_) names = NamesFor(field, header);
    std::vector<size_t> columns;
    for (const std::string& name : names) {
      const auto begin = header.begin(), end = header.end();
      const auto found = std::find(begin, end, name);
      if (found == end) continue;
      if (std::find(found + 1, end, name) != end) {
        fail(StrCat("two columns are named '", Escaped(name), "'; #", found - begin,
                    " names the first of them"));
      }
      columns.push_back(static_cast<size_t>(found - begin));
    }
    if (!columns.empty()) {
      CheckRange(field, names, columns, fail);
      return columns;
    }
    if (const std::optional<Columns> numbered = NumberedColumns(field.name)) {
      if (numbered->first + numbered->count > header.size()) {
        fail(StrCat("there is no column ", Escaped(field.name), ": the first row has ",
                    header.size(), " columns, the first of which is #0"));
      }
      columns.resize(numbered->count);
      std::iota(columns.begin(), columns.end(), numbered->first);
    }
    return columns;
  }

  // Throws if the columns of a range, some of which there are, are not the values of its field.
  template <typename Fail>
  static void CheckRange(const Field& field, const std::vector<std::string>& names,
                         const std::vector<size_t>& columns, const Fail& fail) {
    if (names.size() == 1) return;
    const std::string range = StrCat("the range '", Escaped(field.name), "' ");
    if (columns.size() < names.size()) {
      fail(StrCat(range, "has ", names.size(), " names, and ", columns.size(),
                  " of them are columns of the file"));
    }
    if (names.size() != field.values) {
      fail(StrCat(range, "has ", names.size(), " columns, which do not give the values of ",
                  ToString(field.slot)));
    }
    if (!std::is_sorted(columns.begin(), columns.end())) {
      fail(StrCat(range,
                  "stands in another order in the file; a field for each of its names reads "
                  "it"));
    }
  }

  template <typename Fail>
  Layout LayoutOf(const Head& head, const Fail& fail) const {
    Layout layout;
    std::vector<Target> targets;
    for (size_t slot = 0; slot < fields_.size(); ++slot) {
      const Field& field = fields_[slot];
      const std::vector<size_t> columns = ColumnsOf(field, head, fail);
      if (columns.empty()) {
        if (field.missing == Field::Missing::kError) fail(NoColumn(field, head));
        layout.missing.push_back(slot);
        continue;
      }
      const bool one_value = !field.sequence && (columns.size() > 1 || field.values == 1);
      for (const size_t column : columns) {
        targets.push_back({column, 1, slot, one_value,
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
      if (last != nullptr && last->slot == target.slot && target.column == last->end()) {
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
                  DidYouMean(field.name, head.first_row),
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
          if (!cells.Next(&cell)) FillCell(layout, row, column, &cell);
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
          if (column == next && !cells.Next(&cell)) FillCell(layout, row, column, &cell);
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
      FailColumns(layout, row, column);
    }
  }

  // The cell that a row lacks in a column.
  void FillCell(const Layout& layout, std::string_view row, size_t column,
                std::string_view* cell) const {
    if (syntax_.ragged_rows == TableSyntax::Ragged::kError) FailColumns(layout, row, column);
    *cell = std::string_view();
  }

  bool HasDecimalComma(const Field& field) const {
    return syntax_.decimal == ',' && IsFloat(field.slot.dtype) && !field.bytes;
  }

  [[noreturn]] void FailColumns(const Layout& layout, std::string_view row, size_t found) const {
    const size_t count = layout.header.size();
    const std::vector<std::string> cells = CellsOf(row, syntax_);
    std::string advice = QuoteAdvice(cells, syntax_);
    if (advice.empty() && found < count) advice = QuoteAdvice(layout.header, syntax_);
    if (advice.empty() && found < count && EndsWithinQuotes(cells, syntax_)) {
      advice =
          "; its quote closes one of a row before it, perhaps, which spaces stand before, so that "
          "it opens no cell: write the file without these spaces";
    }
    if (advice.empty()) {
      advice =
          StrCat(count == 1 ? "; perhaps the attribute delimiter should be ';' or another one" : "",
                 found > count ? "; skip_rows leaves out rows before the table, and ragged_rows "
                                 "\"cut\" the cells after those of the first row"
                               : "; with ragged_rows \"fill\" the cells that it lacks are empty");
    }
    Throw(ErrorCode::kDataLoss, "the row has ", found, found == 1 ? " column, " : " columns, ",
          has_header_ ? "the header has " : "the first row has ", count, advice);
  }

  void LoadCell(const Target& target, std::string_view cell, FieldRows* rows) const {
    const Field& field = fields_[target.slot];
    if (!target.one_value && field.IsNull(cell)) {
      if (field.missing != Field::Missing::kDefault) field.ThrowNull(cell, kInferAll);
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
        field.ThrowMissing(kEmptyCell, kInferAll);
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
  const std::vector<FileEntry> files_;  // as far as they are known
  bool has_header_ = false;
  bool names_only_ = true;  // no field is a column by its number
  LearnedFiles<Layout> layouts_;
};

}  // namespace

void AddTableAttributes(const TableSyntax& defaults, FormatSchema* schema) {
  const auto text = [](char c) {
    return c == 0 ? std::string() : c == '\t' ? std::string("\\t") : std::string(1, c);
  };
  schema->Attr(
      FieldsAttribute("names of columns, #3 for a column by its number from 0 on, and "
                      "I1-I13 or #1-#13 for the values of float32[13]"));
  schema->Attr(AttributeSchema("header", std::string("auto"),
                               "whether the first row names the columns: yes, no, or auto: if a "
                               "field is named other than by #")
                   .OneOf({"auto", "yes", "no"}));
  const bool finds_delimiter = defaults.delimiter == 0;
  schema->Attr({kTableDelimiter, text(defaults.delimiter),
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
      {kTableEncoding, std::string(),
       "what the text is in, by a name of iconv, such as latin-1, windows-1252, shift_jis; "
       "utf-8: it is an error if it is not, which is so where fields are inferred; \"\": "
       "bytes as they are. With either of these, the mark of UTF-16 or UTF-32 at the "
       "beginning tells that it is in that"});
  schema->Attr(NumbersAttribute());
  schema->InferFields(defaults.quote == 0 ? &GuessTableFieldsAndQuotes : &GuessTableFields);
  schema->InferFieldsOfRecords(&TableFieldsOfAll);
  schema->Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc);
}

std::unique_ptr<FileFormat> MakeTableFormat(const FormatArguments& arguments) {
  return std::make_unique<TableFormat>(arguments);
}

}  // namespace millhopper
