// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_plugin/columnar_format.h"

#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

void Check(const arrow::Status& status) {
  if (!status.ok()) Throw(ErrorCode::kDataLoss, Escaped(status.message()));
}

}  // namespace

ColumnarFormat::ColumnarFormat(const FormatArguments& arguments)
    : FileFormat(AgreeOnSlots(arguments.declared, SlotsOf(RequiredFields(arguments.attributes)))),
      fields_(RequiredFields(arguments.attributes)),
      leaves_out_(AnySkips(fields_.fields())) {
  Require(arguments.buffer_type == BufferType::kMemory,
          "buffer_type \"mmap\" is not for files of columns: they are decoded into memory");
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

FittingFields GuessFieldsOf(
    const arrow::Schema& schema, const std::set<size_t>& with_nulls,
    const std::function<void(const std::vector<int>& columns,
                             const std::function<void(const arrow::RecordBatch&)>& use)>& read) {
  ArrowOwned<ArrowSchema> exported;
  Check(arrow::ExportSchema(schema, exported.out()));
  FittingFields fields;
  // False if the columns are too large.
  const auto guess = [&](const std::vector<int>& columns, const auto& from) {
    bool guessed = false;
    try {
      read(columns, [&](const arrow::RecordBatch& batch) {
        ArrowOwned<ArrowArray> sample;
        Check(arrow::ExportRecordBatch(batch, sample.out()));
        fields = from(&*sample);
        guessed = true;
      });
      if (!guessed) fields = from(nullptr);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kResourceLimit) throw;
      return false;
    }
  };
  std::vector<int> columns(static_cast<size_t>(schema.num_fields()));
  std::iota(columns.begin(), columns.end(), 0);
  const auto all = [&](const ArrowArray* sample) {
    return GuessArrowFields(*exported, sample, with_nulls);
  };
  if (guess(columns, all)) return fields;
  FittingFields of_all;
  for (const int column : columns) {
    const auto one = [&](const ArrowArray* sample) {
      return GuessArrowFields(*exported, static_cast<size_t>(column),
                              sample == nullptr ? nullptr : sample->children[0], with_nulls);
    };
    if (!guess({column}, one)) fields = one(nullptr);
    std::move(fields.entries.begin(), fields.entries.end(), std::back_inserter(of_all.entries));
    std::move(fields.left_out.begin(), fields.left_out.end(), std::back_inserter(of_all.left_out));
  }
  return of_all;
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
