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
  bool is_no_text = false;            // lists of such, of which a value that is looked at is none
  bool is_wide = false;               // integers that are looked at, of which float64 rounds one
  DataType dtype = DataType::kInt64;  // unless it is text
  std::vector<int64_t> dims;          // of the lists around the values; -1 is any
  int64_t ticks_per_day = 0;          // of a date or timestamp in the field; 0: it is neither
  int64_t stored_per_day = 0;         // the same in the column
  std::string note;                   // of a time of day or a duration: its type, with the unit
  bool may_be_null = false;           // in some row
  bool null_within = false;           // one of several values may be none
  bool null_lists = false;            // or one of several lists
};
using ArrowGuesses = std::vector<ArrowGuess>;

// What is known of outermost columns, by their numbers, beside the values that are looked at.
struct ArrowFacts {
  std::set<size_t> with_nulls;
  std::set<size_t> with_nanoseconds;  // of timestamps, that are no whole microseconds
};

// The columns of a schema. Nulls are where a batch of it has them and in the columns that are known
// to have them; the batch may be null. Dates are in days, and timestamps of any unit in
// microseconds, but in finer units, or their own, where a value that is looked at does not fit.
ArrowGuesses GuessArrowColumns(const ArrowSchema& schema, const ArrowArray* sample,
                               const ArrowFacts& known = {});
// The same for one outermost column and an array of its values.
ArrowGuesses GuessArrowColumns(const ArrowSchema& schema, size_t column, const ArrowArray* values,
                               const ArrowFacts& known = {});

// Makes the columns those of one more file, too, whose columns are `more`, by name: columns that
// only one of them has may be null, and a type that holds the values of both takes the place of two
// that differ. What no type can hold has a problem that names the file.
void AddArrowColumns(const ArrowGuesses& more, const std::string& file, ArrowGuesses* columns);

// A field for each column that one can hold.
FittingFields FieldsFor(const ArrowGuesses& columns);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_GUESS_H_
