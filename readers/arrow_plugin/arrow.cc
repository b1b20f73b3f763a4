// SPDX-License-Identifier: Apache-2.0
// The formats `arrow`, which is Arrow IPC as a file or a stream, and `feather`, which is the file
// under another name. A chunk is a record batch; its header tells the number of records.
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/extension_type.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

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
#include "readers/arrow/arrow_columns.h"
#include "readers/arrow_plugin/arrow_access.h"
#include "readers/arrow_plugin/columnar_format.h"
#include "readers/arrow_plugin/ipc_messages.h"
#include "readers/arrow_plugin/partitions.h"

namespace millhopper {
namespace {

constexpr char kFileMagic[] = "ARROW1";
constexpr char kFeather1Magic[] = "FEA1";
constexpr int64_t kSampleRows = 1000;  // by which fields are guessed

bool BeginsWith(const char* head, size_t size, const std::string& magic) {
  return size >= magic.size() && std::string(head, magic.size()) == magic;
}

// The columns that are decoded, by their numbers among the outermost ones; none are all.
arrow::ipc::IpcReadOptions OptionsFor(const ArrowAccess& access, const std::vector<int>& columns) {
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = access.memory();
  options.use_threads = false;
  options.included_fields = columns;
  return options;
}

// The array with types that allow any bytes: texts as binary, times and decimals as numbers, and
// without its count of nulls.
std::shared_ptr<arrow::ArrayData> StructureOf(const arrow::ArrayData& array) {
  std::shared_ptr<arrow::ArrayData> same = array.Copy();
  if (array.type->id() != arrow::Type::NA) same->null_count = arrow::kUnknownNullCount;
  arrow::FieldVector children;
  for (std::shared_ptr<arrow::ArrayData>& child : same->child_data) {
    child = StructureOf(*child);
    children.push_back(arrow::field("", child->type));
  }
  if (same->dictionary != nullptr) same->dictionary = StructureOf(*same->dictionary);
  const arrow::DataType& type = *array.type;
  switch (type.id()) {
    case arrow::Type::STRING:
      same->type = arrow::binary();
      break;
    case arrow::Type::LARGE_STRING:
      same->type = arrow::large_binary();
      break;
    case arrow::Type::STRING_VIEW:
      same->type = arrow::binary_view();
      break;
    case arrow::Type::DATE64:
    case arrow::Type::TIME64:
      same->type = arrow::int64();
      break;
    case arrow::Type::TIME32:
      same->type = arrow::int32();
      break;
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      same->type = arrow::fixed_size_binary(
          static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width());
      break;
    case arrow::Type::STRUCT:
      same->type = arrow::struct_(children);
      break;
    case arrow::Type::LIST:
    case arrow::Type::MAP:
      same->type = arrow::list(children.at(0));
      break;
    case arrow::Type::LARGE_LIST:
      same->type = arrow::large_list(children.at(0));
      break;
    case arrow::Type::LIST_VIEW:
      same->type = arrow::list_view(children.at(0));
      break;
    case arrow::Type::LARGE_LIST_VIEW:
      same->type = arrow::large_list_view(children.at(0));
      break;
    case arrow::Type::RUN_END_ENCODED:
      same->type = arrow::run_end_encoded(children.at(0)->type(), children.at(1)->type());
      break;
    case arrow::Type::FIXED_SIZE_LIST:
      same->type = arrow::fixed_size_list(
          children.at(0), static_cast<const arrow::FixedSizeListType&>(type).list_size());
      break;
    case arrow::Type::DICTIONARY:
      same->type = arrow::dictionary(static_cast<const arrow::DictionaryType&>(type).index_type(),
                                     same->dictionary->type);
      break;
    case arrow::Type::EXTENSION: {
      std::shared_ptr<arrow::ArrayData> storage = array.Copy();
      storage->type = static_cast<const arrow::ExtensionType&>(type).storage_type();
      return StructureOf(*storage);
    }
    default:
      same->child_data = array.child_data;  // types that are not read
  }
  return same;
}

// Refuses arrays that would be read beyond their end, but nothing else that Arrow's own reader
// accepts: text need not be UTF-8, nor times be of a day, as they are not in some old files.
arrow::Status CheckStructure(const arrow::ArrayData& array) {
  return arrow::MakeArray(StructureOf(array))->ValidateFull();
}

// Opens files and streams. One thread at a time.
class IpcAccess {
 public:
  // A file.
  IpcAccess(std::shared_ptr<const File> file, const std::vector<int>& columns,
            int64_t most_bytes = ArrowAccess::kMostBytes)
      : access_(std::move(file), most_bytes) {
    file_ = access_.Run([&] {
      return arrow::ipc::RecordBatchFileReader::Open(access_.file(), OptionsFor(access_, columns));
    });
  }
  // Messages of a stream, the schema first.
  IpcAccess(std::shared_ptr<const File> file, const std::vector<Stretch>& messages,
            const std::vector<int>& columns, int64_t most_bytes = ArrowAccess::kMostBytes)
      : access_(std::move(file), messages, most_bytes) {
    stream_ = access_.Run([&] {
      return arrow::ipc::RecordBatchStreamReader::Open(access_.file(),
                                                       OptionsFor(access_, columns));
    });
  }

