// SPDX-License-Identifier: Apache-2.0
// Columns of plain numbers, decoded from the pages of a Parquet file without Arrow's own decoders.
// Those make levels, a bitmap and a copy of the dictionary before the values; where no value is
// null, a number needs no more than its place in the dictionary.
#ifndef MILLHOPPER_READERS_ARROW_PLUGIN_FLAT_COLUMN_H_
#define MILLHOPPER_READERS_ARROW_PLUGIN_FLAT_COLUMN_H_

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>
#include <parquet/arrow/schema.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <cstdint>
#include <memory>

namespace millhopper {

// The type of a column of the file that is an outermost one of numbers of 4 or 8 bytes, which are
// stored as Arrow has them; null of any other.
std::shared_ptr<arrow::DataType> FlatTypeOf(const parquet::arrow::SchemaField& field,
                                            const parquet::FileMetaData& footer);

// Reads such a column, by its number, of a row group. Returns null if it has a null, is stored in
// another way than as numbers or as their places in a dictionary, or makes no sense: Arrow's reader
// may read it, and says what is wrong. Any thread; `properties` has the pool that the values are
// in.
std::shared_ptr<arrow::Array> ReadFlatColumn(arrow::io::RandomAccessFile* file,
                                             const parquet::FileMetaData& footer, int group,
                                             int column,
                                             const std::shared_ptr<arrow::DataType>& type,
                                             const parquet::ReaderProperties& properties);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_PLUGIN_FLAT_COLUMN_H_
