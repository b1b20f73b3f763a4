// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/arrow_guess.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/arrow/arrow_types.h"
#include "readers/arrow/arrow_values.h"
#include "readers/fields/guessed_type.h"
#include "readers/fields/timestamp.h"
#include "readers/support/utf8.h"

namespace millhopper {
namespace {

constexpr size_t kMaxNesting = 64;  // of types within types
constexpr int kAny = -1;            // of dims

// An array that is looked at, or null, and which of its values are in a row: what lies in the place
// of a null is not.
struct Sample {
  explicit Sample(const ArrowArray* looked_at) : array(looked_at) {
    if (array == nullptr) return;
    CheckArrowRange(0, array->length, std::numeric_limits<int64_t>::max());
    is_there.assign(static_cast<size_t>(array->length), true);
  }

  const ArrowArray* array;
  std::vector<bool> is_there;
};

bool HasNulls(const Sample& sample) {
  if (sample.array == nullptr || sample.array->null_count == 0) return false;
  const ArrowLevel level =
      ArrowLevelOf(ArrowType{ArrowKind::kStruct, 0, 0, 0, 0}, *sample.array);  // has nulls alone
  for (int64_t i = 0; i < level.length; ++i) {
    if (sample.is_there[static_cast<size_t>(i)] && IsNullAt(level, level.offset + i)) return true;
  }
  return false;
}

// A child of a struct or of lists, or the values of runs.
Sample ChildOf(const ArrowType& type, const Sample& sample, size_t child) {
  if (sample.array == nullptr) return Sample(nullptr);
  Sample found(sample.array->children[child]);
  if (type.kind == ArrowKind::kRunEnds) return found;
  found.is_there.assign(found.is_there.size(), false);
  const ArrowLevel level = ArrowLevelOf(type, *sample.array);
  for (int64_t i = 0; i < level.length; ++i) {
    const int64_t place = level.offset + i;
    if (!sample.is_there[static_cast<size_t>(i)] || IsNullAt(level, place)) continue;
    ArrowSpan span{place, place + 1};
    if (IsList(type.kind)) span = ListAt(level, place, found.array->length);
    CheckArrowRange(span.begin, span.end, found.array->length);
    std::fill(found.is_there.begin() + span.begin, found.is_there.begin() + span.end, true);
  }
  return found;
}

// Whether all values of a sample are so; true without one. is_so(level, place) tells.
template <typename IsSo>
bool AllAre(const ArrowType& type, const Sample& sample, const IsSo& is_so) {
  if (sample.array == nullptr) return true;
  const ArrowLevel level = ArrowLevelOf(type, *sample.array);
  for (int64_t i = 0; i < level.length; ++i) {
    const int64_t place = level.offset + i;
    if (sample.is_there[static_cast<size_t>(i)] && !IsNullAt(level, place) &&
        !is_so(level, place)) {
      return false;
    }
  }
  return true;
}

// Whether all dates or timestamps that are looked at can be in a unit.
bool FitUnit(const ArrowType& type, const Sample& sample, int64_t ticks_per_day) {
  return AllAre(type, sample, [&](const ArrowLevel& level, int64_t place) {
    int64_t converted;
    return ConvertTicks(TicksAt(level, place), type.ticks_per_day, ticks_per_day, &converted);
  });
}

// Whether some integers that are looked at are beyond those that float64 has without a gap.
bool AreWide(const ArrowType& type, const Sample& sample) {
  constexpr int64_t kMostExact = int64_t{1} << 53;
  if (type.kind == ArrowKind::kUint64) {
    return !AllAre(type, sample, [](const ArrowLevel& level, int64_t place) {
      return ValueAt<uint64_t>(level.values, place) <= uint64_t{kMostExact};
    });
  }
  return type.kind == ArrowKind::kInt64 &&
         !AllAre(type, sample, [](const ArrowLevel& level, int64_t place) {
           const auto value = ValueAt<int64_t>(level.values, place);
           return value <= kMostExact && value >= -kMostExact;
         });
}

// Goes through the columns of a schema.
class Search {
 public:
  Search(const ArrowSchema& schema, const ArrowFacts& known)
      : schema_(schema), known_(known), names_(schema) {}

