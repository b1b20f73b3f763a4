// SPDX-License-Identifier: Apache-2.0
// The types of Arrow's columns, as a schema tells them (arrow_c_data.h).
// Source: https://arrow.apache.org/docs/format/CDataInterface.html, "Data type description".
#ifndef MILLHOPPER_READERS_ARROW_ARROW_TYPES_H_
#define MILLHOPPER_READERS_ARROW_ARROW_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/tensor/tensor.h"
#include "readers/arrow/arrow_c_data.h"

namespace millhopper {

// Values of the same kind lie in memory in the same way.
enum class ArrowKind {
  kNull,
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFp16,
  kFp32,
  kFp64,
  kDecimal,
  kFixedBytes,
  kBytes,
  kLargeBytes,
  kViewedBytes,
  kStruct,
  kList,
  kLargeList,
  kListView,
  kLargeListView,
  kFixedList,
  kRunEnds,  // values of which each stands for a run of rows
  kOther,    // cannot be read
};

struct ArrowType {
  ArrowKind kind = ArrowKind::kOther;
  int64_t size = 0;  // bytes of a decimal, of fixed bytes or of the end of a run; values of a fixed
                     // list
  int digits = 0;    // of a decimal
  int scale = 0;     // of these, digits after the point
  int64_t ticks_per_day = 0;  // of a date or a timestamp; 0: it is neither
};

bool IsList(ArrowKind kind);
bool IsText(ArrowKind kind);
// Whether values of text are UTF-8, as the schema says.
bool IsUtf8(const ArrowSchema& schema);
// Whether a float64 gives back all decimals of the type.
bool FitsFloat64(const ArrowType& decimal);

// What values stand for: of a dictionary its words, of run ends the values of the runs.
const ArrowSchema& MeaningOf(const ArrowSchema& schema);
// The type of values; of a dictionary that of the places in it.
ArrowType ArrowTypeOf(const ArrowSchema& schema);
// The type in words, such as "a dictionary of string".
std::string ArrowTypeName(const ArrowSchema& schema);
// The type of a field that can hold all such numbers.
DataType GuessDataType(const ArrowSchema& schema);

bool IsDate(const ArrowSchema& schema);
// Whether it is a time of day or a duration: a number in the unit that the name of the type tells.
bool HasUnitOfItsOwn(const ArrowSchema& schema);
// The unit of a date or timestamp, as unit= names it.
std::string_view TimeUnitOf(int64_t ticks_per_day);
// Sets *converted to so many ticks of a unit in another one; of two units one is a multiple of the
// other. False if that is no int64.
bool ConvertTicks(int64_t ticks, int64_t ticks_per_day, int64_t converted_per_day,
                  int64_t* converted);

// The name of a column; "" if it has none.
std::string_view ArrowNameOf(const ArrowSchema& schema);
size_t ChildrenOf(const ArrowSchema& schema);
// The child of a list. Throws kDataLoss unless it has just that.
const ArrowSchema& ItemOf(const ArrowSchema& list);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_TYPES_H_
