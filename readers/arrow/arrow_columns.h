// SPDX-License-Identifier: Apache-2.0
// Columns in Arrow's memory become the rows of a chunk, without a library of Arrow: batches are
// read through the C data interface (arrow_c_data.h).
//
// A number, true or false, a date, time, timestamp or duration (as the whole number that is stored,
// or in the unit of decode=timestamp) and a decimal are one value; strings and binaries are bytes,
// or what decode=text, hash= and vocab= make of them, and so are the digits of a decimal. A list
// gives the values of a tensor, nested as its dims or flat; lists of lists have a level of detail
// each. Dictionaries and runs are what they stand for. null is no value.
//
// The columns stay as they are (ArrowTable), and Load gathers the values of a batch from them. A
// window of a shuffle would keep whole chunks that way; for windows, rows become records
// (ArrowRows::AppendRecords), each with its bytes together.
#ifndef MILLHOPPER_READERS_ARROW_ARROW_COLUMNS_H_
#define MILLHOPPER_READERS_ARROW_ARROW_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"
#include "readers/arrow/arrow_c_data.h"
#include "readers/arrow/arrow_names.h"
#include "readers/arrow/arrow_view.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/fields.h"

namespace millhopper {

// The fields, and the layout of a record that consists of their values: first the values of those
// fields whose size is known and the masks, then the other fields, each after the number of its
// values or, if it is nested, after the lengths of its lists. Immutable; any thread.
class ArrowFields {
 public:
  explicit ArrowFields(std::vector<Field> fields);

  const std::vector<Field>& fields() const { return fields_; }
  // Appends the rows of tickets. A ticket with bytes is a record that ArrowRows has made; any other
  // is a row of the ArrowTable that its chunk holds.
  void Load(const Ticket* tickets, size_t n, Rows* rows) const;

 private:
  friend class ArrowRows;

  void LoadRecords(const Ticket* tickets, size_t n, FieldRows* rows) const;
  void LoadNested(size_t slot, const char** here, FieldRows* rows) const;

  const std::vector<Field> fields_;
  std::vector<size_t> places_;       // in a record, of fields whose size is known
  std::vector<size_t> mask_places_;  // of fields with a mask
  std::vector<size_t> variable_;     // the other fields
  size_t fixed_bytes_ = 0;           // where the others begin
};

// A field, by its number, and its column in a schema.
struct FieldColumn {
  size_t field;
  ArrowColumn column;
};
using FieldColumns = std::vector<FieldColumn>;

// The columns of all fields, in their order. One that the schema lacks is missing in all rows, if
// its field says what that means. Throws what ArrowNames::Find throws.
FieldColumns FindColumns(const ArrowFields& fields, const ArrowSchema& schema);
// For the first file that is opened of a reader's `files`. Throws what ArrowNames::Find throws for
// a field that may be missing, if neither this nor any other of the files has its column.
// `read_schema` puts that of a file into *out.
void CheckSomeFileHas(
    const ArrowFields& fields, const std::string& path, const std::vector<FileEntry>& files,
    const std::function<void(const std::string& path, ArrowSchema* out)>& read_schema);
// The same columns in a schema that has no others: down to level `levels`, structs have only those
// children that one of the columns goes through.
FieldColumns Narrowed(FieldColumns columns, size_t levels);
// Divides columns into parts that can be read separately, each of neighbours in the schema. By
// size_of(columns), a part has at least 1 MiB and at least a 16th of the total, if there is that
// much. Fields of one outermost column stay together.
std::vector<FieldColumns> Divided(FieldColumns columns,
                                  const std::function<uint64_t(const FieldColumns&)>& size_of);

// How batches of one schema become rows. Immutable; any thread.
class ArrowRows {
 public:
  // For all fields or some of them, in any order. The fields must outlive this; the schema need
  // not. Throws kDataLoss "column 'x': it is string, int64 [1] is declared" if a type does not fit
  // its field or cannot be read.
  ArrowRows(const ArrowFields& fields, const ArrowSchema& schema, FieldColumns columns);

