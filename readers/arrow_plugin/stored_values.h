// SPDX-License-Identifier: Apache-2.0
// Values in a Parquet file that Arrow's reader would silently change, because it cuts them to its
// own type. They are errors here.
#ifndef MILLHOPPER_READERS_ARROW_PLUGIN_STORED_VALUES_H_
#define MILLHOPPER_READERS_ARROW_PLUGIN_STORED_VALUES_H_

#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <memory>

namespace millhopper {

// Whether a column of a row group may hold such values: timestamps of INT96, of which Arrow's
// reader makes int64 nanoseconds, or microseconds; and INT32 that are said to have 8 or 16 bits,
// unless the file's statistics say that they have.
bool MayBeCut(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& column);

// Reads such a column to its end. Throws kDataLoss "row 3: column 't': 9999-12-31 ... " for the
// first of those values. `microseconds`: what Arrow's reader makes of INT96.
void CheckUncut(const std::shared_ptr<parquet::ColumnReader>& values,
                const parquet::ColumnDescriptor& column, bool microseconds);

// Whether a timestamp of the next `most` rows, or of some after them, is no whole microseconds.
bool HasNanoseconds(parquet::Int96Reader* values, int64_t most);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_PLUGIN_STORED_VALUES_H_