  std::shared_ptr<arrow::Schema> schema() const {
    return file_ != nullptr ? file_->schema() : stream_->schema();
  }
  int batches() const { return file_->num_record_batches(); }
  std::shared_ptr<ArrowMemory> shared_memory() const { return access_.shared_memory(); }

  // A batch of the file by its number, or the only one of the messages. Checks all that it holds.
  std::shared_ptr<arrow::RecordBatch> Read(int number) {
    access_.BeginChunk();
    auto batch = access_.Run([&]() -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
      if (file_ != nullptr) return file_->ReadRecordBatch(number);
      std::shared_ptr<arrow::RecordBatch> next;
      ARROW_RETURN_NOT_OK(stream_->ReadNext(&next));
      return next;
    });
    if (batch == nullptr) Throw(ErrorCode::kDataLoss, "it is not there");
    access_.Run([&]() -> arrow::Status {
      for (const auto& column : batch->column_data()) ARROW_RETURN_NOT_OK(CheckStructure(*column));
      return arrow::Status::OK();
    });
    return batch;
  }

 private:
  ArrowAccess access_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_;
};

// What the fields need of a file: which columns to decode, all if it has none of them, and how they
// become rows.
struct Wanted {
  Wanted(const std::string& path, const ArrowFields& fields, const arrow::Schema& schema)
      : partitions(path, schema, fields) {
    FieldColumns found = ColumnsOf(fields, *partitions.AddTo(schema));
    const auto own = static_cast<size_t>(schema.num_fields());
    std::set<int> outermost;
    for (const FieldColumn& one : found) {
      if (!one.column.empty() && one.column[0] < own) {
        outermost.insert(static_cast<int>(one.column[0]));
      }
    }
    columns.assign(outermost.begin(), outermost.end());
    used = partitions.UsedBy(found, own);
    arrow::FieldVector decoded;
    for (const int column : columns) decoded.push_back(schema.field(column));
    rows = RowsOf(fields, *partitions.Add(used, arrow::Schema(decoded), true),
                  Narrowed(std::move(found), 1));
  }

  // What the rows are made of.
  std::shared_ptr<arrow::RecordBatch> Of(const arrow::RecordBatch& decoded) const {
    return partitions.Add(used, decoded, !columns.empty());
  }

  PartitionColumns partitions;
  std::vector<size_t> used;  // of the partitions
  std::vector<int> columns;
  std::shared_ptr<const ArrowRows> rows;
};

// What a chunk of either kind is.
struct Claimed {
  uint64_t number;                // of the record batch
  uint64_t rows;                  // as its header says
  std::vector<Stretch> messages;  // of a stream
};

class IpcSource : public FileSource {
 public:
  IpcSource(std::shared_ptr<const File> file, const ArrowFields& fields,
            const arrow::Schema& schema, bool records)
      : file_(std::move(file)),
        wanted_(file_->path(), fields, schema),
        leaves_out_(AnySkips(fields.fields())),
        records_(records) {}

  void Fetch(Chunk* chunk) const override {
    const auto* const claimed = std::any_cast<Claimed>(&chunk->claimed);
    WithPlace(file_->path(), chunk->offset, PlaceOf(*claimed), [&] {
      const uint64_t rows = FetchBatch(*claimed, chunk);
      if (claimed->rows != rows) {
        Throw(ErrorCode::kDataLoss, "it has ", rows, " rows, but its header says ", claimed->rows);
      }
    });
  }

 protected:
  // Adds the rows of a batch, by Append; returns how many it has.
  virtual uint64_t FetchBatch(const Claimed& claimed, Chunk* chunk) const = 0;

  const std::shared_ptr<const File>& file() const { return file_; }
  const Wanted& wanted() const { return wanted_; }

