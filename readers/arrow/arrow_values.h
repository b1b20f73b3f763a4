// SPDX-License-Identifier: Apache-2.0
// Values in the memory of Arrow's arrays (arrow_c_data.h), and how they become values of fields.
// The arrays are not trusted: what they declare is checked as far as it can be.
#ifndef MILLHOPPER_READERS_ARROW_ARROW_VALUES_H_
#define MILLHOPPER_READERS_ARROW_ARROW_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "readers/arrow/arrow_c_data.h"
#include "readers/arrow/arrow_types.h"
#include "readers/fields/fields.h"
#include "readers/support/stored_number.h"

namespace millhopper {

// One array of a batch, on the way from the batch to the values.
struct ArrowLevel : ArrowType {
  int64_t offset = 0, length = 0;
  const uint8_t* valid = nullptr;  // a bit for each value; null if no value is null
  const void* values = nullptr;    // the buffer of values or of offsets
  const void* bytes = nullptr;     // what the offsets point into; the sizes of views of lists
  const ArrowArray* array = nullptr;
};

// Throws kDataLoss for an array that cannot be.
ArrowLevel ArrowLevelOf(const ArrowType& type, const ArrowArray& array);

// Whether the value at this place of its buffers, the offset of the array included, is null.
inline bool IsNullAt(const ArrowLevel& level, int64_t place) {
  if (level.kind == ArrowKind::kNull) return true;
  return level.valid != nullptr && (level.valid[place >> 3] >> (place & 7) & 1) == 0;
}

// Throws kDataLoss unless the values from `begin` to `end` are among `length`.
void CheckArrowRange(int64_t begin, int64_t end, int64_t length);

template <typename T>
T ValueAt(const void* values, int64_t place) {
  return StoredNumber<T>(static_cast<const char*>(values) + static_cast<size_t>(place) * sizeof(T));
}

// Values that lie one after another, counted within their array, its offset left out.
struct ArrowSpan {
  int64_t begin, end;
};
// Those of the list at a place, among `values`. Throws kDataLoss for a list that cannot be.
ArrowSpan ListAt(const ArrowLevel& level, int64_t place, int64_t values);
// A string or binary.
std::string_view TextAt(const ArrowLevel& level, int64_t place);
// A decimal as text, with all of its digits after the point.
std::string DecimalTextAt(const ArrowLevel& level, int64_t place);
// A date or timestamp, in its unit.
int64_t TicksAt(const ArrowLevel& level, int64_t place);
// The number of the run that has the value at a place. Throws kDataLoss if none does.
int64_t RunAt(const ArrowLevel& level, int64_t place);

// Whether AppendJson writes values of the type.
bool CanBeJson(const ArrowType& type);
// Appends the value at a place, which is none that is null, as JSON; dates and timestamps as text
// (TimestampText). Throws kDataLoss for bytes that are no text.
void AppendJson(const ArrowLevel& level, int64_t place, std::string* json);

// Writes a value to the place of a field's. Throws kDataLoss "300 is no int8".
using WriteArrowValue = void (*)(const Field& field, const ArrowLevel& level, int64_t place,
                                 char* to);
WriteArrowValue WriterOf(const ArrowType& type, const Field& field);
// Whether values are stored as the field has them, and may be copied many at once.
bool IsSame(const ArrowType& type, const Field& field);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_VALUES_H_
