// SPDX-License-Identifier: Apache-2.0
// Writes elements as columns: Parquet, Arrow IPC and Feather. Texts are strings, bytes are binary,
// tensors lists of fixed sizes, sequences lists; where a mask says that there is no value, it is
// null. So many records as have some MiB are a row group or a record batch.
#include <arrow/array/builder_base.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/builder.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/table_builder.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/output/file_writer.h"

namespace millhopper {
namespace {

enum class Layout { kParquet, kArrow };

// Uncompressed, of a row group and a record batch: a thread reads one at a time.
constexpr uint64_t kRowGroupBytes = uint64_t{32} << 20;
constexpr uint64_t kBatchBytes = uint64_t{4} << 20;
constexpr int64_t kMostRows = int64_t{1} << 20;

// An output as Arrow's writers know it. An exception cannot pass through Arrow: it is kept, and
// thrown when Arrow has returned.
class Sink final : public arrow::io::OutputStream {
 public:
  explicit Sink(OutputFile* file) : file_(file) {}

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return static_cast<int64_t>(file_->bytes()); }
  arrow::Status Write(const void* bytes, int64_t size) override {
    try {
      file_->Write(static_cast<const char*>(bytes), static_cast<size_t>(size));
      return arrow::Status::OK();
    } catch (...) {
      problem_ = std::current_exception();
      return arrow::Status::IOError("the output fails");
    }
  }
  using arrow::io::OutputStream::Write;

  // Throws unless Arrow has done it.
  void Check(const arrow::Status& status) const {
    if (problem_ != nullptr) std::rethrow_exception(problem_);
    if (!status.ok()) {
      throw Error(ErrorCode::kInvalidArgument, status.ToString()).InFile(file_->path(), -1);
    }
  }
  template <typename T>
  T Checked(arrow::Result<T> result) const {
    Check(result.status());
    return std::move(result).ValueUnsafe();
  }

 private:
  OutputFile* const file_;
  bool closed_ = false;
  std::exception_ptr problem_;
};

std::shared_ptr<arrow::DataType> NumberType(DataType type) {
  switch (type) {
    case DataType::kBool:
      return arrow::boolean();
    case DataType::kInt8:
      return arrow::int8();
    case DataType::kUint8:
      return arrow::uint8();
    case DataType::kInt16:
      return arrow::int16();
    case DataType::kUint16:
      return arrow::uint16();
    case DataType::kInt32:
      return arrow::int32();
    case DataType::kUint32:
      return arrow::uint32();
    case DataType::kInt64:
      return arrow::int64();
    case DataType::kUint64:
      return arrow::uint64();
    case DataType::kFp16:
      return arrow::float16();
    case DataType::kFp32:
      return arrow::float32();
    case DataType::kFp64:
      return arrow::float64();
    case DataType::kBf16:
      return nullptr;
  }
  return nullptr;
}

std::shared_ptr<arrow::DataType> TypeOf(const OutputSlot& slot) {
  const auto item = [](std::shared_ptr<arrow::DataType> type) {
    return arrow::field("item", std::move(type), false);
  };
  int lists = slot.spec.lod_level;
  std::shared_ptr<arrow::DataType> type;
  if (slot.text_depth() > 0) {
    type = slot.spec.text ? arrow::utf8() : arrow::binary();
    --lists;
  } else {
    type = NumberType(slot.spec.dtype);
    const std::vector<int64_t> inner = slot.inner();
    for (size_t axis = inner.size(); axis-- > 0;) {
      type = arrow::fixed_size_list(item(std::move(type)), static_cast<int32_t>(inner[axis]));
    }
  }
  for (; lists > 0; --lists) type = arrow::list(item(std::move(type)));
  return type;
}

template <typename Builder, typename T>
arrow::Status AppendAs(arrow::ArrayBuilder* to, const char* values, int64_t n) {
  return static_cast<Builder*>(to)->AppendValues(reinterpret_cast<const T*>(values), n);
}

arrow::Status AppendNumbers(DataType type, arrow::ArrayBuilder* to, const char* values, int64_t n) {
  switch (type) {
    case DataType::kBool:
      return AppendAs<arrow::BooleanBuilder, uint8_t>(to, values, n);
    case DataType::kInt8:
      return AppendAs<arrow::Int8Builder, int8_t>(to, values, n);
    case DataType::kUint8:
      return AppendAs<arrow::UInt8Builder, uint8_t>(to, values, n);
    case DataType::kInt16:
      return AppendAs<arrow::Int16Builder, int16_t>(to, values, n);
    case DataType::kUint16:
      return AppendAs<arrow::UInt16Builder, uint16_t>(to, values, n);
    case DataType::kInt32:
      return AppendAs<arrow::Int32Builder, int32_t>(to, values, n);
    case DataType::kUint32:
      return AppendAs<arrow::UInt32Builder, uint32_t>(to, values, n);
    case DataType::kInt64:
      return AppendAs<arrow::Int64Builder, int64_t>(to, values, n);
    case DataType::kUint64:
      return AppendAs<arrow::UInt64Builder, uint64_t>(to, values, n);
    case DataType::kFp16:
      return AppendAs<arrow::HalfFloatBuilder, uint16_t>(to, values, n);
    case DataType::kFp32:
      return AppendAs<arrow::FloatBuilder, float>(to, values, n);
    case DataType::kFp64:
      return AppendAs<arrow::DoubleBuilder, double>(to, values, n);
    case DataType::kBf16:
      break;
  }
  return arrow::Status::NotImplemented("bfloat16");
}

// Appends the value of a slot of one element to a column.
class Appender {
 public:
  Appender(const OutputSlot& slot, const LoDTensor& tensor)
      : tensor_(tensor),
        dims_(tensor.dims()),
        lod_(tensor.lod()),
        is_text_(slot.text_depth() > 0),
        bytes_(static_cast<const char*>(tensor.raw_data())),
        row_bytes_(tensor.rows() == 0 ? 0 : tensor.bytes() / tensor.rows()) {}

