// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/arrow_names.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "framework/base/error.h"
#include "readers/arrow/arrow_types.h"
#include "readers/arrow/arrow_values.h"
#include "readers/fields/guessed_type.h"

namespace millhopper {
namespace {

constexpr size_t kMostNames = 20;  // of columns in an error
constexpr int kMaxNesting = 64;    // of types within types

bool IsStruct(const ArrowSchema& schema) {
  return schema.dictionary == nullptr && ArrowTypeOf(schema).kind == ArrowKind::kStruct;
}

// Goes down through lists.
const ArrowSchema& GoThroughLists(const ArrowSchema& schema, ArrowColumn* column) {
  const ArrowSchema* here = &schema;
  while (here->dictionary == nullptr && IsList(ArrowTypeOf(*here).kind)) {
    if (column->size() > kMaxNesting) {
      Throw(ErrorCode::kDataLoss, "its lists are nested more than ", kMaxNesting, " deep");
    }
    here = &ItemOf(*here);
    column->push_back(0);
  }
  return *here;
}

// Reads the number of a column, such as #3.
std::optional<size_t> ReadNumber(std::string_view name) {
  const char* const end = name.data() + name.size();
  if (name.size() < 2 || name[0] != '#') return std::nullopt;
  size_t number = 0;
  const auto read = std::from_chars(name.data() + 1, end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

std::string Numbered(size_t child) { return StrCat("#", child); }

bool HasNulls(const ArrowArray* sample) {
  if (sample == nullptr) return false;
  const ArrowArray& array = *sample;
  if (array.null_count >= 0) return array.null_count > 0;
  ArrowLevel level = ArrowLevelOf({ArrowKind::kStruct, 0, 0}, array);
  for (int64_t i = 0; i < array.length; ++i) {
    if (IsNullAt(level, array.offset + i)) return true;
  }
  return false;
}

std::string DimsOf(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += StrCat(i > 0 ? ", " : "", dims[i]);
  return text + "]";
}

// Fields for the columns of a schema.
class Guess {
 public:
  Guess(const ArrowSchema& schema, const std::set<size_t>& with_nulls)
      : schema_(schema), with_nulls_(with_nulls), names_(schema) {}

  FittingFields Fields(const ArrowArray* sample) {
    AddIn(schema_, sample, {}, false);
    return std::move(fields_);
  }
  FittingFields FieldsOf(size_t column, const ArrowArray* values) {
    column_.push_back(column);
    AddIn(*schema_.children[column], values, {}, false);
    return std::move(fields_);
  }

 private:
  // Notes that no field can be the column at column_.
  void LeaveOut(const char* problem) {
    std::string path;
    const ArrowSchema* here = &schema_;
    for (const size_t child : column_) {
      here = here->children[child];
      const std::string name = Escaped(std::string(ArrowNameOf(*here)));
      path += StrCat(path.empty() ? "" : ".", name.empty() ? Numbered(child) : name);
    }
    fields_.left_out.push_back(StrCat("'", path, "': ", problem));
  }

  // Adds fields for a column, at column_, and what is in it. `dims` are those of the lists around
  // it.
  void AddIn(const ArrowSchema& schema, const ArrowArray* sample, std::vector<int64_t> dims,
             bool has_nulls) {
    if (column_.size() > kMaxNesting) return LeaveOut("its types are nested too deep");
    has_nulls =
        has_nulls || HasNulls(sample) || (column_.size() == 1 && with_nulls_.count(column_[0]) > 0);
    const bool dictionary = schema.dictionary != nullptr;
    const ArrowType type = ArrowTypeOf(dictionary ? *schema.dictionary : schema);
    if (type.kind == ArrowKind::kOther) return LeaveOut("values of its type cannot be read");
    if (type.kind == ArrowKind::kNull) return LeaveOut("it is of the type null and has no value");
    if (IsList(type.kind) || type.kind == ArrowKind::kStruct) {
      if (dictionary) return LeaveOut("it is a dictionary of lists or structs");
      if (sample != nullptr && sample->n_children != schema.n_children) {
        Throw(ErrorCode::kDataLoss, "a batch has other children than its schema");
      }
      if (type.kind == ArrowKind::kFixedList && type.size == 0)
        return LeaveOut("its lists have no room for values");
      if (ChildrenOf(schema) == 0 && !column_.empty()) return LeaveOut("it is a struct of nothing");
      if (IsList(type.kind)) dims.push_back(type.kind == ArrowKind::kFixedList ? type.size : -1);
      for (size_t i = 0; i < ChildrenOf(schema); ++i) {
        column_.push_back(i);
        AddIn(*schema.children[i], sample == nullptr ? nullptr : sample->children[i], dims,
              has_nulls);
        column_.pop_back();
      }
      return;
    }
    const bool is_text = IsText(type.kind);
    if (is_text && dims.size() > 1) return LeaveOut("it is lists of lists of texts");
    if (!dims.empty() && std::count(dims.begin() + 1, dims.end(), -1) > 0) {
      return LeaveOut("it is lists of lists that may have any length");
    }
    const std::string name = names_.NameOf(column_);
    if (name.empty()) return LeaveOut("neither its name nor its number tells it apart");
    const DataType dtype = GuessDataType(dictionary ? *schema.dictionary : schema);
    std::string field =
        is_text ? dims.empty() ? "bytes" : "bytes[-1]" : StrCat(ToString(dtype), DimsOf(dims));
    if (has_nulls) {
      // Only of floats one of several values can be none.
      const bool null_within = !is_text && !dims.empty() && HasNulls(sample);
      const bool several = !is_text && dims.size() > 1 && dims[0] != -1;
      if ((null_within || several) && !IsFloat(dtype)) field = "float64" + DimsOf(dims);
      field = null_within ? field + " default=nan" : OrMissing(field);
    }
    fields_.entries.push_back(EntryFor(name, field));
  }

  const ArrowSchema& schema_;
  const std::set<size_t>& with_nulls_;
  ArrowNames names_;
  ArrowColumn column_;
  FittingFields fields_;
};

}  // namespace

const ArrowNames::Children& ArrowNames::ChildrenByName(const ArrowSchema& schema) {
  const auto [entry, added] = children_.try_emplace(&schema);
  for (size_t i = 0; added && i < ChildrenOf(schema); ++i) {
    entry->second[ArrowNameOf(*schema.children[i])].push_back(i);
  }
  return entry->second;
}

std::optional<size_t> ArrowNames::ChildOf(const ArrowSchema& schema, std::string_view name) {
  const Children& children = ChildrenByName(schema);
  const auto found = children.find(name);
  if (found != children.end()) {
    const std::vector<size_t>& same = found->second;
    if (same.size() == 1) return same[0];
    std::string numbers;
    for (const size_t child : same) {
      numbers += StrCat(numbers.empty() ? "'" : ", '", Numbered(child), "'");
    }
    Throw(ErrorCode::kDataLoss, same.size(), " columns are named '", Escaped(std::string(name)),
          "'; by their numbers they are ", numbers);
  }
  const std::optional<size_t> number = ReadNumber(name);
  return number && *number < ChildrenOf(schema) ? number : std::nullopt;
}

// Finds what a struct has by a name; null if there is none.
const ArrowSchema* ArrowNames::FindIn(const ArrowSchema& schema, std::string_view name,
                                      ArrowColumn* column) {
  if (!IsStruct(schema) || column->size() > kMaxNesting) return nullptr;
  if (const std::optional<size_t> child = ChildOf(schema, name)) {
    column->push_back(*child);
    return schema.children[*child];
  }
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    const std::optional<size_t> child = ChildOf(schema, name.substr(0, dot));
    if (!child) continue;
    const size_t before = column->size();
    column->push_back(*child);
    const ArrowSchema& inner = GoThroughLists(*schema.children[*child], column);
    const ArrowSchema* const found = FindIn(inner, name.substr(dot + 1), column);
    if (found != nullptr) return found;
    column->resize(before);
  }
  return nullptr;
}

ArrowColumn ArrowNames::Find(const std::string& name) {
  ArrowColumn column;
  const ArrowSchema* const found = FindIn(schema_, name, &column);
  if (found == nullptr) {
    Throw(ErrorCode::kDataLoss, "no column is named '", Escaped(name), "'; there are ",
          NamesIn(schema_));
  }
  const ArrowSchema& values = GoThroughLists(*found, &column);
  if (IsStruct(values)) {
    Throw(ErrorCode::kDataLoss, "column '", Escaped(name),
          "': it is a struct; name one of its columns: ", NamesIn(values));
  }
  return column;
}

bool ArrowNames::Has(const std::string& name) {
  ArrowColumn column;
  return FindIn(schema_, name, &column) != nullptr;
}

std::string ArrowNames::NameOf(const ArrowColumn& column) {
  std::vector<std::string> parts, numbers;  // from the outermost struct on
  const ArrowSchema* here = &schema_;
  for (const size_t child : column) {
    if (IsStruct(*here)) {
      numbers.push_back(Numbered(child));
      const std::string name(ArrowNameOf(*here->children[child]));
      const bool can_be_written =
          !name.empty() && Escaped(name) == name && name.find('"') == std::string::npos;
      const bool tells = can_be_written && ChildrenByName(*here).at(name).size() == 1;
      parts.push_back(tells ? name : numbers.back());
    }
    here = here->children[child];
  }
  // Points within names may lead elsewhere: then numbers stand for them, too.
  for (size_t first = 0; first <= parts.size(); ++first) {
    if (first > 0) parts[first - 1] = numbers[first - 1];
    std::string name;
    for (const std::string& part : parts) name += StrCat(name.empty() ? "" : ".", part);
    try {
      if (Find(name) == column) return name;
    } catch (const Error& error) {
      if (error.interrupts()) throw;
    }
  }
  return "";
}

std::string NamesIn(const ArrowSchema& schema) {
  std::string names;
  for (size_t i = 0; i < ChildrenOf(schema); ++i) {
    if (i == kMostNames) return names + " and more";
    names +=
        StrCat(i > 0 ? ", '" : "'", Escaped(std::string(ArrowNameOf(*schema.children[i]))), "'");
  }
  return names.empty() ? "none" : names;
}

FittingFields GuessArrowFields(const ArrowSchema& schema, const ArrowArray* sample,
                               const std::set<size_t>& with_nulls) {
  return Guess(schema, with_nulls).Fields(sample);
}

FittingFields GuessArrowFields(const ArrowSchema& schema, size_t column, const ArrowArray* values,
                               const std::set<size_t>& with_nulls) {
  return Guess(schema, with_nulls).FieldsOf(column, values);
}

}  // namespace millhopper
