// SPDX-License-Identifier: Apache-2.0
// What the formats of files with columns share.
#ifndef MILLHOPPER_READERS_ARROW_PLUGIN_COLUMNAR_FORMAT_H_
#define MILLHOPPER_READERS_ARROW_PLUGIN_COLUMNAR_FORMAT_H_

#include <arrow/type_fwd.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "readers/arrow/arrow_columns.h"
#include "readers/arrow/arrow_guess.h"

namespace millhopper {

// A record is a row. The chunk that is fetched holds its columns, or, for a window, its records.
class ColumnarFormat : public FileFormat {
 public:
  explicit ColumnarFormat(const FormatArguments& arguments);

  bool chunks_tell_records() const override { return !leaves_out_; }
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    fields_.Load(tickets, n, rows);
  }
  void ExpectWindow() override { window_ = true; }

 protected:
  const ArrowFields& fields() const { return fields_; }
  // Whether tickets will wait in a window, so that rows are to become records.
  bool window() const { return window_; }
  // Called before a file is opened. For the first one it throws if a field that may be missing
  // names a column that no file of the reader has.
  void CheckNames(const std::string& path);

 private:
  // Of a file. Throws what opening it throws.
  virtual std::shared_ptr<arrow::Schema> SchemaOf(const std::string& path) const = 0;

  const ArrowFields fields_;
  const bool leaves_out_;
  const std::vector<FileEntry> files_;  // as far as they are known
  bool has_checked_names_ = false;
  bool window_ = false;
};

// The columns of the fields in a schema of Arrow's.
FieldColumns ColumnsOf(const ArrowFields& fields, const arrow::Schema& schema);

// How batches of this schema become rows.
std::shared_ptr<const ArrowRows> RowsOf(const ArrowFields& fields, const arrow::Schema& schema,
                                        FieldColumns columns);

// The columns of a file of this schema, by its first rows. read(columns, use) calls use(batch) for
// a batch of some of them with these outermost columns, if there is one. If that is too large
// (kMostSampleBytes), it is called column by column; of a column that is too large alone, only
// nothing beside what is known of it is told.
ArrowGuesses GuessColumnsOf(
    const arrow::Schema& schema, const ArrowFacts& known,
    const std::function<void(const std::vector<int>& columns,
                             const std::function<void(const arrow::RecordBatch&)>& use)>& read);
// The same without rows.
ArrowGuesses GuessColumnsOf(const arrow::Schema& schema, const ArrowFacts& known);

// What the first file with a schema tells of the columns, and others with the same schema.
struct KnownColumns {
  // Has outermost columns be ones that may be null, or that have nanoseconds.
  void Add(const ArrowFacts& known);
  // Whether nulls, or nanoseconds, could make a difference for an outermost column.
  bool NeedsNulls(size_t outermost) const;
  bool NeedsNanoseconds(size_t outermost) const;

  std::string path;
  ArrowGuesses columns;
};
// The fields of files with these schemas, by what their own names tell, too.
FittingFields FieldsForAll(const std::vector<KnownColumns>& schemas,
                           const std::vector<std::string>& paths);

// What Arrow may hold for rows that are looked at. A file of some KB can expand to gigabytes.
constexpr int64_t kMostSampleBytes = int64_t{128} << 20;

// Adds the rows of a batch, counted from `first_row` on, as records to a chunk.
void AppendRecords(const ArrowRows& rows, const arrow::RecordBatch& batch, uint64_t first_row,
                   Chunk* chunk);
// Adds a batch to a part of a table.
void AddBatch(const arrow::RecordBatch& batch, ArrowPart* part);

// Calls the function, and has its errors name the file, the byte and the place ("row group 3: ").
// What Arrow throws is an error of the file's content.
template <typename Function>
auto WithPlace(const std::string& path, uint64_t offset, const std::string& place,
               const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    if (error.interrupts() || !error.file().empty()) throw;
    throw error.WithMessage(place + error.message()).InFile(path, static_cast<int64_t>(offset));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    throw Error(ErrorCode::kDataLoss, place + Escaped(exception.what()))
        .InFile(path, static_cast<int64_t>(offset));
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_PLUGIN_COLUMNAR_FORMAT_H_