  uint64_t Append(const Claimed& claimed, int number, IpcAccess* access, Chunk* chunk) const {
    const auto batch = wanted_.Of(*access->Read(number));
    const auto rows = static_cast<uint64_t>(batch->num_rows());
    if (records_) {
      AppendRecords(*wanted_.rows, *batch, 0, chunk);
      return rows;
    }
    Ref<ArrowPart> columns(new ArrowPart(wanted_.rows, access->shared_memory()));
    AddBatch(*batch, columns.get());
    const Ref<ArrowTable> table(new ArrowTable(1, PlaceOf(claimed)));
    table->Set(0, std::move(columns));
    table->ListRows(0, rows, chunk);
    chunk->holder = Ref<RecordHolder>(table.get());
    return rows;
  }

  // Says what a chunk is; `messages` are those of a stream.
  void SetChunk(const IpcMessage& batch, uint64_t number, std::vector<Stretch> messages,
                Chunk* chunk) const {
    chunk->offset = batch.stretch.offset;
    chunk->length = batch.stretch.size;
    if (!leaves_out_) chunk->records = batch.rows;
    chunk->claimed = Claimed{number, batch.rows, std::move(messages)};
  }

 private:
  static std::string PlaceOf(const Claimed& claimed) {
    return StrCat("record batch ", claimed.number, ": ");
  }

  const std::shared_ptr<const File> file_;
  const Wanted wanted_;
  const bool leaves_out_;  // rows, so that a chunk may have fewer records
  const bool records_;     // whether rows become records
};

class IpcFileSource final : public IpcSource {
 public:
  // `batches`: where they begin.
  IpcFileSource(std::shared_ptr<const File> file, std::vector<uint64_t> batches,
                const ArrowFields& fields, bool records)
      : IpcSource(file, fields, *IpcAccess(file, std::vector<int>()).schema(), records),
        batches_(std::move(batches)) {
    auto access = std::make_unique<IpcAccess>(file, wanted().columns);
    if (static_cast<size_t>(access->batches()) != batches_.size()) {
      Throw(ErrorCode::kDataLoss, "Arrow finds ", access->batches(), " record batches, not ",
            batches_.size());
    }
    idle_.push_back(std::move(access));
  }

  bool Claim(Chunk* chunk) override {
    while (next_ < batches_.size()) {
      const uint64_t number = next_;
      const std::optional<IpcMessage> message = ReadIpcMessage(*file(), batches_[number]);
      if (!message || message->kind != IpcMessage::Kind::kRecordBatch) {
        throw Error(ErrorCode::kDataLoss,
                    StrCat("the footer has record batch ", number, " here, but it is none"))
            .InFile(file()->path(), static_cast<int64_t>(batches_[number]));
      }
      ++next_;
      if (message->rows == 0) continue;
      SetChunk(*message, number, {}, chunk);
      return true;
    }
    return false;
  }

 private:
  uint64_t FetchBatch(const Claimed& claimed, Chunk* chunk) const override {
    std::unique_ptr<IpcAccess> access = TakeAccess();
    const uint64_t rows = Append(claimed, static_cast<int>(claimed.number), access.get(), chunk);
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(access));
    return rows;
  }

  // One that no thread uses, with the dictionaries that it has read, or a new one.
  std::unique_ptr<IpcAccess> TakeAccess() const {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<IpcAccess> access = std::move(idle_.back());
        idle_.pop_back();
        return access;
      }
    }
    return std::make_unique<IpcAccess>(file(), wanted().columns);
  }

  const std::vector<uint64_t> batches_;
  size_t next_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<IpcAccess>> idle_;
};

// The message that a stream begins with.
Stretch FirstMessageOf(const File& file) {
  const std::optional<IpcMessage> message = ReadIpcMessage(file, 0);
  if (!message || message->kind != IpcMessage::Kind::kSchema) {
    throw Error(ErrorCode::kDataLoss,
                "no Arrow file, and no stream: it does not begin with a schema")
        .InFile(file.path(), 0);
  }
  return message->stretch;
}

// A batch is decoded after the schema and all dictionaries that come before it in the stream, so
// that batches do not wait for one another.
class IpcStreamSource final : public IpcSource {
 public:
  IpcStreamSource(std::shared_ptr<const File> file, const ArrowFields& fields, bool records)
      : IpcSource(file, fields,
                  *IpcAccess(file, {FirstMessageOf(*file)}, std::vector<int>()).schema(), records),
        before_{FirstMessageOf(*file)},
        at_(before_[0].size) {}

