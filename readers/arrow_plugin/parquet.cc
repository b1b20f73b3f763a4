// SPDX-License-Identifier: Apache-2.0
// The format `parquet`. A row group, which the footer tells with its number of records, is a chunk,
// or, if it is large, several: each reads some of the columns, and the last one gives out the rows.
#include <arrow/array/array_base.h>
#include <arrow/record_batch.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/file.h"
#include "framework/reader/file_format.h"
#include "readers/arrow/arrow_columns.h"
#include "readers/arrow_plugin/arrow_access.h"
#include "readers/arrow_plugin/columnar_format.h"
#include "readers/arrow_plugin/flat_column.h"
#include "readers/arrow_plugin/partitions.h"
#include "readers/arrow_plugin/stored_values.h"

namespace millhopper {
namespace {

constexpr int64_t kRecordRows = 1 << 14;  // that are decoded at once for records
constexpr size_t kAllLevels = SIZE_MAX;
constexpr int64_t kSampleRows = 1000;  // by which fields are guessed

using Columns = std::vector<int>;  // by their numbers in the file, in order

using Footer = std::shared_ptr<parquet::FileMetaData>;

constexpr char kEncrypted[] =
    "which is not read; pyarrow.parquet, with its keys, reads it and can "
    "write it anew without";

// Has the errors of a function say that they are about what the footer is.
template <typename Function>
auto InFooter(const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss || !error.file().empty()) throw;
    throw error.WithMessage(
        StrCat("its footer cannot be read, because it is damaged, or the file was cut or is no "
               "Parquet file: ",
               error.message()));
  }
}

// Many threads may use it: what it allocates, such as statistics, is in Arrow's own pool.
Footer ReadFooter(const std::shared_ptr<const File>& file) {
  if (file->size() == 0) Throw(ErrorCode::kDataLoss, "it is empty");
  char end[4];
  if (file->size() >= sizeof(end)) {
    file->Read(file->size() - sizeof(end), end, sizeof(end));
    if (std::string_view(end, sizeof(end)) == "PARE") {
      Throw(ErrorCode::kDataLoss, "its footer is encrypted, ", kEncrypted);
    }
  }
  ArrowAccess access(file);
  return InFooter([&] { return access.Run([&] { return parquet::ReadMetaData(access.file()); }); });
}

std::string PlaceOf(int group) { return StrCat("row group ", group, ": "); }

void CheckRows(uint64_t rows, uint64_t declared) {
  if (rows == declared) return;
  Throw(ErrorCode::kDataLoss, "it has ", rows < declared ? "" : "at least ", rows,
        " rows, but the footer says ", declared);
}

// What the footer says of a column of a row group. Throws kDataLoss if the column is encrypted.
std::unique_ptr<parquet::ColumnChunkMetaData> ChunkOf(const Footer& footer,
                                                      const parquet::RowGroupMetaData& group,
                                                      int column) {
  std::unique_ptr<parquet::ColumnChunkMetaData> chunk;
  try {
    chunk = group.ColumnChunk(column);
  } catch (const parquet::ParquetException&) {
    if (!footer->is_encryption_algorithm_set()) throw;
  }
  if (chunk == nullptr || chunk->crypto_metadata() != nullptr) {
    Throw(ErrorCode::kDataLoss, "column '",
          Escaped(group.schema()->Column(column)->path()->ToDotString()), "' is encrypted, ",
          kEncrypted);
  }
  return chunk;
}

// Where a column of a row group says that it lies. Not checked.
Stretch StretchOf(const parquet::ColumnChunkMetaData& chunk) {
  const int64_t first = chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0
                            ? std::min(chunk.dictionary_page_offset(), chunk.data_page_offset())
                            : chunk.data_page_offset();
  return {static_cast<uint64_t>(first), static_cast<uint64_t>(chunk.total_compressed_size())};
}

bool IsInt96(const parquet::FileMetaData& footer, int leaf) {
  return footer.schema()->Column(leaf)->physical_type() == parquet::Type::INT96;
}