  ArrowGuesses All(const ArrowArray* sample) {
    AddIn(schema_, Sample(sample), ArrowGuess());
    return std::move(found_);
  }
  ArrowGuesses One(size_t column, const ArrowArray* values) {
    column_.push_back(column);
    AddIn(*schema_.children[column], Sample(values), ArrowGuess());
    return std::move(found_);
  }

 private:
  // What is at column_, or a problem with it.
  void Add(ArrowGuess guess, const char* problem = "") {
    guess.column = column_;
    guess.problem = problem;
    const ArrowSchema* here = &schema_;
    for (const size_t child : column_) {
      here = MeaningOf(*here).children[child];
      const std::string name = Escaped(std::string(ArrowNameOf(*here)));
      guess.path += StrCat(guess.path.empty() ? "" : ".", name.empty() ? StrCat("#", child) : name);
    }
    found_.push_back(std::move(guess));
  }

  // Adds a column, at column_, and what is in it. `guess` has what is known of the lists around it.
  void AddIn(const ArrowSchema& schema, const Sample& sample, ArrowGuess guess) {
    if (column_.size() > kMaxNesting) return Add(std::move(guess), "its types are nested too deep");
    const bool outermost = column_.size() == 1;
    bool& has_nulls = guess.dims.empty() ? guess.may_be_null : guess.null_within;
    has_nulls = has_nulls || HasNulls(sample);
    const bool is_list = IsList(ArrowTypeOf(MeaningOf(schema)).kind);
    guess.null_lists = guess.null_lists || (is_list && guess.null_within);
    guess.may_be_null = guess.may_be_null || (outermost && known_.with_nulls.count(column_[0]) > 0);
    if (schema.dictionary != nullptr) {
      return AddIn(*schema.dictionary,
                   Sample(sample.array == nullptr ? nullptr : sample.array->dictionary),
                   std::move(guess));
    }
    const ArrowType type = ArrowTypeOf(schema);
    if (sample.array != nullptr && sample.array->n_children != schema.n_children) {
      Throw(ErrorCode::kDataLoss, "a batch has other children than its schema");
    }
    const auto go_to = [&](size_t child) {
      AddIn(*schema.children[child], ChildOf(type, sample, child), guess);
    };
    if (type.kind == ArrowKind::kRunEnds) return go_to(1);
    if (IsList(type.kind) || type.kind == ArrowKind::kStruct) {
      if (type.kind == ArrowKind::kFixedList && type.size == 0) {
        return Add(std::move(guess), "its lists have no room for values");
      }
      if (ChildrenOf(schema) == 0 && !column_.empty()) {
        return Add(std::move(guess), "it is a struct of nothing");
      }
      if (IsList(type.kind)) {
        guess.dims.push_back(type.kind == ArrowKind::kFixedList ? type.size : kAny);
      }
      for (size_t i = 0; i < ChildrenOf(schema); ++i) {
        column_.push_back(i);
        go_to(i);
        column_.pop_back();
      }
      return;
    }
    AddValues(type, schema, sample, std::move(guess));
  }

  void AddValues(const ArrowType& type, const ArrowSchema& schema, const Sample& sample,
                 ArrowGuess guess) {
    if (type.kind == ArrowKind::kOther) {
      const std::string problem = StrCat("it is ", ArrowTypeName(schema), ", which is not read");
      return Add(std::move(guess), problem.c_str());
    }
    guess.is_null_type = type.kind == ArrowKind::kNull;
    guess.is_text = IsText(type.kind) || (type.kind == ArrowKind::kDecimal && !FitsFloat64(type));
    guess.is_binary = IsText(type.kind) && !IsUtf8(schema);
    guess.stored_per_day = type.ticks_per_day;
    if (HasUnitOfItsOwn(schema)) guess.note = ArrowTypeName(schema);
    const bool is_time = guess.stored_per_day > 0;
    guess.dtype = is_time ? DataType::kInt64 : GuessDataType(schema);
    if (is_time) {
      const bool is_fine = known_.with_nanoseconds.count(column_[0]) > 0;
      guess.ticks_per_day = type.ticks_per_day;
      if (IsDate(schema) && FitUnit(type, sample, 1)) {
        guess.ticks_per_day = 1;
      } else if (!is_fine && FitUnit(type, sample, kMicrosecondsPerDay)) {
        guess.ticks_per_day = kMicrosecondsPerDay;
      }
    }
    const auto is_utf8 = [](const ArrowLevel& level, int64_t place) {
      const std::string_view text = TextAt(level, place);
      return FirstNoUtf8(text) == text.size();
    };
    guess.is_no_text = guess.is_binary && !guess.dims.empty() && !AllAre(type, sample, is_utf8);
    guess.is_wide = AreWide(type, sample);
    guess.may_be_null = guess.may_be_null || guess.is_null_type;
    guess.null_within = guess.null_within || (guess.is_null_type && !guess.dims.empty());
    if (guess.dims.size() + 1 >= kMaxLodLevels) {
      return Add(std::move(guess), "its lists are nested too deep");
    }
    guess.name = names_.NameOf(column_);
    const bool has_name = !guess.name.empty();
    Add(std::move(guess), has_name ? "" : "neither its name nor its number tells it apart");
  }

