// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/csv/csv_inference.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/compression/text_decoder.h"
#include "readers/fields/fields.h"
#include "readers/fields/guessed_type.h"
#include "readers/formats/csv/csv_cells.h"
#include "readers/formats/csv/csv_rows.h"
#include "readers/formats/csv/csv_syntax.h"
#include "readers/support/line_ends.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

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

// Calls use(row, number) for the rows of the head from the first that is not skipped on, up to
// `most`. Throws for a row that is wrong, or what `use` throws, with its place.
template <typename Use>
void VisitRowsOfHead(const std::string& path, const Sample& sample, const TableSyntax& syntax,
                     size_t most, const Use& use) {
  const std::string& text = sample.head;
  const char* const limit = text.data() + text.size();
  RowEnds ends(text.data(), limit, syntax);
  size_t number = 0, used = 0;
  for (const char* row = text.data() + Utf8MarkBytes(text); row < limit && used < most; ++number) {
    const LineEnds::Line end = ends.From(row, !sample.more);
    if (end.next == nullptr) break;
    const std::string_view whole(row, static_cast<size_t>(end.end - row));
    try {
      if (IsUtf8Name(syntax.encoding)) CheckUtf8(whole);
      if (number >= syntax.skip_rows && IsRecord(whole, syntax)) {
        use(whole, number);
        ++used;
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
}

// Those rows, cut into cells.
std::vector<SampledRow> RowsOfHead(const std::string& path, const Sample& sample,
                                   const TableSyntax& syntax, size_t most) {
  std::vector<SampledRow> rows;
  VisitRowsOfHead(path, sample, syntax, most, [&](std::string_view row, size_t number) {
    rows.push_back({CellsOf(row, syntax), number});
  });
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

// Throws if a text that is taken for UTF-8 is one of the others of Unicode, without the mark that
// tells: in most characters, the same bytes are 0.
void RefuseOtherUnicode(const std::string& path, const std::string& head) {
  constexpr size_t kBytes = 4, kMost = 1000;
  size_t zeros[kBytes] = {}, groups = std::min(head.size(), kMost) / kBytes;
  for (size_t i = 0; i < groups * kBytes; ++i) zeros[i % kBytes] += head[i] == 0 ? 1 : 0;
  std::string found;
  for (size_t place = 0; place < kBytes; ++place) {
    found += 4 * zeros[place] > 3 * groups ? '0' : 4 * zeros[place] < groups ? 'x' : '?';
  }
  for (const auto& [places, name] : {std::pair("x0x0", "utf-16le"),
                                     {"0x0x", "utf-16be"},
                                     {"x000", "utf-32le"},
                                     {"000x", "utf-32be"}}) {
    if (groups == 0 || found != places) continue;
    throw Error(ErrorCode::kDataLoss, StrCat("most of its characters have bytes that are 0, as in ",
                                             name, "; encoding: \"", name, "\" reads it"))
        .InFile(path, 0);
  }
}

Sample ReadSample(const std::string& path, const TableSyntax& syntax) {
  const std::unique_ptr<ByteStream> stream = OpenTableText(path, BufferType::kMemory, syntax);
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

// How many cells most rows have, and how many rows that are, by the number of cells of each.
std::pair<size_t, size_t> UsualCells(const std::vector<size_t>& counts) {
  std::map<size_t, size_t> times;
  std::pair<size_t, size_t> usual = {0, 0};
  for (const size_t count : counts) ++times[count];
  for (const auto& [cells, count] : times) {
    if (count >= usual.second) usual = {cells, count};
  }
  return usual;
}

std::pair<size_t, size_t> UsualCells(const std::vector<SampledRow>& rows) {
  std::vector<size_t> counts;
  counts.reserve(rows.size());
  for (const SampledRow& row : rows) counts.push_back(row.cells.size());
  return UsualCells(counts);
}

// Whether a cell is a number by all of its characters, whatever type reads it.
bool LooksLikeNumber(std::string_view cell) {
  return cell.find_first_of("0123456789") != std::string_view::npos &&
         cell.find_first_not_of("0123456789+-.,: eE$%/") == std::string_view::npos;
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
    std::vector<size_t> rows;  // how many cells each has
    bool are_numbers = true;
    try {
      VisitRowsOfHead(path, sample, syntax, kMostRows, [&](std::string_view row, size_t) {
        size_t cells = 0;
        Cells reader(row, syntax);
        for (std::string_view cell; reader.Next(&cell); ++cells) {
          are_numbers = are_numbers && LooksLikeNumber(cell);
        }
        rows.push_back(cells);
      });
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      continue;
    }
    const auto [cells, count] = UsualCells(rows);
    const bool is_even = count == rows.size();
    if (delimiter == ',') is_one_column = is_even && cells == 1;
    if (cells < 2 || 2 * count <= rows.size()) continue;
    if (is_one_column && rows[0] != cells) continue;
    // "1,5;2,5" is two numbers with decimal commas.
    const bool has_decimal_commas = delimiter == ';' && best == ',' && is_even && are_numbers;
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

// Whether cells of a table without quotes are all in quotes where one begins or ends with them, or
// quotes that a cell opens go on across lines. Those may be text where all lines have as many
// cells.
bool HasQuotes(const std::string& path, const Sample& sample, TableSyntax syntax) {
  constexpr char kQuote = '"';
  const std::vector<SampledRow> plain = RowsOfHead(path, sample, syntax, 1000);
  bool any_closed = false, any_open = false;
  for (const SampledRow& row : plain) {
    for (const std::string& cell : row.cells) {
      if (cell.size() < 2 || cell.front() != kQuote) continue;
      any_closed = any_closed || cell.back() == kQuote;
      any_open = any_open || std::count(cell.begin(), cell.end(), kQuote) % 2 == 1;
    }
  }
  if (!any_closed) {
    const auto [cells, count] = UsualCells(plain);
    if (!any_open || (cells > 1 && count == plain.size())) return false;
  }
  syntax.quote = kQuote;
  try {
    const std::vector<SampledRow> rows = RowsOfHead(path, sample, syntax, 1000);
    return !rows.empty() && UsualCells(rows).second == rows.size();
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
  return false;
}

// The cells of a column, one after another.
class SeenColumn {
 public:
  explicit SeenColumn(char decimal) : has_commas_(decimal == ',') {}

  void Add(std::string_view cell) {
    cells_.Add(cell);
    if (!has_commas_) return;
    any_comma_ = any_comma_ || cell.find(',') != std::string_view::npos;
    any_point_ = any_point_ || cell.find('.') != std::string_view::npos;
    std::string with_point(cell);
    std::replace(with_point.begin(), with_point.end(), ',', '.');
    with_points_.Add(with_point);
  }

  // The type that fits all of them.
  std::string type() const {
    const std::vector<std::string>& cells = cells_.kept();
    std::string type = GuessedCellType(cells);
    const auto is_nan = [](const std::string& cell) { return cell == "NaN" || cell == "nan"; };
    const auto is_none = [&](const std::string& cell) { return cell.empty() || is_nan(cell); };
    // As pandas and numpy write a column without any number.
    if (std::any_of(cells.begin(), cells.end(), is_nan) &&
        std::all_of(cells.begin(), cells.end(), is_none)) {
      type = type == kTextType ? "float64[]" : OrMissing("float64[]");
    }
    if (!has_commas_) return type;
    std::string with_points = GuessedCellType(with_points_.kept());
    if (any_comma_ && !any_point_ && IsFloatType(with_points)) return with_points;
    return any_point_ && IsFloatType(type) ? kTextType : type;
  }

 private:
  static bool IsFloatType(const std::string& type) { return type.compare(0, 5, "float") == 0; }

  const bool has_commas_;  // for points in numbers
  SeenTexts cells_, with_points_;
  bool any_comma_ = false, any_point_ = false;
};

// The cells of a column from row `first` on.
SeenColumn ColumnFrom(size_t first, const std::vector<SampledRow>& rows, size_t column,
                      const TableSyntax& syntax) {
  SeenColumn seen(syntax.decimal);
  for (size_t i = first; i < rows.size(); ++i) {
    seen.Add(column < rows[i].cells.size() ? std::string_view(rows[i].cells[column]) : "");
  }
  return seen;
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
// names those of an array; its index has no name. `below` are the columns without the first row.
bool HasNumbersForNames(const std::vector<SampledRow>& rows, const std::vector<SeenColumn>& below) {
  const std::vector<std::string>& names = rows[0].cells;
  const size_t first = !names.empty() && names[0].empty() ? 1 : 0;
  if (names.size() < 2 || rows.size() < 2) return false;
  bool any_integers = false;
  for (size_t column = first; column < names.size(); ++column) {
    if (names[column] != StrCat(column - first)) return false;
    any_integers = any_integers || below[column].type().compare(0, 3, "int") == 0;
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

// Whether a cell is what is written in the place of a number that there is none of.
bool IsNull(const std::string& cell) {
  return !cell.empty() && !IsTextType(GuessedCellType({"1", cell}));
}

// Whether all cells of a column below the first row are numbers by their characters, though no type
// may hold them all, or no values.
bool AreNumbersBelow(const std::vector<SampledRow>& rows, size_t column) {
  bool any = false;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (column >= rows[i].cells.size()) continue;
    const std::string& cell = rows[i].cells[column];
    const bool is_number = LooksLikeNumber(cell);
    if (!is_number && !cell.empty() && !IsNull(cell)) return false;
    any = any || is_number;
  }
  return any;
}

// Whether the first row names the columns: it has a name above a column of numbers, or no number at
// all. A row alone is a header if it could be one. `columns` are those without the first row.
bool HasHeader(const std::vector<SampledRow>& rows, const std::vector<SeenColumn>& columns) {
  bool name_above_value = false, any_value = false;
  for (size_t column = 0; column < rows[0].cells.size(); ++column) {
    const std::string& cell = rows[0].cells[column];
    any_value = any_value || LooksLikeNumber(cell) || !IsTextType(GuessedCellType({cell}));
    SeenColumn below = columns[column];
    if (IsTextType(below.type())) {
      name_above_value = name_above_value || (IsName(cell) && AreNumbersBelow(rows, column));
      continue;
    }
    any_value = any_value || IsNull(cell);
    // "Y" above others of "Y" and "N" is one of them.
    below.Add(cell);
    name_above_value = name_above_value || (IsName(cell) && IsTextType(below.type()));
  }
  return name_above_value || !any_value || HasNumbersForNames(rows, columns) ||
         HasYearsForNames(rows[0].cells);
}

// Throws if the first rows have fewer cells than most rows: they are titles, perhaps, or the cells
// are in quotes of another kind.
void RefuseTitles(const std::string& path, const std::vector<SampledRow>& rows,
                  const TableSyntax& syntax) {
  const auto [cells, count] = UsualCells(rows);
  if (rows[0].cells.size() >= cells || 2 * count <= rows.size()) return;
  const size_t usual = cells;  // a binding cannot be captured
  const auto table = std::find_if(rows.begin(), rows.end(), [usual](const SampledRow& row) {
    return row.cells.size() == usual;
  });
  std::string advice = QuoteAdvice(table->cells, syntax);
  if (advice.empty()) {
    advice = StrCat("; if rows before the table are titles, skip_rows: ", table->number,
                    " begins with the row '", Shown(table->cells[0]),
                    "' ..., and ragged_rows: "
                    "\"cut\" leaves out what is after the cells of the first row",
                    rows[0].cells[0].compare(0, 1, "#") == 0
                        ? "; comment: \"#\" leaves out rows that begin so"
                        : "");
  }
  throw Error(ErrorCode::kDataLoss, StrCat("the first row has ", rows[0].cells.size(),
                                           rows[0].cells.size() == 1 ? " cell" : " cells",
                                           ", and most have ", cells, advice))
      .InFile(path, 0);
}

FittingFields GuessFieldsOfTable(const std::string& path, const AttributeMap& attributes,
                                 bool finds_quotes) {
  TableSyntax syntax = SyntaxOf(attributes);
  FittingFields fields;
  if (syntax.encoding.empty()) {
    syntax.encoding = kUtf8;
    fields.attributes.Set(kTableEncoding, std::string(kUtf8));
  }
  const Sample sample = ReadSample(path, syntax);
  if (IsUtf8Name(syntax.encoding)) RefuseOtherUnicode(path, sample.head);
  if (attributes.Get<std::string>(kTableDelimiter).empty()) {
    syntax.delimiter = FoundDelimiter(path, sample, syntax);
    if (syntax.delimiter != ',') {
      fields.attributes.Set(kTableDelimiter, syntax.delimiter == '\t'
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
  if (syntax.ragged_rows != TableSyntax::Ragged::kCut) RefuseTitles(path, rows, syntax);
  for (const TextSample& later : sample.later) {
    AddRows(later.text, rows[0].cells.size(), syntax, &rows);
  }
  const auto& header = attributes.Get<std::string>("header");
  const std::vector<std::string>& names = rows[0].cells;
  std::vector<SeenColumn> columns;  // without the first row
  for (size_t column = 0; column < names.size(); ++column) {
    columns.push_back(ColumnFrom(1, rows, column, syntax));
  }
  const bool has_header = header == "yes" || (header == "auto" && HasHeader(rows, columns));
  std::map<std::string_view, size_t> times;
  for (const std::string& name : names) ++times[name];
  bool named = false, numbered = false;
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
    numbered = numbered || !can_be_named;
    const SeenColumn seen = has_header ? columns[column] : ColumnFrom(0, rows, column, syntax);
    fields.entries.push_back(EntryFor(can_be_named ? name : number, seen.type()));
  }
  // Fields that are chosen of these may have numbers alone.
  if (has_header && (!named || numbered)) fields.attributes.Set("header", std::string("yes"));
  const bool any_numbers =
      std::any_of(fields.entries.begin(), fields.entries.end(), [](const std::string& entry) {
        const std::string type = HeadOf(entry).type;
        return type == "int64[]" || type == "uint64[]" || type == "float64[]" || type == "bool[]";
      });
  if (any_numbers && attributes.Get<std::string>(kNumbers).empty()) {
    fields.attributes.Set(kNumbers, std::string(kExactNumbers));
  }
  return fields;
}

// Of all rows: the columns are those that the sample has.
class TableFieldsOfRecords final : public FieldsOfRecords {
 public:
  TableFieldsOfRecords(const FittingFields& sampled, char decimal)
      : sampled_(sampled), columns_(sampled.entries.size(), SeenColumn(decimal)) {
    for (const std::string& entry : sampled.entries) names_.push_back(HeadOf(entry).name);
  }

  std::vector<std::string> entries() const override {
    std::vector<std::string> entries;
    for (const std::string& name : names_) {
      entries.push_back(EntryFor(name, "bytes missing=default"));
    }
    return entries;
  }

  void Add(const std::vector<std::string_view>& values) override {
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i].Add(values[i]);
  }

  FittingFields Fields() const override {
    FittingFields fields = sampled_;
    for (size_t i = 0; i < columns_.size(); ++i) {
      fields.entries[i] = EntryFor(names_[i], columns_[i].type());
    }
    return fields;
  }

 private:
  const FittingFields sampled_;
  std::vector<SeenColumn> columns_;
  std::vector<std::string> names_;
};

}  // namespace

FittingFields GuessTableFields(const std::string& path, const AttributeMap& attributes) {
  return GuessFieldsOfTable(path, attributes, false);
}

FittingFields GuessTableFieldsAndQuotes(const std::string& path, const AttributeMap& attributes) {
  return GuessFieldsOfTable(path, attributes, true);
}

std::unique_ptr<FieldsOfRecords> TableFieldsOfAll(const FittingFields& sampled,
                                                  const AttributeMap& attributes) {
  return std::make_unique<TableFieldsOfRecords>(sampled, attributes.Get<std::string>("decimal")[0]);
}

}  // namespace millhopper