// An outermost column of a file, as far as it is read.
struct Outermost {
  Columns leaves;
  std::shared_ptr<arrow::DataType> flat;  // FlatTypeOf
};

// The file in Arrow's reader. One thread at a time.
class Access {
 public:
  // A sample is some rows of what may be too large to be read.
  Access(std::shared_ptr<const File> file, Footer footer, int64_t batch_rows, bool sample = false)
      : access_(std::move(file), sample ? kMostSampleBytes : ArrowAccess::kMostBytes),
        footer_(std::move(footer)),
        batch_rows_(batch_rows),
        properties_(access_.memory()) {
    properties_.set_page_checksum_verification(true);
    if (sample) properties_.enable_buffered_stream();  // else all pages of a column are read
  }

  const parquet::arrow::SchemaManifest& manifest() { return reader().manifest(); }

  // Timestamps of INT96 are int64 microseconds from now on, in place of nanoseconds.
  void ReadMicroseconds() {
    microseconds_ = true;
    reader_.reset();
  }

  // Whether the first rows have timestamps of INT96, and all of these are whole microseconds.
  bool HasOnlyMicroseconds() {
    bool any = false;
    if (footer_->num_row_groups() == 0 || footer_->is_encryption_algorithm_set()) return false;
    for (int leaf = 0; leaf < footer_->num_columns(); ++leaf) {
      if (!IsInt96(*footer_, leaf)) continue;
      any = true;
      const bool is_finer = access_.Run([&] {
        const auto column = reader().parquet_reader()->RowGroup(0)->Column(leaf);
        return arrow::Result<bool>(
            HasNanoseconds(static_cast<parquet::Int96Reader*>(column.get()), kSampleRows));
      });
      if (is_finer) return false;
    }
    return any;
  }

  std::shared_ptr<arrow::Schema> schema() {
    std::shared_ptr<arrow::Schema> schema;
    access_.Run([&] { return reader().GetSchema(&schema); });
    return schema;
  }

  std::shared_ptr<ArrowMemory> shared_memory() const { return access_.shared_memory(); }

  // Reads the columns of row groups; calls function(batch) until there is none or it returns false.
  template <typename Function>
  void Read(const std::vector<int>& groups, const Columns& columns, const Function& function) {
    auto batches = access_.Run([&] { return reader().GetRecordBatchReader(groups, columns); });
    for (;;) {
      std::shared_ptr<arrow::RecordBatch> batch;
      access_.Run([&] { return batches->ReadNext(&batch); });
      if (batch == nullptr || !function(*batch)) return;
    }
  }