  bool Claim(Chunk* chunk) override {
    while (const std::optional<IpcMessage> message = ReadIpcMessage(*file(), at_)) {
      if (message->kind == IpcMessage::Kind::kSchema) {
        throw Error(ErrorCode::kDataLoss, "a second schema within the stream")
            .InFile(file()->path(), static_cast<int64_t>(at_));
      }
      at_ += message->stretch.size;
      if (message->kind == IpcMessage::Kind::kDictionary) {
        before_.push_back(message->stretch);
        continue;
      }
      const uint64_t number = next_++;
      if (message->rows == 0) continue;
      std::vector<Stretch> messages = before_;
      messages.push_back(message->stretch);
      SetChunk(*message, number, std::move(messages), chunk);
      return true;
    }
    return false;
  }

 private:
  uint64_t FetchBatch(const Claimed& claimed, Chunk* chunk) const override {
    IpcAccess access(file(), claimed.messages, wanted().columns);
    return Append(claimed, 0, &access, chunk);
  }

  std::vector<Stretch> before_;  // the schema and the dictionaries before the next message
  uint64_t at_;                  // where that begins
  uint64_t next_ = 0;
};

// Whether it is a file and not a stream. Throws for what is neither.
bool IsFile(const File& file) {
  if (file.size() == 0) throw Error(ErrorCode::kDataLoss, "it is empty").InFile(file.path(), 0);
  char head[8];
  const size_t size = std::min<uint64_t>(sizeof(head), file.size());
  file.Read(0, head, size);
  if (BeginsWith(head, size, kFeather1Magic)) {
    throw Error(ErrorCode::kDataLoss,
                "a file of Feather's first version, which is not read; "
                "pyarrow.feather.write_feather writes the second")
        .InFile(file.path(), 0);
  }
  return BeginsWith(head, size, kFileMagic);
}

class IpcFormat final : public ColumnarFormat {
 public:
  using ColumnarFormat::ColumnarFormat;

  std::unique_ptr<FileSource> Open(const FileEntry& entry) override {
    return WithPlace(entry.path, 0, "", [&]() -> std::unique_ptr<FileSource> {
      CheckNames(entry.path);
      std::shared_ptr<const File> file = File::Open(entry.path);
      if (IsFile(*file)) {
        // What Arrow says of a file that was cut is that it is no Arrow file.
        std::vector<uint64_t> batches = ReadIpcBatches(*file);
        return std::make_unique<IpcFileSource>(std::move(file), std::move(batches), fields(),
                                               window());
      }
      return std::make_unique<IpcStreamSource>(std::move(file), fields(), window());
    });
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    if (!chunks_tell_records()) return std::nullopt;
    uint64_t records = 0;
    for (const FileEntry& entry : files) {
      const std::unique_ptr<const File> file = File::Open(entry.path);
      if (!IsFile(*file)) {
        uint64_t at = FirstMessageOf(*file).size;
        while (const std::optional<IpcMessage> message = ReadIpcMessage(*file, at)) {
          records += message->rows;
          at += message->stretch.size;
        }
        continue;
      }
      for (const uint64_t batch : ReadIpcBatches(*file)) {
        const std::optional<IpcMessage> message = ReadIpcMessage(*file, batch);
        if (message) records += message->rows;
      }
    }
    return records;
  }

 private:
  std::shared_ptr<arrow::Schema> SchemaOf(const std::string& path) const override {
    const std::shared_ptr<const File> file = File::Open(path);
    if (IsFile(*file)) return IpcAccess(file, std::vector<int>()).schema();
    return IpcAccess(file, {FirstMessageOf(*file)}, std::vector<int>()).schema();
  }
};

// How many arrays a column consists of.
size_t ArraysOf(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) {
    return ArraysOf(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  }
  size_t arrays = 1;
  for (const std::shared_ptr<arrow::Field>& child : type.fields()) {
    arrays += ArraysOf(*child->type());
  }
  return arrays;
}

// The outermost columns that have nulls, by those of their arrays.
void AddColumnsWithNulls(const arrow::Schema& schema, const std::vector<int64_t>& nulls,
                         std::set<size_t>* columns) {
  size_t at = 0;
  for (int column = 0; column < schema.num_fields(); ++column) {
    const size_t arrays = ArraysOf(*schema.field(column)->type());
    for (size_t i = at; i < std::min(at + arrays, nulls.size()); ++i) {
      if (nulls[i] != 0) columns->insert(static_cast<size_t>(column));
    }
    at += arrays;
  }
}

// What the schema of a file or stream and the headers of its record batches tell.
struct Headers {
  std::shared_ptr<arrow::Schema> schema;
  ArrowFacts known;
  std::vector<Stretch> messages;  // of a stream, up to its first record batch
  bool empty = true;              // there is no record batch
};

