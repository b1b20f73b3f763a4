// SPDX-License-Identifier: Apache-2.0
// The column of one field: the way to its values through structs and lists, and the values
// themselves in a batch.
#ifndef MILLHOPPER_READERS_ARROW_ARROW_VIEW_H_
#define MILLHOPPER_READERS_ARROW_ARROW_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "readers/arrow/arrow_c_data.h"
#include "readers/arrow/arrow_names.h"
#include "readers/arrow/arrow_types.h"
#include "readers/arrow/arrow_values.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/fields.h"

namespace millhopper {

// A field, the slot that its values go to, and the way to them in batches of a schema. Immutable;
// any thread.
class ArrowPath {
 public:
  // The field must outlive this; the schema need not. Throws kDataLoss "it is string, int64 [1] is
  // declared" if the type does not fit the field or cannot be read.
  ArrowPath(const Field& field, size_t slot, const ArrowSchema& schema, const ArrowColumn& column);

  const Field& field() const { return field_; }
  size_t slot() const { return slot_; }

 private:
  friend class ArrowView;

  // Where the next step goes: to a child, or from places in a dictionary to its words. Those of run
  // ends are in a child.
  struct Step {
    ArrowType type;
    size_t child;
    bool dictionary;
  };

  void CheckType(const ArrowSchema& found) const;

  const Field& field_;
  const size_t slot_;
  std::vector<Step> steps_;         // from the schema to the values
  std::vector<size_t> ends_;        // the steps that are lists, and the last one
  size_t lists_ = 0;                // on the way
  bool stands_for_others_ = false;  // in a dictionary or by runs
  ArrowType value_;
  WriteArrowValue write_ = nullptr;
  bool same_ = false;  // values are stored as the field has them
};

// Some rows of a batch.
struct ArrowRowList {
  int64_t operator[](size_t i) const { return int64_t{rows[i]} - first; }

  const uint32_t* rows;
  size_t size;
  int64_t first;     // the number of the batch's first row
  bool consecutive;  // whether they follow one another
};

// The values of a field in one batch. Rows are counted from 0 on. A function that throws says what
// is wrong with the value, and leaves it to the caller to say where. Immutable; any thread.
class ArrowView {
 public:
  // The batch and the path must outlive this. Throws kDataLoss for arrays that contradict
  // themselves.
  ArrowView(const ArrowPath& path, const ArrowArray& batch);

  const Field& field() const { return field_; }
  size_t slot() const { return path_.slot(); }

  // The values of this row, if those of all rows lie one after another, as the field has them; the
  // row must be one of the batch. Null otherwise, and for sequences.
  const char* InPlace(int64_t row) const {
    return in_place_ == nullptr ? nullptr : in_place_ + row * row_bytes_;
  }
  // Whether rows may be left out because the field has no value in them.
  bool LeavesOut() const;
  // Whether such a field has no value in a row.
  bool IsMissing(int64_t row) const;

  // Whether the field has a value in a row, if only null ones within it.
  bool HasValue(int64_t row) const;

  // Appends the values of rows, of which there is one at least, to the slot.
  void Load(const ArrowRowList& rows, FieldRows* out) const;
  // Writes the values of a field of known size.
  void WriteFixed(int64_t row, char* to) const;
  // What a field of unknown size takes in a record, and writes that: the number of its values, and
  // the values. If it is nested, for each level of detail from the outer one on the lengths of its
  // sequences, and the values. Moves *to after it.
  uint64_t Measure(int64_t row) const;
  void WriteVariable(int64_t row, char** to) const;

 private:
  // The values of a row in the last array, and, if it is nested, the offsets of its lists: of each
  // level of detail that is one of lists.
  struct Spans {
    std::vector<ArrowSpan> spans;
    std::vector<std::vector<uint64_t>> levels;
  };
  // Those of a thread, so that it takes no memory for each row.
  static Spans* SpansOfThread();

  void FindInPlace(int64_t rows);
  int64_t Resolve(size_t list, int64_t row) const;
  ArrowSpan RangeOf(size_t list, int64_t place) const;
  bool FindSpans(int64_t row, Spans* spans) const;
  void AddSpans(size_t list, int64_t place, Spans* spans) const;
  uint64_t StepsOf(uint64_t values) const;
  static size_t CountOf(const Spans& spans);
  // The place of a value in its buffers, or -1 if it is null.
  int64_t PlaceOf(int64_t index) const;
  // Calls function(place) for each value; the place is -1 for a null.
  template <typename Function>
  void ForEachValue(const Spans& spans, const Function& function) const;

  void WriteOne(int64_t place, char* to) const;
  void WriteValues(const Spans& spans, char* to) const;
  // `made` holds text that lies nowhere, until the next call.
  std::string_view TextOrDefault(int64_t place, std::string* made) const;
  // That of a field of bytes that is not nested, which may be one of decode=json.
  std::string_view TextOfRow(int64_t row, std::string* made) const;
  void AppendJsonOf(size_t list, int64_t index, std::string* json) const;
  // What an error about a null within a row says of decode=json.
  const char* JsonHint() const;
  // The bytes that a nested field takes in a record.
  uint64_t MeasureNested(const Spans& spans) const;
  // How many default values a row without values gets. Throws if there is no default.
  size_t MissingCount() const;
  void LoadSequence(int64_t row, FieldRows* out) const;
  void LoadNested(const Spans& spans, FieldRows* out) const;

  const ArrowPath& path_;
  const Field& field_;
  std::vector<ArrowLevel> levels_;  // from the batch to the values
  bool has_nulls_ = false;
  const char* in_place_ = nullptr;
  int64_t row_bytes_ = 0;
};

// Calls the function, and has its errors name the column.
template <typename Function>
void InColumn(const Field& field, const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    throw error.WithMessage(StrCat("column '", Escaped(field.name), "': ", error.message()));
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_VIEW_H_