  // Reads all rows of a row group, as many as the footer says; calls function(batch), once or as
  // often as Arrow's reader makes several of them. `schema` is that of the columns.
  template <typename Function>
  void ReadGroup(int group, const std::vector<Outermost>& columns,
                 const std::shared_ptr<arrow::Schema>& schema, const Function& function) {
    std::vector<std::shared_ptr<arrow::Array>> flat;  // null is what Arrow's reader is to read
    Columns rest;
    for (const Outermost& column : columns) {
      flat.push_back(column.flat == nullptr ? nullptr : ReadFlat(group, column));
      if (flat.back() != nullptr) continue;
      rest.insert(rest.end(), column.leaves.begin(), column.leaves.end());
    }
    const auto rows = static_cast<uint64_t>(footer_->RowGroup(group)->num_rows());
    uint64_t done = rest.empty() ? rows : 0;
    if (rest.empty()) {
      function(*arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows), std::move(flat)));
    } else {
      Read({group}, rest, [&](const arrow::RecordBatch& batch) {
        const int64_t more = batch.num_rows();
        const auto from = static_cast<int64_t>(done);
        done += static_cast<uint64_t>(more);
        if (done > rows) return false;
        std::vector<std::shared_ptr<arrow::Array>> all;
        int next = 0;
        for (const std::shared_ptr<arrow::Array>& array : flat) {
          all.push_back(array == nullptr ? batch.column(next++) : array->Slice(from, more));
        }
        function(*arrow::RecordBatch::Make(schema, more, std::move(all)));
        return true;
      });
    }
    CheckRows(done, rows);
  }

  // Throws kDataLoss for values that Arrow's reader would change. ExtentOf must have accepted the
  // columns.
  void CheckStored(int group, const Columns& columns) {
    const std::unique_ptr<parquet::RowGroupMetaData> rows = footer_->RowGroup(group);
    for (const int number : columns) {
      const auto chunk = ChunkOf(footer_, *rows, number);
      const parquet::ColumnDescriptor& column = *footer_->schema()->Column(number);
      if (!MayBeCut(*chunk, column)) continue;
      access_.Run([&] { return access_.Keep(StretchOf(*chunk)); });
      access_.Run([&] {
        CheckUncut(reader().parquet_reader()->RowGroup(group)->Column(number), column,
                   microseconds_);
        return arrow::Status::OK();
      });
    }
  }

  // The schema of what Read gives.
  std::shared_ptr<arrow::Schema> SchemaOf(const Columns& columns) {
    auto batches =
        access_.Run([&] { return reader().GetRecordBatchReader(std::vector<int>(), columns); });
    return batches->schema();
  }

 private:
  // Made when it is needed first: it goes through the whole schema.
  parquet::arrow::FileReader& reader() {
    if (reader_ != nullptr) return *reader_;
    InFooter([&] { access_.Run([&] { return MakeReader(); }); });
    return *reader_;
  }

  arrow::Status MakeReader() {
    parquet::ArrowReaderProperties settings(false);
    settings.set_batch_size(batch_rows_);
    settings.set_pre_buffer(false);  // it reads on threads of Arrow's
    if (microseconds_) settings.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
    auto opened = parquet::arrow::FileReader::Make(
        access_.memory(), parquet::ParquetFileReader::Open(access_.file(), properties_, footer_),
        settings);
    if (opened.ok()) reader_ = std::move(opened).ValueUnsafe();
    return opened.status();
  }

  std::shared_ptr<arrow::Array> ReadFlat(int group, const Outermost& column) {
    return access_.Run([&] {
      return ReadFlatColumn(access_.file().get(), *footer_, group, column.leaves[0], column.flat,
                            properties_);
    });
  }

  ArrowAccess access_;
  const Footer footer_;
  const int64_t batch_rows_;
  parquet::ReaderProperties properties_;
  bool microseconds_ = false;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
};

// Adds the columns of the file that a column of Arrow's consists of.
void AddLeaves(const parquet::arrow::SchemaField& field, std::set<int>* columns) {
  if (field.is_leaf()) columns->insert(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) AddLeaves(child, columns);
}

// Those of the columns of some fields; the first one if the file has none of them, since it tells
// the rows.
Columns LeavesOf(const parquet::arrow::SchemaManifest& manifest, const FieldColumns& fields) {
  std::set<int> columns;
  for (const auto& [field, column] : fields) {
    if (column.empty() || column[0] >= manifest.schema_fields.size()) continue;  // of no column
    const parquet::arrow::SchemaField* here = &manifest.schema_fields.at(column.at(0));
    for (size_t i = 1; i < column.size() && !here->children.empty(); ++i) {
      here = &here->children.at(column[i]);
    }
    AddLeaves(*here, &columns);
  }
  if (columns.empty()) columns.insert(0);
  return {columns.begin(), columns.end()};
}

// The same, by the outermost columns that they are in.
std::vector<Outermost> OutermostOf(const parquet::arrow::SchemaManifest& manifest,
                                   const parquet::FileMetaData& footer, const Columns& columns) {
  std::vector<Outermost> outermost;
  for (const parquet::arrow::SchemaField& field : manifest.schema_fields) {
    std::set<int> all;
    AddLeaves(field, &all);
    Columns leaves;
    std::set_intersection(all.begin(), all.end(), columns.begin(), columns.end(),
                          std::back_inserter(leaves));
    if (leaves.empty()) continue;
    outermost.push_back({std::move(leaves), FlatTypeOf(field, footer)});
  }
  return outermost;
}

