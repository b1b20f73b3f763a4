// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_plugin/partitions.h"

#include <arrow/array/array_base.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/array_run_end.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr std::string_view kNullValue = "__HIVE_DEFAULT_PARTITION__";

template <typename T>
T Checked(arrow::Result<T> result) {
  if (!result.ok()) Throw(ErrorCode::kDataLoss, Escaped(result.status().message()));
  return std::move(result).ValueUnsafe();
}

void Check(const arrow::Status& status) {
  if (!status.ok()) Throw(ErrorCode::kDataLoss, Escaped(status.message()));
}

// Writers put %2F for a slash, and the like.
std::string Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const char* const begin = text.data() + i + 1;
      const auto read = std::from_chars(begin, begin + 2, byte, 16);
      if (read.ec == std::errc() && read.ptr == begin + 2) {
        decoded.push_back(static_cast<char>(byte));
        i += 2;
        continue;
      }
    }
    decoded.push_back(text[i]);
  }
  return decoded;
}

std::optional<int64_t> IntegerIn(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

std::shared_ptr<arrow::Array> TextArray(const std::optional<std::string>& value) {
  arrow::BinaryBuilder builder;
  Check(value ? builder.Append(*value) : builder.AppendNull());
  return Checked(builder.Finish());
}

std::shared_ptr<arrow::Array> IntegerArray(const Partition& partition) {
  arrow::Int64Builder builder;
  if (partition.value) {
    const std::optional<int64_t> number = IntegerIn(*partition.value);
    if (!number) {
      Throw(ErrorCode::kDataLoss, "column '", Escaped(partition.name), "': its folder says '",
            Escaped(*partition.value), "', which is no integer; bytes takes it");
    }
    Check(builder.Append(*number));
  } else {
    Check(builder.AppendNull());
  }
  return Checked(builder.Finish());
}

}  // namespace

std::vector<Partition> PartitionsOf(const std::string& path) {
  std::vector<Partition> partitions;
  size_t end = path.rfind('/');
  while (end != std::string::npos && end > 0) {
    const size_t slash = path.rfind('/', end - 1);
    const size_t begin = slash == std::string::npos ? 0 : slash + 1;
    const std::string_view folder = std::string_view(path).substr(begin, end - begin);
    const size_t equal = folder.find('=');
    if (equal == std::string_view::npos || equal == 0) break;
    const std::string_view value = folder.substr(equal + 1);
    Partition partition{Decoded(folder.substr(0, equal)), std::nullopt};
    if (value != kNullValue) partition.value = Decoded(value);
    partitions.insert(partitions.begin(), std::move(partition));
    end = slash;
  }
  return partitions;
}

PartitionColumns::PartitionColumns(const std::string& path, const arrow::Schema& schema,
                                   const ArrowFields& fields) {
  for (const Partition& partition : PartitionsOf(path)) {
    if (schema.GetFieldIndex(partition.name) >= 0) continue;
    const auto field = std::find_if(fields.fields().begin(), fields.fields().end(),
                                    [&](const Field& one) { return one.name == partition.name; });
    if (field == fields.fields().end()) continue;
    const bool text = field->bytes || field->from_text();
    values_.push_back(text ? TextArray(partition.value) : IntegerArray(partition));
    fields_.push_back(arrow::field(partition.name,
                                   arrow::run_end_encoded(arrow::int64(), values_.back()->type())));
  }
}

std::shared_ptr<arrow::Schema> PartitionColumns::AddTo(const arrow::Schema& schema) const {
  arrow::FieldVector all = schema.fields();
  all.insert(all.end(), fields_.begin(), fields_.end());
  return arrow::schema(std::move(all));
}

std::vector<size_t> PartitionColumns::UsedBy(const FieldColumns& fields, size_t columns) const {
  std::set<size_t> used;
  for (const FieldColumn& field : fields) {
    if (!field.column.empty() && field.column[0] >= columns) used.insert(field.column[0] - columns);
  }
  return {used.begin(), used.end()};
}

std::shared_ptr<arrow::Schema> PartitionColumns::Add(const std::vector<size_t>& used,
                                                     const arrow::Schema& schema,
                                                     bool with_others) const {
  arrow::FieldVector all;
  if (with_others) all = schema.fields();
  for (const size_t number : used) all.push_back(fields_.at(number));
  return arrow::schema(std::move(all));
}

std::shared_ptr<arrow::RecordBatch> PartitionColumns::Add(const std::vector<size_t>& used,
                                                          const arrow::RecordBatch& batch,
                                                          bool with_others) const {
  arrow::ArrayVector all;
  if (with_others) all = batch.columns();
  for (const size_t number : used) {
    arrow::Int64Builder ends;
    Check(ends.Append(batch.num_rows()));
    all.push_back(Checked(arrow::RunEndEncodedArray::Make(batch.num_rows(), Checked(ends.Finish()),
                                                          values_.at(number))));
  }
  return arrow::RecordBatch::Make(Add(used, *batch.schema(), with_others), batch.num_rows(),
                                  std::move(all));
}

void GuessedPartitions::Add(const std::string& path) {
  for (const Partition& partition : PartitionsOf(path)) {
    const auto [entry, added] = values_.try_emplace(partition.name);
    if (added) names_.push_back(partition.name);
    Values& values = entry->second;
    ++values.files;
    values.nulls = values.nulls || !partition.value;
    if (!partition.value) continue;
    // "01" would lose its zero.
    const std::optional<int64_t> number = IntegerIn(*partition.value);
    values.integers = values.integers && number && std::to_string(*number) == *partition.value;
  }
}

void GuessedPartitions::AddTo(size_t files, ArrowGuesses* columns) const {
  for (const std::string& name : names_) {
    const Values& values = values_.at(name);
    const bool known = std::any_of(columns->begin(), columns->end(),
                                   [&](const ArrowGuess& one) { return one.path == name; });
    if (known) continue;
    ArrowGuess guess;
    guess.path = guess.name = name;
    guess.is_text = !values.integers;
    guess.may_be_null = values.nulls || values.files < files;
    columns->push_back(std::move(guess));
  }
}

}  // namespace millhopper
