// SPDX-License-Identifier: Apache-2.0
// The format `parquet`. A chunk is a row group, which the footer tells with its number of records.
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/file.h"
#include "framework/reader/file_format.h"
#include "readers/arrow/arrow_access.h"
#include "readers/arrow/columnar_format.h"
#include "readers/arrow_columns.h"

namespace millhopper {
namespace {

constexpr int64_t kBatchRows = 1 << 14;  // that are decoded at once
constexpr int64_t kSampleRows = 1000;    // by which fields are guessed

using Columns = std::vector<int>;  // by their numbers in the file, in order

using Footer = std::shared_ptr<parquet::FileMetaData>;

// Many threads may use it: what it allocates, such as statistics, is in Arrow's own pool.
Footer ReadFooter(const std::shared_ptr<const File>& file) {
  ArrowAccess access(file);
  return access.Run([&] { return parquet::ReadMetaData(access.file()); });
}

// The file in Arrow's reader. One thread at a time.
class Access {
 public:
  Access(std::shared_ptr<const File> file, const Footer& footer, int64_t batch_rows = kBatchRows)
      : access_(std::move(file)) {
    access_.Run([&] {
      parquet::ReaderProperties properties(access_.memory());
      properties.set_page_checksum_verification(true);
      parquet::ArrowReaderProperties settings(false);
      settings.set_batch_size(batch_rows);
      settings.set_pre_buffer(false);  // it reads on threads of Arrow's
      auto opened = parquet::arrow::FileReader::Make(
          access_.memory(), parquet::ParquetFileReader::Open(access_.file(), properties, footer),
          settings);
      if (opened.ok()) reader_ = std::move(opened).ValueUnsafe();
      return opened.status();
    });
  }

  const parquet::arrow::SchemaManifest& manifest() const { return reader_->manifest(); }

  std::shared_ptr<arrow::Schema> schema() {
    std::shared_ptr<arrow::Schema> schema;
    access_.Run([&] { return reader_->GetSchema(&schema); });
    return schema;
  }

  // Reads the columns of row groups; calls function(batch) until there is none or it returns false.
  template <typename Function>
  void Read(const std::vector<int>& groups, const Columns& columns, const Function& function) {
    auto batches = access_.Run([&] { return reader_->GetRecordBatchReader(groups, columns); });
    for (;;) {
      std::shared_ptr<arrow::RecordBatch> batch;
      access_.Run([&] { return batches->ReadNext(&batch); });
      if (batch == nullptr || !function(*batch)) return;
    }
  }

  // The schema of what Read gives.
  std::shared_ptr<arrow::Schema> SchemaOf(const Columns& columns) {
    auto batches =
        access_.Run([&] { return reader_->GetRecordBatchReader(std::vector<int>(), columns); });
    return batches->schema();
  }

 private:
  ArrowAccess access_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
};

// Adds the columns of the file that a column of Arrow's consists of.
void AddLeaves(const parquet::arrow::SchemaField& field, std::set<int>* columns) {
  if (field.is_leaf()) columns->insert(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) AddLeaves(child, columns);
}

Columns LeavesOf(const parquet::arrow::SchemaManifest& manifest,
                 const std::vector<ArrowColumn>& found) {
  std::set<int> columns;
  for (const ArrowColumn& column : found) {
    const parquet::arrow::SchemaField* here = &manifest.schema_fields.at(column.children[0]);
    for (size_t i = 1; i < column.children.size() && !here->children.empty(); ++i) {
      here = &here->children.at(column.children[i]);
    }
    AddLeaves(*here, &columns);
  }
  return {columns.begin(), columns.end()};
}

class ParquetSource final : public FileSource {
 public:
  ParquetSource(std::shared_ptr<const File> file, const ArrowFields& fields)
      : file_(std::move(file)),
        footer_(ReadFooter(file_)),
        first_(std::make_unique<Access>(file_, footer_)),
        found_(ColumnsOf(fields, *first_->schema())),
        columns_(LeavesOf(first_->manifest(), found_)),
        rows_(RowsOf(fields, *first_->SchemaOf(columns_), found_)) {
    idle_.push_back(std::move(first_));
  }

  bool Claim(Chunk* chunk) override {
    for (; next_ < footer_->num_row_groups(); ++next_) {
      const bool claimed = WithPlace(file_->path(), 0, PlaceOf(next_), [&] {
        const std::unique_ptr<parquet::RowGroupMetaData> group = footer_->RowGroup(next_);
        if (group->num_rows() == 0) return false;
        ClaimGroup(*group, chunk);
        return true;
      });
      if (!claimed) continue;
      chunk->claimed = next_++;
      return true;
    }
    return false;
  }