// Whether timestamps of INT96 are read, and all of them as whole microseconds or coarser.
bool AreMicrosecondsEnough(const parquet::arrow::SchemaManifest& manifest,
                           const parquet::FileMetaData& footer, const ArrowFields& fields,
                           const FieldColumns& columns) {
  constexpr int64_t kTicks = int64_t{86400} * 1000000;  // a day
  bool any = false;
  for (const FieldColumn& one : columns) {
    if (one.column.empty() || one.column[0] >= manifest.schema_fields.size()) continue;
    const Columns leaves = LeavesOf(manifest, {one});
    if (std::none_of(leaves.begin(), leaves.end(),
                     [&footer](int leaf) { return IsInt96(footer, leaf); })) {
      continue;
    }
    any = true;
    const Field& field = fields.fields()[one.field];
    if (field.decode != Field::Decode::kTimestamp || field.ticks_per_day > kTicks) {
      return false;
    }
  }
  return any;
}

// Where columns of a row group lie in the file.
struct Extent {
  uint64_t begin = 0;
  uint64_t stored = 0;
  uint64_t expanded = 0;
};

// Fields that are read together, and their columns.
struct Part {
  Columns columns;
  std::vector<Outermost> outermost;  // of the columns
  std::shared_ptr<arrow::Schema> schema;
  std::vector<size_t> partitions;  // that are used
  bool has_fields;                 // in the columns; else one of these tells the rows only
  std::shared_ptr<const ArrowRows> rows;
};

// What a chunk is.
struct Claimed {
  int group;
  size_t part;
  Ref<ArrowTable> table;  // null if rows become records
};

class ParquetSource final : public FileSource {
 public:
  // `together`: each row group is one chunk; `records`: and its rows become records.
  ParquetSource(std::shared_ptr<const File> file, const ArrowFields& fields, bool together,
                bool records)
      : file_(std::move(file)),
        footer_(ReadFooter(file_)),
        leaves_out_(AnySkips(fields.fields())),
        records_(records) {
    Access access(file_, footer_, kSampleRows);
    const std::shared_ptr<arrow::Schema> whole = access.schema();
    const auto own = static_cast<size_t>(whole->num_fields());
    partitions_.emplace(file_->path(), *whole, fields);
    std::vector<FieldColumns> parts = {ColumnsOf(fields, *partitions_->AddTo(*whole))};
    microseconds_ = AreMicrosecondsEnough(access.manifest(), *footer_, fields, parts[0]);
    if (microseconds_) access.ReadMicroseconds();
    if (!together) {
      parts = Divided(std::move(parts[0]), [&](const FieldColumns& some) {
        if (footer_->num_row_groups() == 0) return uint64_t{0};
        return ExtentOf(*footer_->RowGroup(0), LeavesOf(access.manifest(), some)).expanded;
      });
    }
    for (FieldColumns& some : parts) {
      Columns columns = LeavesOf(access.manifest(), some);
      std::shared_ptr<arrow::Schema> schema = access.SchemaOf(columns);
      std::vector<size_t> used = partitions_->UsedBy(some, own);
      const bool has_fields = std::any_of(some.begin(), some.end(), [&](const FieldColumn& one) {
        return !one.column.empty() && one.column[0] < own;
      });
      std::shared_ptr<const ArrowRows> rows =
          RowsOf(fields, *partitions_->Add(used, *schema, has_fields),
                 Narrowed(std::move(some), kAllLevels));
      std::vector<Outermost> outermost = OutermostOf(access.manifest(), *footer_, columns);
      parts_.push_back({std::move(columns), std::move(outermost), std::move(schema),
                        std::move(used), has_fields, std::move(rows)});
    }
  }

