// SPDX-License-Identifier: Apache-2.0
// The fields that hold all that is in columns, for readers that are given none.
#ifndef MILLHOPPER_READERS_ARROW_ARROW_GUESS_H_
#define MILLHOPPER_READERS_ARROW_ARROW_GUESS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/tensor/tensor.h"
#include "readers/arrow/arrow_c_data.h"
#include "readers/arrow/arrow_names.h"

namespace millhopper {

// What the values of a column are.
struct ArrowGuess {
  ArrowColumn column;         // in the schema that it was found in
  std::string path;           // for people
  std::string name;           // of the field
  std::string problem;        // why no field can hold it; then only the members above are set
  bool is_null_type = false;  // it never has a value
  bool is_text = false;
  bool is_binary = false;             // text that need not be UTF-8
  DataType dtype = DataType::kInt64;  // unless it is text
  std::vector<int64_t> dims;          // of the lists around the values; -1 is any
  int64_t ticks_per_day = 0;          // ArrowType::ticks_per_day
  bool may_be_null = false;           // in some row
  bool null_within = false;           // one of several values may be none
};
using ArrowGuesses = std::vector<ArrowGuess>;

// The columns of a schema. Nulls are where a batch of it has them and in the outermost columns
// `with_nulls`, by their numbers; the batch may be null.
ArrowGuesses GuessArrowColumns(const ArrowSchema& schema, const ArrowArray* sample,
                               const std::set<size_t>& with_nulls = {});
// The same for one outermost column and an array of its values.
ArrowGuesses GuessArrowColumns(const ArrowSchema& schema, size_t column, const ArrowArray* values,
                               const std::set<size_t>& with_nulls = {});

// Makes the columns those of one more file, too, whose columns are `more`, by name: columns that
// only one of them has may be null, and a type that holds the values of both takes the place of two
// that differ. What no type can hold has a problem that names the file.
void AddArrowColumns(const ArrowGuesses& more, const std::string& file, ArrowGuesses* columns);

// A field for each column that one can hold.
FittingFields FieldsFor(const ArrowGuesses& columns);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_GUESS_H_
