// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/arrow_names.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "readers/arrow/arrow_types.h"
#include "readers/fields/guessed_type.h"

namespace millhopper {
namespace {

constexpr size_t kMostNames = 20;  // of columns in an error
constexpr int kMaxNesting = 64;    // of types within types

bool IsStruct(const ArrowSchema& meaning) {
  return ArrowTypeOf(meaning).kind == ArrowKind::kStruct;
}

// Goes down through lists, to what their values mean.
const ArrowSchema& GoThroughLists(const ArrowSchema& schema, ArrowColumn* column) {
  const ArrowSchema* here = &MeaningOf(schema);
  while (IsList(ArrowTypeOf(*here).kind)) {
    if (column->size() > kMaxNesting) {
      Throw(ErrorCode::kDataLoss, "its lists are nested more than ", kMaxNesting, " deep");
    }
    here = &MeaningOf(ItemOf(*here));
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
    WordSearch search(name);
    for (size_t i = 0; i < ChildrenOf(schema_); ++i) {
      search.Try(std::string(ArrowNameOf(*schema_.children[i])));
    }
    Throw(ErrorCode::kDataLoss, "no column is named '", Escaped(name), "'; there are ",
          NamesIn(schema_), DidYouMean(search.found()));
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
    here = &MeaningOf(*here);
    if (IsStruct(*here)) {
      numbers.push_back(Numbered(child));
      const std::string name(ArrowNameOf(*here->children[child]));
      const bool tells = CanBeNamed(name) && ChildrenByName(*here).at(name).size() == 1;
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

}  // namespace millhopper