  bool Claim(Chunk* chunk) override {
    for (; group_ < footer_->num_row_groups(); ++group_) {
      const bool claimed = WithPlace(file_->path(), 0, PlaceOf(group_), [&] {
        const std::unique_ptr<parquet::RowGroupMetaData> group = footer_->RowGroup(group_);
        if (group->num_rows() == 0) return false;
        if (part_ == 0) BeginGroup(*group);
        ClaimPart(*group, chunk);
        return true;
      });
      if (!claimed) continue;
      chunk->claimed = Claimed{group_, part_, table_};
      if (!chunk->is_part) ++group_;
      part_ = chunk->is_part ? part_ + 1 : 0;
      return true;
    }
    return false;
  }

  // Whole row groups: the parts of one are claimed from the first on.
  bool Seek(uint64_t offset, std::optional<uint64_t>) override {
    for (int i = 0; i < footer_->num_row_groups(); ++i) {
      const bool found = WithPlace(file_->path(), 0, PlaceOf(i), [&] {
        const std::unique_ptr<parquet::RowGroupMetaData> group = footer_->RowGroup(i);
        return group->num_rows() > 0 && BeginOf(*group) == offset;
      });
      if (!found) continue;
      group_ = i;
      part_ = 0;
      return true;
    }
    return false;
  }

  void Fetch(Chunk* chunk) const override {
    const Claimed claimed = *std::any_cast<Claimed>(&chunk->claimed);
    WithPlace(file_->path(), chunk->offset, PlaceOf(claimed.group), [&] {
      if (records_) return FetchRecords(claimed, chunk);
      FetchPart(claimed, chunk);
    });
  }

 private:
  // Throws for columns that cannot lie in the file.
  Extent ExtentOf(const parquet::RowGroupMetaData& group, const Columns& columns) const {
    Extent extent;
    extent.begin = file_->size();
    for (const int column : columns) {
      const auto part = ChunkOf(footer_, group, column);
      const auto [first, size] = StretchOf(*part);  // numbers below zero are too large, too
      if (first > file_->size() || size > file_->size() - first) {
        Throw(ErrorCode::kDataLoss, "column ", column, ": ", part->total_compressed_size(),
              " bytes from byte ", static_cast<int64_t>(first), " on are declared in a file of ",
              file_->size());
      }
      extent.begin = std::min(extent.begin, first);
      extent.stored += size;
      extent.expanded +=
          static_cast<uint64_t>(std::max<int64_t>(part->total_uncompressed_size(), 0));
      if (extent.expanded > kMaxExpandedChunkBytes) {
        Throw(ErrorCode::kResourceLimit, "its columns have more than ", kMaxExpandedChunkBytes,
              " bytes, which is the limit; write smaller row groups, or read fewer columns");
      }
    }
    return extent;
  }

  // Where the first of the columns of a row group begins in the file.
  uint64_t BeginOf(const parquet::RowGroupMetaData& group) const {
    Columns all;
    for (const Part& part : parts_) {
      all.insert(all.end(), part.columns.begin(), part.columns.end());
    }
    return ExtentOf(group, all).begin;
  }

  void BeginGroup(const parquet::RowGroupMetaData& group) {
    if (group.num_rows() < 0 || group.num_rows() > int64_t{kMaxChunkRecords}) {
      Throw(ErrorCode::kResourceLimit, group.num_rows(), " rows; the limit is ", kMaxChunkRecords);
    }
    group_begin_ = BeginOf(group);
    if (!records_) table_ = Ref<ArrowTable>(new ArrowTable(parts_.size(), PlaceOf(group_)));
  }

  // The last part, which gives out the rows, has the place of the row group.
  void ClaimPart(const parquet::RowGroupMetaData& group, Chunk* chunk) const {
    const Extent extent = ExtentOf(group, parts_[part_].columns);
    chunk->is_part = part_ + 1 < parts_.size();
    chunk->offset = chunk->is_part ? extent.begin : group_begin_;
    chunk->length = extent.stored;
    if (chunk->is_part) {
      chunk->records = 0;
    } else if (!leaves_out_) {
      chunk->records = static_cast<uint64_t>(group.num_rows());
    }
  }

