// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_names.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "framework/base/error.h"
#include "readers/arrow_types.h"
#include "readers/arrow_values.h"

namespace millhopper {
namespace {

constexpr size_t kMostNames = 20;  // of columns in an error
constexpr int kMaxNesting = 64;    // of types within types

// Goes down to the child of a struct.
const ArrowSchema& GoTo(const ArrowSchema& schema, size_t child, ArrowColumn* column) {
  column->children.push_back(child);
  column->names.emplace_back(ArrowNameOf(*schema.children[child]));
  return *schema.children[child];
}

// Goes down through lists.
const ArrowSchema& GoThroughLists(const ArrowSchema& schema, ArrowColumn* column) {
  const ArrowSchema* here = &schema;
  while (here->dictionary == nullptr && IsList(ArrowTypeOf(*here).kind)) {
    if (column->children.size() > kMaxNesting) {
      Throw(ErrorCode::kDataLoss, "its lists are nested more than ", kMaxNesting, " deep");
    }
    here = &ItemOf(*here);
    column->children.push_back(0);
  }
  return *here;
}

// Finds what a struct has by a name with or without points. An exact name goes before one with
// points between the names of structs.
bool FindIn(const ArrowSchema& schema, std::string_view name, ArrowColumn* column) {
  if (ArrowTypeOf(schema).kind != ArrowKind::kStruct || column->children.size() > kMaxNesting) {
    return false;
  }
  if (const std::optional<size_t> child = ChildNamed(schema, name)) {
    GoTo(schema, *child, column);
    return true;
  }
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    const std::optional<size_t> child = ChildNamed(schema, name.substr(0, dot));
    if (!child) continue;
    const ArrowColumn before = *column;
    const ArrowSchema& inner = GoThroughLists(GoTo(schema, *child, column), column);
    if (FindIn(inner, name.substr(dot + 1), column)) return true;
    *column = before;
  }
  return false;
}

// Reads the number of a column, such as #3.
bool ReadNumber(const std::string& name, int64_t* number) {
  const char* const end = name.data() + name.size();
  if (name.empty() || name[0] != '#') return false;
  const auto read = std::from_chars(name.data() + 1, end, *number);
  return read.ec == std::errc() && read.ptr == end;
}

const ArrowSchema& SchemaAt(const ArrowSchema& schema, const ArrowColumn& column) {
  const ArrowSchema* here = &schema;
  for (const size_t child : column.children) here = here->children[child];
  return *here;
}

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

// Adds fields for a column and what is in it. `name` is its own with those of the structs around
// it, `dims` those of the lists around it.
void GuessIn(const ArrowSchema& schema, const ArrowArray* sample, const std::string& name,
             std::vector<int64_t> dims, bool has_nulls, std::vector<std::string>* fields) {
  if (dims.size() > kMaxNesting) return;
  has_nulls = has_nulls || HasNulls(sample);
  const bool dictionary = schema.dictionary != nullptr;
  const ArrowType type = ArrowTypeOf(dictionary ? *schema.dictionary : schema);
  if (type.kind == ArrowKind::kNull || type.kind == ArrowKind::kOther) return;
  if (IsList(type.kind) || type.kind == ArrowKind::kStruct) {
    if (dictionary || (sample != nullptr && sample->n_children != schema.n_children)) return;
    if (type.kind == ArrowKind::kFixedList && type.size == 0) return;
    if (IsList(type.kind)) dims.push_back(type.kind == ArrowKind::kFixedList ? type.size : -1);
    for (size_t i = 0; i < ChildrenOf(schema); ++i) {
      const ArrowSchema& child = *schema.children[i];
      const std::string child_name(ArrowNameOf(child));
      GuessIn(child, sample == nullptr ? nullptr : sample->children[i],
              IsList(type.kind) ? name
              : name.empty()    ? child_name
                                : StrCat(name, ".", child_name),
              dims, has_nulls, fields);
    }
    return;
  }
  const bool is_text = IsText(type.kind);
  // What the notation has no dims for is left out.
  if (is_text && dims.size() > 1) return;
  if (std::find(dims.begin(), dims.end(), -1) > dims.begin() &&
      std::find(dims.begin(), dims.end(), -1) != dims.end()) {
    return;
  }
  if (std::count(dims.begin(), dims.end(), -1) > 1) return;
  if (name.empty() || name.find('"') != std::string::npos) return;
  const DataType dtype = GuessDataType(dictionary ? *schema.dictionary : schema);
  const bool quoted = name.find_first_of(" \t") != std::string::npos;
  const bool one = dims.empty() && !is_text;
  fields->push_back(
      StrCat(quoted ? "\"" + name + "\"" : name, " ",
             is_text ? dims.empty() ? "bytes" : "bytes[-1]" : StrCat(ToString(dtype), DimsOf(dims)),
             !has_nulls ? ""
             : one      ? " default=0"
                        : " missing=default"));
}

}  // namespace

std::string NamesIn(const ArrowSchema& schema) {
  std::string names;
  for (size_t i = 0; i < ChildrenOf(schema); ++i) {
    if (i == kMostNames) return names + " and more";
    names +=
        StrCat(i > 0 ? ", '" : "'", Escaped(std::string(ArrowNameOf(*schema.children[i]))), "'");
  }
  return names.empty() ? "none" : names;
}

std::optional<size_t> ChildNamed(const ArrowSchema& schema, std::string_view name) {
  std::optional<size_t> found;
  for (size_t i = 0; i < ChildrenOf(schema); ++i) {
    if (ArrowNameOf(*schema.children[i]) != name) continue;
    if (found) {
      Throw(ErrorCode::kDataLoss, "more than one column is named '", Escaped(std::string(name)),
            "'");
    }
    found = i;
  }
  return found;
}

ArrowColumn FindArrowColumn(const ArrowSchema& schema, const std::string& name) {
  ArrowColumn column;
  int64_t number = 0;
  if (!FindIn(schema, name, &column)) {
    if (!ReadNumber(name, &number) || number < 0 || number >= schema.n_children) {
      Throw(ErrorCode::kDataLoss, "no column is named '", Escaped(name), "'; there are ",
            NamesIn(schema));
    }
    const ArrowSchema& child = GoTo(schema, static_cast<size_t>(number), &column);
    ChildNamed(schema, ArrowNameOf(child));  // throws if the name does not tell which one it is
  }
  GoThroughLists(SchemaAt(schema, column), &column);
  return column;
}

std::vector<std::string> GuessArrowFields(const ArrowSchema& schema, const ArrowArray* sample) {
  std::vector<std::string> fields;
  GuessIn(schema, sample, "", {}, false, &fields);
  return fields;
}

}  // namespace millhopper