  void Fetch(Chunk* chunk) const override {
    const int group = std::any_cast<int>(chunk->claimed);
    WithPlace(file_->path(), chunk->offset, PlaceOf(group), [&] {
      const auto declared = static_cast<uint64_t>(footer_->RowGroup(group)->num_rows());
      std::unique_ptr<Access> access = TakeAccess();
      uint64_t rows = 0;
      access->Read({group}, columns_, [&](const arrow::RecordBatch& batch) {
        const auto more = static_cast<uint64_t>(batch.num_rows());
        if (more <= declared - rows) AppendRows(rows_, batch, rows, chunk);
        rows += more;
        return rows <= declared;
      });
      if (rows != declared) {
        Throw(ErrorCode::kDataLoss, "it has ", rows < declared ? "" : "at least ", rows,
              " rows, but the footer says ", declared);
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      idle_.push_back(std::move(access));
    });
  }

 private:
  static std::string PlaceOf(int group) { return StrCat("row group ", group, ": "); }

  void ClaimGroup(const parquet::RowGroupMetaData& group, Chunk* chunk) const {
    if (group.num_rows() < 0 || group.num_rows() > int64_t{kMaxChunkRecords}) {
      Throw(ErrorCode::kResourceLimit, group.num_rows(), " rows; the limit is ", kMaxChunkRecords);
    }
    uint64_t begin = file_->size(), stored = 0, expanded = 0;
    for (const int column : columns_) {
      const auto part = group.ColumnChunk(column);
      const int64_t first = part->has_dictionary_page() && part->dictionary_page_offset() > 0
                                ? std::min(part->dictionary_page_offset(), part->data_page_offset())
                                : part->data_page_offset();
      const int64_t size = part->total_compressed_size();
      if (first < 0 || size < 0 || static_cast<uint64_t>(first) > file_->size() ||
          static_cast<uint64_t>(size) > file_->size() - static_cast<uint64_t>(first)) {
        Throw(ErrorCode::kDataLoss, "column ", column, ": ", size, " bytes from byte ", first,
              " on are declared in a file of ", file_->size());
      }
      begin = std::min(begin, static_cast<uint64_t>(first));
      stored += static_cast<uint64_t>(size);
      expanded += static_cast<uint64_t>(std::max<int64_t>(part->total_uncompressed_size(), 0));
      if (expanded > kMaxExpandedChunkBytes) {
        Throw(ErrorCode::kResourceLimit, "its columns have more than ", kMaxExpandedChunkBytes,
              " bytes, which is the limit; write smaller row groups, or read fewer columns");
      }
    }
    chunk->offset = begin;
    chunk->length = stored;
    chunk->records = static_cast<uint64_t>(group.num_rows());
  }

  // One that no thread uses, or a new one.
  std::unique_ptr<Access> TakeAccess() const {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Access> access = std::move(idle_.back());
        idle_.pop_back();
        return access;
      }
    }
    return std::make_unique<Access>(file_, footer_);
  }

  const std::shared_ptr<const File> file_;
  const Footer footer_;
  std::unique_ptr<Access> first_;  // until it is idle
  const std::vector<ArrowColumn> found_;
  const Columns columns_;
  const ArrowRows rows_;
  int next_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Access>> idle_;
};

class ParquetFormat final : public ColumnarFormat {
 public:
  using ColumnarFormat::ColumnarFormat;

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    return WithPlace(file.path, 0, "", [&] {
      return std::make_unique<ParquetSource>(File::Open(file.path), fields());
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
};

std::vector<std::string> Guess(const std::string& path, const AttributeMap&) {
  return WithPlace(path, 0, "", [&] {
    const std::shared_ptr<const File> file = File::Open(path);
    const Footer footer = ReadFooter(file);
    Access access(file, footer, kSampleRows);
    std::vector<std::string> fields;
    Columns all;
    for (int i = 0; i < footer->num_columns(); ++i) all.push_back(i);
    std::vector<int> first;
    if (footer->num_row_groups() > 0) first.push_back(0);
    access.Read(first, all, [&](const arrow::RecordBatch& batch) {
      fields = GuessFieldsOf(batch);
      return false;
    });
    return fields.empty() ? GuessFieldsOf(*access.schema()) : fields;
  });
}

bool Matches(const char* head, size_t size) {
  return size >= 4 && (std::string(head, 4) == "PAR1" || std::string(head, 4) == "PARE");
}

FormatSchema Schema() {
  FormatSchema schema("Parquet: columns by name, a row group at a time");
  return std::move(schema.Extension(".parquet")
                       .Extension(".pq")
                       .Magic(Matches)
                       .GuessFields(Guess)
                       .Attr(FieldsAttribute("columns, \"user.age\" in a struct, or #3")));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<ParquetFormat>(arguments);
}

REGISTER_FILE_FORMAT(parquet, Schema, Make);

}  // namespace
}  // namespace millhopper