  void FetchPart(const Claimed& claimed, Chunk* chunk) const {
    const int64_t rows = footer_->RowGroup(claimed.group)->num_rows();
    const Part& part = parts_[claimed.part];
    Access access(file_, footer_, rows);
    if (microseconds_) access.ReadMicroseconds();
    access.CheckStored(claimed.group, part.columns);
    Ref<ArrowPart> columns(new ArrowPart(part.rows, access.shared_memory()));
    access.ReadGroup(
        claimed.group, part.outermost, part.schema, [&](const arrow::RecordBatch& batch) {
          AddBatch(*partitions_->Add(part.partitions, batch, part.has_fields), columns.get());
        });
    claimed.table->Set(claimed.part, columns);
    if (chunk->is_part) {
      chunk->holder = Ref<RecordHolder>(columns.get());
    } else {
      claimed.table->ListRows(0, static_cast<uint64_t>(rows), chunk);
      chunk->holder = Ref<RecordHolder>(claimed.table.get());
    }
  }

  void FetchRecords(const Claimed& claimed, Chunk* chunk) const {
    const auto declared = static_cast<uint64_t>(footer_->RowGroup(claimed.group)->num_rows());
    const Part& part = parts_[claimed.part];
    Access access(file_, footer_, kRecordRows);
    if (microseconds_) access.ReadMicroseconds();
    access.CheckStored(claimed.group, part.columns);
    uint64_t rows = 0;
    access.Read({claimed.group}, part.columns, [&](const arrow::RecordBatch& batch) {
      const auto more = static_cast<uint64_t>(batch.num_rows());
      if (more <= declared - rows) {
        AppendRecords(*part.rows, *partitions_->Add(part.partitions, batch, part.has_fields), rows,
                      chunk);
      }
      rows += more;
      return rows <= declared;
    });
    CheckRows(rows, declared);
  }

  const std::shared_ptr<const File> file_;
  const Footer footer_;
  const bool leaves_out_;  // rows, so that a chunk may have fewer records
  const bool records_;
  bool microseconds_ = false;  // what timestamps of INT96 are, in place of nanoseconds
  std::optional<PartitionColumns> partitions_;
  std::vector<Part> parts_;
  // What Claim finds next.
  int group_ = 0;
  size_t part_ = 0;
  uint64_t group_begin_ = 0;
  Ref<ArrowTable> table_;
};

class ParquetFormat final : public ColumnarFormat {
 public:
  using ColumnarFormat::ColumnarFormat;

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    return WithPlace(file.path, 0, "", [&] {
      CheckNames(file.path);
      // Rows can be left out, or become records, only where all their columns are.
      const bool together = window() || !chunks_tell_records();
      return std::make_unique<ParquetSource>(File::Open(file.path), fields(), together, window());
    });
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    if (!chunks_tell_records()) return std::nullopt;
    uint64_t records = 0;
    for (const FileEntry& file : files) {
      WithPlace(file.path, 0, "", [&] {
        const Footer footer = ReadFooter(File::Open(file.path));
        for (int i = 0; i < footer->num_row_groups(); ++i) {
          const int64_t rows = footer->RowGroup(i)->num_rows();
          if (rows < 0) Throw(ErrorCode::kDataLoss, "row group ", i, " of ", rows, " rows");
          records += static_cast<uint64_t>(rows);
        }
      });
    }
    return records;
  }

 private:
  std::shared_ptr<arrow::Schema> SchemaOf(const std::string& path) const override {
    const std::shared_ptr<const File> file = File::Open(path);
    return Access(file, ReadFooter(file), kSampleRows).schema();
  }
};

// Nothing if the statistics do not tell it, or cannot be read.
std::optional<int64_t> NullsIn(const parquet::ColumnChunkMetaData& chunk) {
  try {
    const std::shared_ptr<parquet::Statistics> statistics = chunk.statistics();
    if (statistics == nullptr || !statistics->HasNullCount()) return std::nullopt;
    return statistics->null_count();
  } catch (const parquet::ParquetException&) {
    return std::nullopt;
  }
}

