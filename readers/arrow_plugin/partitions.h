// SPDX-License-Identifier: Apache-2.0
// Columns that the folders of a file tell, as Hive and those after it write them:
//
//   sales/year=2024/country=de/part-0.parquet
//
// has the columns year and country, with the same value in all rows. They come after those of the
// file, and a column of the same name in the file comes before one of them.
#ifndef MILLHOPPER_READERS_ARROW_PLUGIN_PARTITIONS_H_
#define MILLHOPPER_READERS_ARROW_PLUGIN_PARTITIONS_H_

#include <arrow/type_fwd.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "readers/arrow/arrow_columns.h"
#include "readers/arrow/arrow_guess.h"

namespace millhopper {

// What a folder tells.
struct Partition {
  std::string name;
  std::optional<std::string> value;  // nothing for __HIVE_DEFAULT_PARTITION__
};

// Of the folders that a file lies in, the ones next to each other up to the file itself, from the
// outermost on.
std::vector<Partition> PartitionsOf(const std::string& path);

// The columns of the partitions of one file. Immutable; any thread.
class PartitionColumns {
 public:
  // Those that `fields` name and the schema of the file lacks. Throws kDataLoss for a value that
  // does not fit its field.
  PartitionColumns(const std::string& path, const arrow::Schema& schema, const ArrowFields& fields);

  // The schema with all of them after its columns.
  std::shared_ptr<arrow::Schema> AddTo(const arrow::Schema& schema) const;
  // Of columns in a schema of `columns` columns with these after them, those of these that are
  // used, by their numbers here.
  std::vector<size_t> UsedBy(const FieldColumns& fields, size_t columns) const;
  // Some of them after the columns of a schema or a batch; without these columns unless
  // `with_others`.
  std::shared_ptr<arrow::Schema> Add(const std::vector<size_t>& used, const arrow::Schema& schema,
                                     bool with_others) const;
  std::shared_ptr<arrow::RecordBatch> Add(const std::vector<size_t>& used,
                                          const arrow::RecordBatch& batch, bool with_others) const;

 private:
  std::vector<std::shared_ptr<arrow::Field>> fields_;
  std::vector<std::shared_ptr<arrow::Array>> values_;  // one each
};

// What the partitions of several files are. One thread.
class GuessedPartitions {
 public:
  void Add(const std::string& path);
  // Adds the columns to those of the files, of which there are so many.
  void AddTo(size_t files, ArrowGuesses* columns) const;

 private:
  struct Values {
    size_t files = 0;
    bool integers = true;
    bool nulls = false;
  };
  std::vector<std::string> names_;  // in their order
  std::map<std::string, Values> values_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_PLUGIN_PARTITIONS_H_