  const ArrowSchema& schema_;
  const ArrowFacts& known_;
  ArrowNames names_;
  ArrowColumn column_;
  ArrowGuesses found_;
};

// Whether no value of their own stands for what is null within its lists, so that they are text of
// JSON, as in files of JSON.
bool IsJson(const ArrowGuess& column) {
  const bool has_null_values =
      column.null_within && (column.is_text || column.dtype == DataType::kBool || column.is_wide);
  return column.null_lists || (has_null_values && column.ticks_per_day == 0);
}

// The type and the options of a field.
std::string TypeFor(const ArrowGuess& column) {
  constexpr char kJsonType[] = "str decode=json";
  // Dims after the last one of any length are those of a tensor; those before it become lists.
  const auto last = std::find(column.dims.rbegin(), column.dims.rend(), kAny);
  const auto lists = static_cast<size_t>(column.dims.rend() - last);
  std::string dims;
  for (size_t i = 0; i < column.dims.size(); ++i) {
    dims += StrCat(i == 0 ? "" : ", ", column.is_text || i < lists ? kAny : column.dims[i]);
  }
  const bool may_miss = column.may_be_null || column.null_within;
  if (IsJson(column)) return column.may_be_null ? OrMissing(kJsonType) : kJsonType;
  if (column.is_text) {
    const std::string values = column.is_binary ? "bytes" : kTextType;
    const std::string type = dims.empty() ? values : StrCat(values, "[", dims, "]");
    return may_miss ? OrMissing(type) : type;
  }
  const bool is_time = column.ticks_per_day > 0;
  const bool gaps = !is_time && (column.null_within ||
                                 (lists > 0 && column.may_be_null && IsFloat(column.dtype)));
  std::string type = StrCat(
      ToString(gaps && !IsFloat(column.dtype) ? DataType::kFp64 : column.dtype), "[", dims, "]");
  if (is_time) type += StrCat(" decode=timestamp unit=", TimeUnitOf(column.ticks_per_day));
  if (!may_miss) return type;
  if (is_time) return OrMissing(type);
  if (lists == 0) return gaps ? type + " default=nan" : OrMissing(type);
  return type + (gaps ? " default=nan missing=mask" : " missing=mask");
}

bool IsSigned(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kInt32 ||
         type == DataType::kInt64;
}

// The type that holds all values of both; nothing if there is none.
std::optional<DataType> TypeOfBoth(DataType a, DataType b) {
  if (a == b) return a;
  if (a == DataType::kBool || b == DataType::kBool) return std::nullopt;
  if (IsFloat(a) && IsFloat(b)) return SizeOf(a) > SizeOf(b) ? a : b;
  if (IsFloat(a) || IsFloat(b)) {
    // Integers that a float64 would round are an error when they are read.
    return DataType::kFp64;
  }
  if (IsSigned(a) == IsSigned(b)) return SizeOf(a) > SizeOf(b) ? a : b;
  const DataType with_sign = IsSigned(a) ? a : b, without = IsSigned(a) ? b : a;
  if (SizeOf(with_sign) > SizeOf(without)) return with_sign;
  switch (SizeOf(without)) {
    case 1:
      return DataType::kInt16;
    case 2:
      return DataType::kInt32;
    default:  // a uint64 beyond the range is an error when it is read
      return DataType::kInt64;
  }
}

std::string InWords(const ArrowGuess& column) {
  if (column.ticks_per_day > 0) return column.ticks_per_day == 1 ? "a date" : "a timestamp";
  return column.is_binary ? "bytes" : column.is_text ? "text" : ToString(column.dtype);
}

// Makes a column one that holds the values of another, too.
void Widen(const ArrowGuess& other, const std::string& file, ArrowGuess* column) {
  if (!column->problem.empty()) return;
  if (!other.problem.empty()) {
    column->problem = StrCat("in ", Escaped(file), ", ", other.problem);
    return;
  }
  column->may_be_null = column->may_be_null || other.may_be_null;
  column->null_within = column->null_within || other.null_within;
  column->null_lists = column->null_lists || other.null_lists;
  column->is_no_text = column->is_no_text || other.is_no_text;
  column->is_wide = column->is_wide || other.is_wide;
  if (other.is_null_type && other.dims.empty()) return;
  if (column->is_null_type && column->dims.empty()) {
    ArrowGuess known = other;
    known.column = column->column;
    known.name = column->name;
    known.path = column->path;
    known.may_be_null = true;
    *column = std::move(known);
    return;
  }
  if (column->dims.size() != other.dims.size()) {
    column->problem = StrCat("in ", Escaped(file), " it is ", other.dims.size(),
                             " lists deep, in files before it ", column->dims.size());
    return;
  }
  for (size_t i = 0; i < column->dims.size(); ++i) {
    if (column->dims[i] != other.dims[i]) column->dims[i] = kAny;
  }
  if (other.is_null_type) return;
  if (column->is_null_type) {
    column->is_null_type = false;
    column->is_text = other.is_text;
    column->is_binary = other.is_binary;
    column->dtype = other.dtype;
    column->ticks_per_day = other.ticks_per_day;
    column->stored_per_day = other.stored_per_day;
    return;
  }
  const std::optional<DataType> both = TypeOfBoth(column->dtype, other.dtype);
  const bool same_kind =
      column->is_text == other.is_text && (column->ticks_per_day > 0) == (other.ticks_per_day > 0);
  if (!same_kind || (!column->is_text && !both)) {
    column->problem = StrCat("in ", Escaped(file), " it is ", InWords(other),
                             ", in files before it ", InWords(*column));
    return;
  }
  if (!column->is_text) column->dtype = *both;
  column->is_binary = column->is_binary || other.is_binary;
  column->ticks_per_day = std::max(column->ticks_per_day, other.ticks_per_day);
  column->stored_per_day = std::max(column->stored_per_day, other.stored_per_day);
}

}  // namespace

ArrowGuesses GuessArrowColumns(const ArrowSchema& schema, const ArrowArray* sample,
                               const ArrowFacts& known) {
  return Search(schema, known).All(sample);
}

ArrowGuesses GuessArrowColumns(const ArrowSchema& schema, size_t column, const ArrowArray* values,
                               const ArrowFacts& known) {
  return Search(schema, known).One(column, values);
}

void AddArrowColumns(const ArrowGuesses& more, const std::string& file, ArrowGuesses* columns) {
  const auto key_of = [](const ArrowGuess& column) {
    return column.name.empty() ? column.path : column.name;
  };
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < columns->size(); ++i) places.emplace(key_of((*columns)[i]), i);
  std::vector<bool> there(columns->size());
  for (const ArrowGuess& other : more) {
    const auto found = places.find(key_of(other));
    if (found != places.end()) {
      there[found->second] = true;
      Widen(other, file, &(*columns)[found->second]);
      continue;
    }
    columns->push_back(other);
    columns->back().may_be_null = true;
    if (other.name.find('#') == 0) {
      columns->back().problem =
          StrCat("only ", Escaped(file), " has it, and its number alone names it");
    }
  }
  for (size_t i = 0; i < there.size(); ++i) {
    if (!there[i]) (*columns)[i].may_be_null = true;
  }
}

FittingFields FieldsFor(const ArrowGuesses& columns) {
  FittingFields fields;
  for (const ArrowGuess& column : columns) {
    const std::string problem =
        column.problem.empty() && IsJson(column) && column.is_no_text
            ? "there are nulls within its lists, beside bytes that are no text; bytes with "
              "missing=default have empty ones in their place"
            : column.problem;
    if (problem.empty()) {
      fields.entries.push_back(EntryFor(column.name, TypeFor(column)));
      if (!column.note.empty()) {
        fields.notes.push_back(
            StrCat("'", column.path, "' has the numbers of ", column.note, ", as they are stored"));
      }
    } else {
      fields.left_out.push_back(StrCat("'", column.path, "': ", problem));
    }
  }
  return fields;
}

}  // namespace millhopper
