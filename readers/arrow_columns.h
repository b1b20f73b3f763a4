// SPDX-License-Identifier: Apache-2.0
// Columns in Arrow's memory become records, without a library of Arrow: batches are read through
// the C data interface (arrow_c_data.h).
//
// A field is named by a column: "age"; "user.age" in a struct, also where the struct is in a list
// ("items.price"); the key and value of a map ("tags.key"); "#3" for the fourth column. A number,
// true or false, a date, time, timestamp or duration (as the whole number that is stored) and a
// decimal are one value; strings and binaries are bytes, or what decode=text, hash= and vocab= make
// of them; a list gives the values of a tensor, nested as its dims or flat. A dictionary is what it
// stands for. null is no value.
#ifndef MILLHOPPER_READERS_ARROW_COLUMNS_H_
#define MILLHOPPER_READERS_ARROW_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"
#include "readers/arrow_c_data.h"
#include "readers/fields.h"

namespace millhopper {

// Where the values of a field lie in a schema: a child of the schema, a child of that, and so on,
// lists included. `names` are those of the children of structs alone, so that they find the column
// again in a schema that has fewer columns.
struct ArrowColumn {
  std::vector<size_t> children;
  std::vector<std::string> names;
};

// Finds the column of a name in a schema, a struct of columns. Throws kDataLoss "no column is named
// 'x'; there are ...", and if it is a struct or more than one column.
ArrowColumn FindArrowColumn(const ArrowSchema& schema, const std::string& name);

// Fields that fit a schema and a batch of it, which tells where nulls are; without a batch there
// are none. Leaves out columns that no field can be.
std::vector<std::string> GuessArrowFields(const ArrowSchema& schema, const ArrowArray* sample);

// The fields, and how a record that consists of their values lies in memory: first the values of
// those fields whose size is known, then the others, each behind the number of its values.
// Immutable; any thread.
class ArrowFields {
 public:
  explicit ArrowFields(std::vector<Field> fields);

  const std::vector<Field>& fields() const { return fields_; }
  // Appends records that ArrowRows has made.
  void Load(const Ticket* tickets, size_t n, Rows* rows) const;

 private:
  friend class ArrowRows;

  const std::vector<Field> fields_;
  std::vector<size_t> places_;    // in a record, of fields whose size is known
  std::vector<size_t> variable_;  // the other fields
  size_t fixed_bytes_ = 0;        // where the others begin
};

// Makes records of the batches of one schema. Immutable; any thread.
class ArrowRows {
 public:
  // columns[i] is that of field i. The fields must outlive this; the schema need not. Throws
  // kDataLoss "column 'x': it is string, int64 [1] is declared" if a type does not fit its field or
  // cannot be read.
  ArrowRows(const ArrowFields& fields, const ArrowSchema& schema,
            const std::vector<ArrowColumn>& columns);
  ~ArrowRows();

  // Adds a record to the chunk for each row from `begin` to `end`, unless a field of it is missing
  // and says skip. Rows are counted in errors as if the batch began with row `first_row`. Throws
  // kDataLoss "row 17: column 'x': 300 is no int8" for a value that does not fit, and
  // kResourceLimit if the records are too large; the records before that row are in the chunk.
  void Append(const ArrowArray& batch, int64_t begin, int64_t end, uint64_t first_row,
              Chunk* chunk) const;

 private:
  class Column;

  const ArrowFields& fields_;
  std::vector<std::unique_ptr<const Column>> columns_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_COLUMNS_H_
