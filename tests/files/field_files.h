// SPDX-License-Identifier: Apache-2.0
// Files of every format that has fields, for tests that read them with fields in any order. Record
// i of a file is about the number n = first + i, and each field that is listed here says what it is
// of the record about n.
#ifndef MILLHOPPER_TESTS_FILES_FIELD_FILES_H_
#define MILLHOPPER_TESTS_FILES_FIELD_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/files/arrow_arrays.h"
#include "tests/testing.h"

namespace millhopper {

struct ListedField {
  std::string entry;
  SlotValue (*value)(int64_t n);
  // Whether the record is left out, if the field says so; null if none is.
  bool (*leaves_out)(int64_t n) = nullptr;
};

// A format with the fields of its files, more of them than these have columns, and in another order
// than these.
struct FieldFormat {
  std::string tag;
  std::vector<ListedField> fields;
  // The bytes of a file; `records` follow `first`. Formats of columns have chunks of
  // `chunk_records`; all others one, if the file is small.
  std::string (*content)(int64_t first, int64_t records, int64_t chunk_records);
  bool has_chunks = false;     // of chunk_records
  bool has_header = false;     // so that a file without records has a chunk, too
  bool is_stream = false;      // its chunks are found by reading only
  bool tells_records = false;  // of a chunk before they are read
  bool compresses = false;     // may be compressed as a whole
  bool repeats = true;         // a column may be named twice
  bool has_shards = false;     // the content is that of a shard, of which there is an index
};

// All formats; `parquet` only if MILLHOPPER_PARQUET_PLUGIN names the plugin, which is then loaded.
const std::vector<FieldFormat>& FieldFormats();
const FieldFormat& FieldFormatOf(const std::string& tag);

// Writes a file of this path. If the format has shards, the path is that of the index, in its own
// folder, which is made.
void WriteFieldFile(const FieldFormat& format, const std::string& path, int64_t first,
                    int64_t records, int64_t chunk_records);

// What a file of the format `columns` holds of these numbers, as Arrow has it.
ColumnPtr ColumnsAbout(const std::vector<int64_t>& about);

// What a record is with these entries; false if one of them leaves it out.
bool RecordWithFields(const FieldFormat& format, const std::vector<std::string>& entries, int64_t n,
                      ElementValue* record);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_FIELD_FILES_H_