  // For rows of all fields. Adds a record to the chunk for each row from `begin` to `end`, unless a
  // field of it is missing and says skip. Rows are counted in errors as if the batch began with row
  // `first_row`. Throws kDataLoss "row 17: column 'x': 300 is no int8" for a value that does not
  // fit, and kResourceLimit if the records are too large; the records before that row are in the
  // chunk.
  void AppendRecords(const ArrowArray& batch, int64_t begin, int64_t end, uint64_t first_row,
                     Chunk* chunk) const;

 private:
  friend class ArrowPart;

  struct Slice;

  // Of a batch, by the columns of this.
  std::vector<ArrowView> ViewsOf(const ArrowArray& batch) const;

  const ArrowFields& fields_;
  std::vector<ArrowPath> paths_;  // by the numbers of their fields
};

// Memory that arrays lie in, if it is the host's own.
class ArrowMemory {
 public:
  virtual ~ArrowMemory() = default;
  virtual size_t bytes() const = 0;
  // Counts memory that was taken ahead of need (MemoryScope) as needed now.
  virtual void SetNeeded() = 0;
};

// Some columns of a table, in batches one after another. One thread adds batches; immutable then,
// any thread.
class ArrowPart final : public RecordHolder {
 public:
  // The memory of the arrays, null if they keep it themselves, lives as long as this.
  ArrowPart(std::shared_ptr<const ArrowRows> rows, std::shared_ptr<ArrowMemory> memory)
      : memory_(std::move(memory)), rows_(std::move(rows)) {}

  // Throws kDataLoss for arrays that contradict themselves.
  void Add(std::unique_ptr<const ArrowOwned<ArrowArray>> batch);
  uint64_t rows() const { return length_; }

  size_t bytes() const override { return memory_ == nullptr ? 0 : memory_->bytes(); }
  void SetNeeded() override {
    if (memory_ != nullptr) memory_->SetNeeded();
  }

 private:
  friend class ArrowTable;

  struct Batch {
    uint64_t first_row;
    std::unique_ptr<const ArrowOwned<ArrowArray>> array;
    std::vector<ArrowView> views;

    uint64_t rows() const { return static_cast<uint64_t>((*array)->length); }
  };

  // Which of the rows from `begin` to `end` are left out; empty if none can be.
  std::vector<char> LeftOut(uint64_t begin, uint64_t end) const;
  const Batch& BatchOf(uint64_t row) const;
  void Load(const uint32_t* rows, size_t n, bool consecutive, FieldRows* out) const;

  const std::shared_ptr<ArrowMemory> memory_;  // outlives the arrays
  const std::shared_ptr<const ArrowRows> rows_;
  std::vector<Batch> batches_;
  uint64_t length_ = 0;
};

// The columns that the rows of a chunk lie in. Several threads may read its parts; the chunk of the
// last part gives out the rows. Piece::offset of the chunk is the number of a row.
class ArrowTable final : public RecordHolder {
 public:
  // Errors about rows begin with `place`, such as "row group 3: ".
  ArrowTable(size_t parts, std::string place) : place_(std::move(place)), parts_(parts) {}

  // Once for each part; any thread.
  void Set(size_t part, Ref<ArrowPart> columns) { parts_[part] = std::move(columns); }

  // Lists the rows from `begin` to `end` as those of the chunk. Leaves out those in which a field
  // is missing that says skip, which only a table of one part can. Throws kResourceLimit if they
  // are too many.
  void ListRows(uint64_t begin, uint64_t end, Chunk* chunk) const;
  // Appends the rows of tickets, which are of the same chunk. Throws kDataLoss "row 17: column 'x':
  // 300 is no int8".
  void Load(const Ticket* tickets, size_t n, FieldRows* out) const;

  // What the last part has; the others count for themselves.
  size_t bytes() const override { return parts_.back()->bytes(); }
  void SetNeeded() override { parts_.back()->SetNeeded(); }

 private:
  const std::string place_;
  std::vector<Ref<ArrowPart>> parts_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_COLUMNS_H_