  // Unit `index` of a level of detail: a row after the last one.
  arrow::Status Append(size_t level, uint64_t index, arrow::ArrayBuilder* to) const {
    if (level == lod_.size()) return AppendRow(1, bytes_ + index * row_bytes_, to);
    const uint64_t begin = lod_[level][index], end = lod_[level][index + 1];
    const bool is_last = level + 1 == lod_.size();
    if (is_last && is_text_) {
      return static_cast<arrow::BinaryBuilder*>(to)->Append(
          std::string_view(bytes_ + begin, end - begin));
    }
    auto* const list = static_cast<arrow::ListBuilder*>(to);
    ARROW_RETURN_NOT_OK(list->Append());
    arrow::ArrayBuilder* const items = list->value_builder();
    if (is_last && dims_.size() == 1) {
      return AppendNumbers(tensor_.dtype(), items, bytes_ + begin * row_bytes_,
                           static_cast<int64_t>(end - begin));
    }
    for (uint64_t i = begin; i < end; ++i) ARROW_RETURN_NOT_OK(Append(level + 1, i, items));
    return arrow::Status::OK();
  }

 private:
  // What the axes from `axis` on have.
  arrow::Status AppendRow(size_t axis, const char* values, arrow::ArrayBuilder* to) const {
    if (axis == dims_.size()) return AppendNumbers(tensor_.dtype(), to, values, 1);
    auto* const list = static_cast<arrow::FixedSizeListBuilder*>(to);
    ARROW_RETURN_NOT_OK(list->Append());
    arrow::ArrayBuilder* const items = list->value_builder();
    if (axis + 1 == dims_.size()) {
      return AppendNumbers(tensor_.dtype(), items, values, dims_[axis]);
    }
    size_t size = SizeOf(tensor_.dtype());
    for (size_t i = axis + 1; i < dims_.size(); ++i) size *= static_cast<size_t>(dims_[i]);
    for (int64_t i = 0; i < dims_[axis]; ++i, values += size) {
      ARROW_RETURN_NOT_OK(AppendRow(axis + 1, values, items));
    }
    return arrow::Status::OK();
  }

  const LoDTensor& tensor_;
  const Dims& dims_;
  const Lod& lod_;
  const bool is_text_;
  const char* const bytes_;
  const size_t row_bytes_;
};

class ColumnsWriter final : public FileWriter {
 public:
  ColumnsWriter(const std::string& path, const OutputRules& rules, Layout layout,
                const std::vector<OutputSlot>& slots)
      : output_(path, rules),
        sink_(std::make_shared<Sink>(&output_)),
        layout_(layout),
        slots_(slots) {
    arrow::FieldVector fields;
    for (const OutputSlot& slot : slots_) {
      fields.push_back(arrow::field(slot.name, TypeOf(slot), slot.mask.has_value()));
    }
    schema_ = arrow::schema(std::move(fields));
    builder_ =
        sink_->Checked(arrow::RecordBatchBuilder::Make(schema_, arrow::default_memory_pool()));
    layout_ == Layout::kParquet ? OpenParquet() : OpenArrow();
  }
  ~ColumnsWriter() override {
    if (parquet_ == nullptr) return;
    try {
      sink_->Check(parquet_->Close());  // else its destructor does, and may throw
    } catch (...) {                     // the output is given up
    }
  }

