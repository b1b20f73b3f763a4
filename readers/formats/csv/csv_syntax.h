// SPDX-License-Identifier: Apache-2.0
// How a table is written, by the attributes of its format.
#ifndef MILLHOPPER_READERS_FORMATS_CSV_CSV_SYNTAX_H_
#define MILLHOPPER_READERS_FORMATS_CSV_CSV_SYNTAX_H_

#include <cstddef>
#include <string>

#include "framework/base/attribute.h"

namespace millhopper {

// How a table is written.
struct TableSyntax {
  // What to do about rows of another number of cells than the first one.
  enum class Ragged {
    kError,
    kFill,  // cells that they lack are empty
    kCut,   // that, and cells after those of the first row are left out
  };

  char delimiter = ',';  // as a default 0: a comma, or what is found where fields are inferred
  char quote = '"';      // 0: there are no quotes, and each line is a row
  char comment = 0;      // lines that begin so are left out; 0: none are
  char separator = ' ';  // between the values in a cell that has several
  char escape = 0;       // makes the character after it text; 0: none does
  char decimal = '.';    // of floats
  size_t skip_rows = 0;  // before the first one
  Ragged ragged_rows = Ragged::kError;
  std::string encoding;  // "": text in UTF-8, which is not checked
};

// Names of attributes that are found with the fields, too.
inline constexpr char kTableDelimiter[] = "delimiter";
inline constexpr char kTableEncoding[] = "encoding";
// The encoding that is checked.
inline constexpr char kUtf8[] = "utf-8";

// Throws kInvalidArgument for attributes that contradict each other.
TableSyntax SyntaxOf(const AttributeMap& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_CSV_CSV_SYNTAX_H_