// The least and the largest of int64; nothing if the statistics do not tell them, or cannot be
// read.
std::optional<std::pair<int64_t, int64_t>> RangeIn(const parquet::ColumnChunkMetaData& chunk) {
  try {
    const std::shared_ptr<parquet::Statistics> statistics = chunk.statistics();
    if (statistics == nullptr || !statistics->HasMinMax() ||
        statistics->physical_type() != parquet::Type::INT64) {
      return std::nullopt;
    }
    const auto& numbers = static_cast<const parquet::Int64Statistics&>(*statistics);
    return std::pair(numbers.min(), numbers.max());
  } catch (const parquet::ParquetException&) {
    return std::nullopt;
  }
}

// Whether a column may have nulls, by its type and by statistics. Those of lists count empty lists,
// too.
bool MayHaveNulls(const Footer& footer, int leaf, bool unless_told) {
  const parquet::ColumnDescriptor& column = *footer->schema()->Column(leaf);
  if (column.max_definition_level() == column.max_repetition_level()) return false;
  for (int i = 0; i < footer->num_row_groups(); ++i) {
    const std::optional<int64_t> nulls = NullsIn(*ChunkOf(footer, *footer->RowGroup(i), leaf));
    if (nulls ? *nulls > 0 : unless_told) return true;
  }
  return false;
}

// Whether a column is one of timestamps of nanoseconds that the statistics show to be no whole
// microseconds.
bool HasNanoseconds(const Footer& footer, int leaf) {
  constexpr int64_t kNanosecondsPerMicrosecond = 1000;
  const parquet::ColumnDescriptor& column = *footer->schema()->Column(leaf);
  const auto& type = column.logical_type();
  if (type == nullptr || !type->is_timestamp() ||
      static_cast<const parquet::TimestampLogicalType&>(*type).time_unit() !=
          parquet::LogicalType::TimeUnit::NANOS) {
    return false;
  }
  for (int i = 0; i < footer->num_row_groups(); ++i) {
    const auto range = RangeIn(*ChunkOf(footer, *footer->RowGroup(i), leaf));
    if (range && (range->first % kNanosecondsPerMicrosecond != 0 ||
                  range->second % kNanosecondsPerMicrosecond != 0)) {
      return true;
    }
  }
  return false;
}

// The numbers of the leaves of each outermost column.
std::vector<Columns> LeavesByColumn(const parquet::SchemaDescriptor& schema) {
  std::vector<Columns> leaves(static_cast<size_t>(schema.group_node()->field_count()));
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    const auto column =
        static_cast<size_t>(schema.group_node()->FieldIndex(*schema.GetColumnRoot(leaf)));
    leaves.at(column).push_back(leaf);
  }
  return leaves;
}

// What is known of the columns of files with one schema.
struct KnownSchema {
  Footer footer;  // of the first of them
  std::vector<Columns> leaves;
};

std::string ArrowSchemaIn(const parquet::FileMetaData& footer) {
  const auto& metadata = footer.key_value_metadata();
  return metadata == nullptr ? "" : metadata->Get("ARROW:schema").ValueOr("");
}

bool HaveOneSchema(const parquet::FileMetaData& a, const parquet::FileMetaData& b) {
  return a.schema()->Equals(*b.schema()) && ArrowSchemaIn(a) == ArrowSchemaIn(b);
}

// What the footer tells of the outermost columns, beyond what is known of them. `sampled`: all rows
// are looked at, too.
ArrowFacts FactsOf(const Footer& footer, const std::vector<Columns>& leaves, bool sampled,
                   const KnownColumns& known) {
  ArrowFacts facts;
  for (size_t column = 0; column < leaves.size(); ++column) {
    const auto any = [&](const auto& is_so) {
      return std::any_of(leaves[column].begin(), leaves[column].end(), is_so);
    };
    const auto may_have_nulls = [&](int leaf) {
      const bool in_list = footer->schema()->Column(leaf)->max_repetition_level() > 0;
      return !(sampled && in_list) && MayHaveNulls(footer, leaf, !sampled);
    };
    const bool is_new = known.columns.empty();
    if ((is_new || known.NeedsNulls(column)) && any(may_have_nulls)) {
      facts.with_nulls.insert(column);
    }
    const auto has_nanoseconds = [&](int leaf) { return HasNanoseconds(footer, leaf); };
    if (!sampled && (is_new || known.NeedsNanoseconds(column)) && any(has_nanoseconds)) {
      facts.with_nanoseconds.insert(column);
    }
  }
  return facts;
}

