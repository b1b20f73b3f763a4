// SPDX-License-Identifier: Apache-2.0
// Named settings of operators and formats, and the declarations that check them.
#ifndef MILLHOPPER_FRAMEWORK_BASE_ATTRIBUTE_H_
#define MILLHOPPER_FRAMEWORK_BASE_ATTRIBUTE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {

// The index of a block of the same program.
struct BlockIndex {
  explicit BlockIndex(int32_t number = -1) : value(number) {}
  BlockIndex(const BlockIndex&) noexcept = default;
  // Written out for the sake of Attribute. If each alternative of a variant is trivial to copy, a
  // string or a vector, libstdc++ 12 takes the variant never to be without a value
  // (_Never_valueless_alt): where a copy throws bad_alloc, it destroys a value that was not made.
  BlockIndex& operator=(const BlockIndex& other) noexcept {
    value = other.value;
    return *this;
  }
  bool operator==(const BlockIndex& other) const { return value == other.value; }

  int32_t value;
};

// The value of an attribute. The alternatives are the attribute types of framework.proto; INT and
// LONG (and INTS and LONGS) stay apart because programs say which they mean.
using Attribute =
    std::variant<int32_t, float, std::string, std::vector<int32_t>, std::vector<float>,
                 std::vector<std::string>, bool, std::vector<bool>, BlockIndex, int64_t,
                 std::vector<BlockIndex>, std::vector<int64_t>, double, std::vector<double>>;

// "INT", "STRINGS", ... as programs spell it.
const char* AttributeTypeName(const Attribute& attribute);
// For --list_ops and error texts: 0.5, "text", [1, 2]. Long lists are cut.
std::string ToString(const Attribute& attribute);
// The same, but whole and exact: two values of one type with the same text are the same.
std::string WholeText(const Attribute& attribute);

// What an attribute may be. Built fluently:
//   AttributeSchema("buffer_size", int32_t{}, "how many ...").Required().AtLeast(1)
struct AttributeSchema {
  // An attribute of the type of `default_value`, which it has when a program leaves it out.
  AttributeSchema(std::string name, Attribute default_value, std::string doc);

  AttributeSchema& Required();  // no default
  // No default either: if it is left out, the operator does what no value of it says.
  AttributeSchema& Optional();
  AttributeSchema& AtLeast(double lowest);                 // numbers, and each of a list
  AttributeSchema& OneOf(std::vector<std::string> words);  // strings
  // Strings name files of records, each with an optional format and colon before it. The files are
  // read as `format`, or, if it is "", as their names or their content say.
  AttributeSchema& NamesRecords(std::string format = "");
  // Strings name folders, of which any file may be read.
  AttributeSchema& NamesFolders();
  // Integers are numbers of slots of the reader below, from 0. Python takes the slots' names, too.
  AttributeSchema& NumbersSlots();
  // What the method of Python's Reader calls it, where that has another name.
  AttributeSchema& InPython(std::string other_name);

  // The value in the declared type: INT is taken where LONG is declared (also in lists), and one
  // INT or LONG where LONGS are. Throws kInvalidArgument "attribute 'buffer_size' is 0; it must be
  // at least 1".
  Attribute Check(const Attribute& given) const;

  std::string name;
  Attribute default_value;
  std::string doc;
  bool required = false;
  bool optional = false;
  std::optional<double> lowest;
  std::vector<std::string> words;
  bool names_records = false;
  std::string record_format;
  bool names_folders = false;
  bool numbers_slots = false;
  std::string python_name;  // "" is name
};

// Checked attributes by name, defaults filled in.
class AttributeMap {
 public:
  void Set(const std::string& name, Attribute value) { values_[name] = std::move(value); }
  bool Has(const std::string& name) const { return values_.count(name) > 0; }
  // Throws kInternal for a name that no schema declared, or another type than declared.
  template <typename T>
  const T& Get(const std::string& name) const {
    const auto found = values_.find(name);
    const T* value = found == values_.end() ? nullptr : std::get_if<T>(&found->second);
    if (value == nullptr) Throw(ErrorCode::kInternal, "no attribute '", name, "' of this type");
    return *value;
  }
  const std::map<std::string, Attribute>& values() const { return values_; }

 private:
  std::map<std::string, Attribute> values_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_ATTRIBUTE_H_
