// SPDX-License-Identifier: Apache-2.0
// The format `columns`, for tests: columns in Arrow's memory become records as those of Parquet and
// Arrow files do, in parts or together, without a library of Arrow. A file is i64 n and one i64 a
// record; n of these are a chunk, which holds the columns that ColumnsAbout makes of them.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "framework/io/file.h"
#include "framework/reader/file_format.h"
#include "readers/arrow/arrow_columns.h"
#include "tests/files/field_files.h"

namespace millhopper {
namespace {

// A struct of columns with only those that are wanted, down to the innermost structs.
class NarrowedColumns {
 public:
  NarrowedColumns(ColumnPtr columns, const FieldColumns& wanted) : columns_(std::move(columns)) {
    std::map<ArrowColumn, std::set<size_t>> kept;
    for (const FieldColumn& one : wanted) {
      ArrowColumn way;
      for (const size_t child : one.column) {
        kept[way].insert(child);
        way.push_back(child);
      }
    }
    top_ = Narrow(columns_->schema, columns_->array, {}, kept);
  }
  NarrowedColumns(const NarrowedColumns&) = delete;
  NarrowedColumns& operator=(const NarrowedColumns&) = delete;

  const ArrowSchema& schema() const { return top_->schema; }
  const ArrowArray& array() const { return top_->array; }

 private:
  struct Node {
    ArrowSchema schema;
    ArrowArray array;
    std::vector<ArrowSchema*> schemas;
    std::vector<ArrowArray*> arrays;
  };

  Node* Narrow(const ArrowSchema& schema, const ArrowArray& array, const ArrowColumn& way,
               const std::map<ArrowColumn, std::set<size_t>>& kept) {
    nodes_.push_back(std::make_unique<Node>(Node{schema, array, {}, {}}));
    Node* const node = nodes_.back().get();
    const auto children = kept.find(way);
    if (children == kept.end()) return node;
    for (const size_t child : children->second) {
      ArrowColumn longer = way;
      longer.push_back(child);
      Node* const below = Narrow(*schema.children[child], *array.children[child], longer, kept);
      node->schemas.push_back(&below->schema);
      node->arrays.push_back(&below->array);
    }
    node->schema.n_children = node->array.n_children = static_cast<int64_t>(node->schemas.size());
    node->schema.children = node->schemas.data();
    node->array.children = node->arrays.data();
    return node;
  }

  const ColumnPtr columns_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Node* top_ = nullptr;
};

// An array that keeps its columns until it is released.
std::unique_ptr<const ArrowOwned<ArrowArray>> Owned(std::shared_ptr<NarrowedColumns> columns) {
  auto owned = std::make_unique<ArrowOwned<ArrowArray>>();
  *owned->out() = columns->array();
  owned->out()->private_data = new std::shared_ptr<NarrowedColumns>(std::move(columns));
  owned->out()->release = [](ArrowArray* array) {
    delete static_cast<std::shared_ptr<NarrowedColumns>*>(array->private_data);
    array->release = nullptr;
  };
  return owned;
}

struct Part {
  FieldColumns columns;
  std::shared_ptr<const ArrowRows> rows;
};

struct Claimed {
  size_t part;
  Ref<ArrowTable> table;  // null if rows become records
};

class ColumnSource final : public FileSource {
 public:
  ColumnSource(std::shared_ptr<const File> file, const ArrowFields& fields, bool together,
               bool records)
      : file_(std::move(file)), leaves_out_(AnySkips(fields.fields())), records_(records) {
    file_->Read(0, reinterpret_cast<char*>(&chunk_records_), sizeof(chunk_records_));
    const ColumnPtr columns = ColumnsAbout({});
    std::vector<FieldColumns> parts = {FindColumns(fields, columns->schema)};
    if (!together) {
      parts = Divided(std::move(parts[0]), [](const FieldColumns& some) {
        return some[0].column[0] % 3 == 0 ? uint64_t{0} : uint64_t{1} << 20;
      });
    }
    for (FieldColumns& part : parts) {
      std::reverse(part.begin(), part.end());  // their order means nothing
      const NarrowedColumns narrowed(columns, part);
      parts_.push_back({part, std::make_shared<ArrowRows>(fields, narrowed.schema(),
                                                          Narrowed(part, part.size() + 10))});
    }
  }