Headers ReadHeaders(const std::shared_ptr<const File>& file) {
  Headers headers;
  std::vector<int64_t> nulls;
  if (IsFile(*file)) {
    const std::vector<uint64_t> batches = ReadIpcBatches(*file);
    headers.schema = IpcAccess(file, std::vector<int>()).schema();
    headers.empty = batches.empty();
    for (const uint64_t batch : batches) {
      if (ReadIpcMessage(*file, batch, &nulls)) {
        AddColumnsWithNulls(*headers.schema, nulls, &headers.known.with_nulls);
      }
    }
    return headers;
  }
  headers.messages = {FirstMessageOf(*file)};
  headers.schema = IpcAccess(file, headers.messages, std::vector<int>()).schema();
  uint64_t at = headers.messages[0].size;
  while (const std::optional<IpcMessage> message = ReadIpcMessage(*file, at, &nulls)) {
    if (headers.empty) headers.messages.push_back(message->stretch);
    at += message->stretch.size;
    if (message->kind != IpcMessage::Kind::kRecordBatch) continue;
    headers.empty = false;
    AddColumnsWithNulls(*headers.schema, nulls, &headers.known.with_nulls);
  }
  return headers;
}

// By the first record batch, too.
ArrowGuesses GuessBySample(const std::string& path, const std::shared_ptr<const File>& file,
                           const Headers& headers) {
  return GuessColumnsOf(
      *headers.schema, headers.known, [&](const std::vector<int>& columns, const auto& use) {
        if (headers.empty) return;
        WithPlace(path, 0, "record batch 0: ", [&] {
          IpcAccess access = headers.messages.empty()
                                 ? IpcAccess(file, columns, kMostSampleBytes)
                                 : IpcAccess(file, headers.messages, columns, kMostSampleBytes);
          use(*access.Read(0)->Slice(0, kSampleRows));
        });
      });
}

FittingFields GuessForAll(const std::vector<std::string>& paths, const AttributeMap&) {
  std::vector<std::shared_ptr<arrow::Schema>> schemas;
  std::vector<KnownColumns> known;
  for (const std::string& path : paths) {
    WithPlace(path, 0, "", [&] {
      const std::shared_ptr<const File> file = File::Open(path);
      const Headers headers = ReadHeaders(file);
      const auto same = std::find_if(schemas.rbegin(), schemas.rend(), [&](const auto& schema) {
        return schema->Equals(*headers.schema, false);
      });
      if (same != schemas.rend()) {
        known[static_cast<size_t>(schemas.rend() - same) - 1].Add(headers.known);
        return;
      }
      known.push_back({path, schemas.empty() ? GuessBySample(path, file, headers)
                                             : GuessColumnsOf(*headers.schema, headers.known)});
      schemas.push_back(headers.schema);
    });
  }
  return FieldsForAll(known, paths);
}

FittingFields Guess(const std::string& path, const AttributeMap& attributes) {
  return GuessForAll({path}, attributes);
}

bool MatchesArrow(const char* head, size_t size) {
  constexpr char kLongMessage = 4;  // the high byte of a length that no schema has
  return BeginsWith(head, size, kFileMagic) ||
         (size >= 8 && BeginsWith(head, size, "\xff\xff\xff\xff") && head[4] % 8 == 0 &&
          head[7] >= 0 && head[7] < kLongMessage);
}

bool MatchesFeather1(const char* head, size_t size) {
  return BeginsWith(head, size, kFeather1Magic);
}

constexpr char kNames[] = "columns, \"user.age\" in a struct, or numbers of them, #3, #0.age";

FormatSchema ArrowSchemaOfFormat() {
  FormatSchema schema("Arrow IPC, files and streams: columns by name, a record batch at a time");
  return std::move(schema.Extension(".arrow")
                       .Extension(".arrows")
                       .Extension(".ipc")
                       .Magic(MatchesArrow)
                       .InferFields(Guess)
                       .InferFieldsOfAll(GuessForAll)
                       .Attr(FieldsAttribute(kNames)));
}

FormatSchema FeatherSchema() {
  FormatSchema schema("Feather, version 2, which is Arrow IPC: columns by name");
  return std::move(schema.Extension(".feather")
                       .Magic(MatchesFeather1)
                       .InferFields(Guess)
                       .InferFieldsOfAll(GuessForAll)
                       .Attr(FieldsAttribute(kNames)));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<IpcFormat>(arguments);
}

REGISTER_FILE_FORMAT(arrow, ArrowSchemaOfFormat, Make);
REGISTER_FILE_FORMAT(feather, FeatherSchema, Make);

}  // namespace
}  // namespace millhopper