ArrowGuesses GuessBySample(const std::string& path, const std::shared_ptr<const File>& file,
                           const Footer& footer, const std::vector<Columns>& leaves) {
  Access access(file, footer, kSampleRows, true);
  const bool microseconds =
      WithPlace(path, 0, PlaceOf(0), [&] { return access.HasOnlyMicroseconds(); });
  if (microseconds) access.ReadMicroseconds();
  const bool sampled = footer->num_rows() <= kSampleRows && footer->num_row_groups() <= 1;
  return GuessColumnsOf(*access.schema(), FactsOf(footer, leaves, sampled, {}),
                        [&](const std::vector<int>& columns, const auto& use) {
                          if (footer->num_row_groups() == 0) return;
                          WithPlace(path, 0, PlaceOf(0), [&] {
                            Columns some;
                            for (const int column : columns) {
                              const Columns& more = leaves.at(static_cast<size_t>(column));
                              some.insert(some.end(), more.begin(), more.end());
                            }
                            const std::unique_ptr<parquet::RowGroupMetaData> group =
                                footer->RowGroup(0);
                            for (const int leaf : some) ChunkOf(footer, *group, leaf);
                            access.Read({0}, some, [&](const arrow::RecordBatch& batch) {
                              use(batch);
                              return false;
                            });
                          });
                        });
}

FittingFields GuessForAll(const std::vector<std::string>& paths, const AttributeMap&) {
  std::vector<KnownSchema> schemas;
  std::vector<KnownColumns> known;
  for (const std::string& path : paths) {
    WithPlace(path, 0, "", [&] {
      const std::shared_ptr<const File> file = File::Open(path);
      const Footer footer = ReadFooter(file);
      const auto same = std::find_if(schemas.rbegin(), schemas.rend(), [&](const KnownSchema& one) {
        return HaveOneSchema(*one.footer, *footer);
      });
      if (same != schemas.rend()) {
        KnownColumns& columns = known[static_cast<size_t>(schemas.rend() - same) - 1];
        columns.Add(FactsOf(footer, same->leaves, false, columns));
        return;
      }
      std::vector<Columns> leaves = LeavesByColumn(*footer->schema());
      if (schemas.empty()) {
        known.push_back({path, GuessBySample(path, file, footer, leaves)});
      } else {
        Access access(file, footer, kSampleRows, true);
        known.push_back(
            {path, GuessColumnsOf(*access.schema(), FactsOf(footer, leaves, false, {}))});
      }
      schemas.push_back({footer, std::move(leaves)});
    });
  }
  return FieldsForAll(known, paths);
}

FittingFields Guess(const std::string& path, const AttributeMap& attributes) {
  return GuessForAll({path}, attributes);
}

bool Matches(const char* head, size_t size) {
  return size >= 4 && (std::string(head, 4) == "PAR1" || std::string(head, 4) == "PARE");
}

FormatSchema Schema() {
  FormatSchema schema("Parquet: columns by name, a row group at a time");
  return std::move(schema.Extension(".parquet")
                       .Extension(".parq")
                       .Extension(".pq")
                       .Magic(Matches)
                       .InferFields(Guess)
                       .InferFieldsOfAll(GuessForAll)
                       .Attr(FieldsAttribute(
                           "columns, \"user.age\" in a struct, or numbers of them, #3, #0.age")));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<ParquetFormat>(arguments);
}

REGISTER_FILE_FORMAT(parquet, Schema, Make);

}  // namespace
}  // namespace millhopper