  bool Claim(Chunk* chunk) override {
    if (at_ >= file_->size()) return false;
    const uint64_t size = std::min<uint64_t>(8 * chunk_records_, file_->size() - at_);
    chunk->offset = at_;
    chunk->length = size;
    chunk->is_part = part_ + 1 < parts_.size();
    if (!leaves_out_) chunk->records = chunk->is_part ? 0 : size / 8;
    if (part_ == 0 && !records_) table_ = Ref<ArrowTable>(new ArrowTable(parts_.size(), ""));
    chunk->claimed = Claimed{part_, table_};
    part_ = chunk->is_part ? part_ + 1 : 0;
    if (!chunk->is_part) at_ += size;
    return true;
  }

  bool Seek(uint64_t offset, std::optional<uint64_t>) override {
    at_ = offset;
    part_ = 0;
    return true;
  }

  void Fetch(Chunk* chunk) const override {
    const Claimed claimed = *std::any_cast<Claimed>(&chunk->claimed);
    std::vector<int64_t> about(chunk->length / 8);
    file_->Read(chunk->offset, reinterpret_cast<char*>(about.data()), 8 * about.size());
    const Part& part = parts_[claimed.part];
    auto columns = std::make_shared<NarrowedColumns>(ColumnsAbout(about), part.columns);
    const auto rows = static_cast<uint64_t>(about.size());
    if (records_) {
      part.rows->AppendRecords(columns->array(), 0, columns->array().length, 0, chunk);
      return;
    }
    Ref<ArrowPart> holder(new ArrowPart(part.rows, nullptr));
    holder->Add(Owned(std::move(columns)));
    claimed.table->Set(claimed.part, holder);
    if (chunk->is_part) {
      chunk->holder = Ref<RecordHolder>(holder.get());
    } else {
      claimed.table->ListRows(0, rows, chunk);
      chunk->holder = Ref<RecordHolder>(claimed.table.get());
    }
  }

 private:
  const std::shared_ptr<const File> file_;
  const bool leaves_out_, records_;
  int64_t chunk_records_ = 0;
  std::vector<Part> parts_;
  // What Claim finds next.
  uint64_t at_ = sizeof(int64_t);
  size_t part_ = 0;
  Ref<ArrowTable> table_;
};

class ColumnFormat final : public FileFormat {
 public:
  explicit ColumnFormat(const FormatArguments& arguments)
      : FileFormat(AgreeOnSlots(arguments.declared, SlotsOf(RequiredFields(arguments.attributes)))),
        fields_(RequiredFields(arguments.attributes)) {}

  bool chunks_tell_records() const override { return !AnySkips(fields_.fields()); }
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    fields_.Load(tickets, n, rows);
  }
  void ExpectWindow() override { window_ = true; }
  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    return std::make_unique<ColumnSource>(File::Open(file.path), fields_,
                                          window_ || !chunks_tell_records(), window_);
  }

 private:
  const ArrowFields fields_;
  bool window_ = false;
};

FormatSchema ColumnSchema() {
  FormatSchema schema("Numbers, and columns that are made of them");
  return std::move(schema.Extension(".columns").Attr(FieldsAttribute("columns")));
}

std::unique_ptr<FileFormat> MakeColumnFormat(const FormatArguments& arguments) {
  return std::make_unique<ColumnFormat>(arguments);
}

REGISTER_FILE_FORMAT(columns, ColumnSchema, MakeColumnFormat);

}  // namespace
}  // namespace millhopper
