// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_plugin/columnar_format.h"

#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "framework/base/error.h"
#include "readers/arrow_plugin/partitions.h"

namespace millhopper {
namespace {

void Check(const arrow::Status& status) {
  if (!status.ok()) Throw(ErrorCode::kDataLoss, Escaped(status.message()));
}

}  // namespace

ColumnarFormat::ColumnarFormat(const FormatArguments& arguments)
    : FileFormat(AgreeOnSlots(arguments.declared,
                              SlotsOf(RequiredFields(arguments.attributes, Lists::kOfLists)))),
      fields_(RequiredFields(arguments.attributes, Lists::kOfLists)),
      leaves_out_(AnySkips(fields_.fields())),
      files_(arguments.files) {
  Require(arguments.buffer_type == BufferType::kMemory,
          "buffer_type \"mmap\" is not for files of columns: they are decoded into memory");
}

void ColumnarFormat::CheckNames(const std::string& path) {
  if (std::exchange(has_checked_names_, true)) return;
  CheckSomeFileHas(fields_, path, files_, [this](const std::string& file, ArrowSchema* out) {
    const std::shared_ptr<arrow::Schema> own = SchemaOf(file);
    Check(arrow::ExportSchema(*PartitionColumns(file, *own, fields_).AddTo(*own), out));
  });
}

FieldColumns ColumnsOf(const ArrowFields& fields, const arrow::Schema& schema) {
  ArrowOwned<ArrowSchema> exported;
  Check(arrow::ExportSchema(schema, exported.out()));
  return FindColumns(fields, *exported);
}

std::shared_ptr<const ArrowRows> RowsOf(const ArrowFields& fields, const arrow::Schema& schema,
                                        FieldColumns columns) {
  ArrowOwned<ArrowSchema> exported;
  Check(arrow::ExportSchema(schema, exported.out()));
  return std::make_shared<ArrowRows>(fields, *exported, std::move(columns));
}

ArrowGuesses GuessColumnsOf(
    const arrow::Schema& schema, const ArrowFacts& known,
    const std::function<void(const std::vector<int>& columns,
                             const std::function<void(const arrow::RecordBatch&)>& use)>& read) {
  ArrowOwned<ArrowSchema> exported;
  Check(arrow::ExportSchema(schema, exported.out()));
  ArrowGuesses guesses;
  // False if the columns are too large.
  const auto guess = [&](const std::vector<int>& columns, const auto& from) {
    bool guessed = false;
    try {
      read(columns, [&](const arrow::RecordBatch& batch) {
        ArrowOwned<ArrowArray> sample;
        Check(arrow::ExportRecordBatch(batch, sample.out()));
        guesses = from(&*sample);
        guessed = true;
      });
      if (!guessed) guesses = from(nullptr);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResourceLimit) throw;
      return false;
    }
  };
  std::vector<int> columns(static_cast<size_t>(schema.num_fields()));
  std::iota(columns.begin(), columns.end(), 0);
  const auto all = [&](const ArrowArray* sample) {
    return GuessArrowColumns(*exported, sample, known);
  };
  if (guess(columns, all)) return guesses;
  ArrowGuesses of_all;
  for (const int column : columns) {
    const auto one = [&](const ArrowArray* sample) {
      return GuessArrowColumns(*exported, static_cast<size_t>(column),
                               sample == nullptr ? nullptr : sample->children[0], known);
    };
    if (!guess({column}, one)) guesses = one(nullptr);
    std::move(guesses.begin(), guesses.end(), std::back_inserter(of_all));
  }
  return of_all;
}

ArrowGuesses GuessColumnsOf(const arrow::Schema& schema, const ArrowFacts& known) {
  ArrowOwned<ArrowSchema> exported;
  Check(arrow::ExportSchema(schema, exported.out()));
  return GuessArrowColumns(*exported, nullptr, known);
}

void KnownColumns::Add(const ArrowFacts& known) {
  for (ArrowGuess& column : columns) {
    const size_t outermost = column.column.at(0);
    if (known.with_nulls.count(outermost) > 0) column.may_be_null = true;
    if (known.with_nanoseconds.count(outermost) > 0 && column.ticks_per_day > 1) {
      column.ticks_per_day = std::max(column.ticks_per_day, column.stored_per_day);
    }
  }
}

bool KnownColumns::NeedsNulls(size_t outermost) const {
  return std::any_of(columns.begin(), columns.end(), [&](const ArrowGuess& column) {
    return column.column.at(0) == outermost && !column.may_be_null;
  });
}

bool KnownColumns::NeedsNanoseconds(size_t outermost) const {
  return std::any_of(columns.begin(), columns.end(), [&](const ArrowGuess& column) {
    return column.column.at(0) == outermost && column.ticks_per_day < column.stored_per_day;
  });
}

FittingFields FieldsForAll(const std::vector<KnownColumns>& schemas,
                           const std::vector<std::string>& paths) {
  ArrowGuesses columns = schemas.at(0).columns;
  for (size_t i = 1; i < schemas.size(); ++i) {
    AddArrowColumns(schemas[i].columns, schemas[i].path, &columns);
  }
  GuessedPartitions partitions;
  for (const std::string& path : paths) partitions.Add(path);
  partitions.AddTo(paths.size(), &columns);
  if (columns.empty()) {
    throw Error(ErrorCode::kDataLoss, "it has no columns").InFile(schemas[0].path, 0);
  }
  return FieldsFor(columns);
}

void AppendRecords(const ArrowRows& rows, const arrow::RecordBatch& batch, uint64_t first_row,
                   Chunk* chunk) {
  ArrowOwned<ArrowArray> exported;
  Check(arrow::ExportRecordBatch(batch, exported.out()));
  rows.AppendRecords(*exported, 0, exported->length, first_row, chunk);
}

void AddBatch(const arrow::RecordBatch& batch, ArrowPart* part) {
  auto exported = std::make_unique<ArrowOwned<ArrowArray>>();
  Check(arrow::ExportRecordBatch(batch, exported->out()));
  part->Add(std::move(exported));
}

}  // namespace millhopper