  void Write(const std::vector<LoDTensor>& element) override {
    for (size_t i = 0; i < slots_.size(); ++i) {
      const OutputSlot& slot = slots_[i];
      CheckRecord(slot, element);
      const LoDTensor& tensor = element[slot.number];
      arrow::ArrayBuilder* const column = builder_->GetField(static_cast<int>(i));
      if (!slot.HasValue(element)) {
        sink_->Check(column->AppendNull());
        continue;
      }
      if (slot.spec.text) {
        for (const std::string_view text : TextsOf(tensor)) {
          CheckIsText("a column of strings", slot, text);
        }
      }
      sink_->Check(Appender(slot, tensor).Append(0, 0, column));
      batch_bytes_ += tensor.bytes();
    }
    ++rows_;
    const uint64_t most = layout_ == Layout::kParquet ? kRowGroupBytes : kBatchBytes;
    if (batch_bytes_ >= most || rows_ == kMostRows) Flush();
  }
  void Finish() override {
    if (rows_ > 0) Flush();
    builder_.reset();
    if (parquet_ != nullptr) sink_->Check(std::exchange(parquet_, nullptr)->Close());
    if (ipc_ != nullptr) sink_->Check(std::exchange(ipc_, nullptr)->Close());
    output_.Finish();
  }
  OutputFile& output() override { return output_; }
  uint64_t bytes() const override { return flushed_ + batch_bytes_; }

 private:
  void OpenParquet() {
    parquet::WriterProperties::Builder properties;
    properties.compression(arrow::Compression::ZSTD)
        ->enable_page_checksum()
        ->max_row_group_length(kMostRows);
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    parquet_ = sink_->Checked(parquet::arrow::FileWriter::Open(
        *schema_, arrow::default_memory_pool(), sink_, properties.build(), arrow_properties));
  }
  void OpenArrow() { ipc_ = sink_->Checked(arrow::ipc::MakeFileWriter(sink_, schema_)); }

  void Flush() {
    const std::shared_ptr<arrow::RecordBatch> batch = sink_->Checked(builder_->Flush());
    if (parquet_ != nullptr) {
      const auto table = sink_->Checked(arrow::Table::FromRecordBatches({batch}));
      sink_->Check(parquet_->WriteTable(*table, kMostRows));
    } else {
      sink_->Check(ipc_->WriteRecordBatch(*batch));
    }
    flushed_ += std::exchange(batch_bytes_, 0);
    rows_ = 0;
  }

  OutputFile output_;
  const std::shared_ptr<Sink> sink_;
  const Layout layout_;
  const std::vector<OutputSlot>& slots_;  // the format's
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<arrow::RecordBatchBuilder> builder_;
  std::unique_ptr<parquet::arrow::FileWriter> parquet_;  // one of these two
  std::shared_ptr<arrow::ipc::RecordBatchWriter> ipc_;
  int64_t rows_ = 0;  // in the builder
  uint64_t batch_bytes_ = 0, flushed_ = 0;
};

class ColumnsOutput final : public OutputFormat {
 public:
  ColumnsOutput(const char* format, Layout layout, const NamedSlots& slots)
      : OutputFormat(OutputSlotsOf(slots, OutputNulls::kAsNulls)), layout_(layout) {
    for (const OutputSlot& slot : this->slots()) {
      RefuseBatches(format, slot);
      if (slot.spec.dtype == DataType::kBf16) {
        RefuseSlot(format, slot, "it has no bfloat16; cast it to float32, or write recordio");
      }
    }
  }

  std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                   uint64_t) const override {
    return std::make_unique<ColumnsWriter>(path, rules, layout_, slots());
  }

 private:
  const Layout layout_;
};

WriterSchema Schema() {
  return WriterSchema("columns: numbers, texts, bytes, tensors, lists of lists; nulls");
}

std::unique_ptr<OutputFormat> MakeParquet(const NamedSlots& slots) {
  return std::make_unique<ColumnsOutput>("parquet", Layout::kParquet, slots);
}
std::unique_ptr<OutputFormat> MakeArrow(const NamedSlots& slots) {
  return std::make_unique<ColumnsOutput>("arrow", Layout::kArrow, slots);
}
std::unique_ptr<OutputFormat> MakeFeather(const NamedSlots& slots) {
  return std::make_unique<ColumnsOutput>("feather", Layout::kArrow, slots);
}

REGISTER_FILE_WRITER(parquet, Schema, MakeParquet);
REGISTER_FILE_WRITER(arrow, Schema, MakeArrow);
REGISTER_FILE_WRITER(feather, Schema, MakeFeather);

}  // namespace
}  // namespace millhopper
