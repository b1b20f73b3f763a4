// SPDX-License-Identifier: Apache-2.0
// The format `tfrecord`: files of TensorFlow's TFRecordWriter, plain or compressed as a whole (gzip
// and zlib, as TensorFlow writes them; zstd, lz4, bzip2, xz). A record is
//
//   u64 length | u32 masked CRC-32C of the length | bytes | u32 masked CRC-32C of the bytes
//
// in little-endian order (tensorflow/core/lib/io/record_writer.cc). Only the lengths tell where
// records begin, so Claim reads a file as a stream. With an index file of DALI's tfrecord2idx, a
// line "offset size" for each record, it is claimed by arithmetic. A record is bytes or, with
// `fields`, an Example or SequenceExample (readers/formats/tfrecord/example.h).
#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/compression.h"
#include "framework/reader/file_format.h"
#include "readers/chunks/stream_source.h"
#include "readers/fields/fields.h"
#include "readers/formats/tfrecord/example.h"
#include "readers/index/indexable_format.h"
#include "readers/index/indexed_source.h"
#include "readers/support/byte_records.h"
#include "readers/support/checksums.h"
#include "readers/support/stored_number.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kFrameBytes = kHeaderBytes + 4;  // of a record, without its bytes
constexpr size_t kLengthBytes = 8;

bool IsHeader(const char* bytes) {
  return MaskedCrc32c(bytes, kLengthBytes) == StoredNumber<uint32_t>(bytes + kLengthBytes);
}

[[noreturn]] void Damaged(const ByteStream& stream, uint64_t offset, const std::string& problem,
                          ErrorCode code = ErrorCode::kDataLoss) {
  throw Error(code, StrCat("the record at ", stream.Describe(offset), ": ", problem))
      .InFile(stream.path(), static_cast<int64_t>(offset));
}

// The bytes of a record with its frame, by its header; throws if that is damaged.
uint64_t FrameSize(const ByteStream& stream, uint64_t offset, const char* header) {
  if (!IsHeader(header)) {
    Damaged(stream, offset,
            StrCat("the checksum of its length is ", Hex(MaskedCrc32c(header, kLengthBytes)),
                   ", the header says ", Hex(StoredNumber<uint32_t>(header + kLengthBytes))));
  }
  const auto length = StoredNumber<uint64_t>(header);
  if (length > kMaxRecordBytes) {
    Damaged(stream, offset, StrCat("it has ", length, " bytes; the limit is ", kMaxRecordBytes),
            ErrorCode::kResourceLimit);
  }
  return length + kFrameBytes;
}

// Lists the record whose frame begins here, unless a field of it is missing and says skip.
void AddRecord(const ByteStream& stream, uint64_t offset, const char* frame, uint64_t size,
               const ExampleParser* skips, Chunk* chunk) {
  const char* const bytes = frame + kHeaderBytes;
  const auto length = static_cast<uint32_t>(size - kFrameBytes);
  const uint32_t checksum = MaskedCrc32c(bytes, length);
  if (checksum != StoredNumber<uint32_t>(bytes + length)) {
    Damaged(stream, offset,
            StrCat("the checksum of its ", length, " bytes is ", Hex(checksum),
                   ", the record says ", Hex(StoredNumber<uint32_t>(bytes + length))));
  }
  if (skips != nullptr && skips->IsLeftOut({bytes, length})) return;
  chunk->pieces.push_back({static_cast<uint32_t>(bytes - chunk->bytes->data()), length});
}

// Lists the records of a stretch of the file, which is made of whole ones; returns how many there
// are. `skips` is null if none is left out.
size_t AddRecords(const ByteStream& stream, uint64_t offset, const char* bytes, size_t size,
                  const ExampleParser* skips, Chunk* chunk) {
  size_t records = 0;
  for (size_t at = 0; at < size;) {
    const char* const frame = bytes + at;
    if (size - at < kHeaderBytes) {
      Damaged(stream, offset + at, StrCat("only ", size - at, " bytes are left for it"));
    }
    const uint64_t frame_size = FrameSize(stream, offset + at, frame);
    if (frame_size > size - at) {
      Damaged(stream, offset + at,
              StrCat("it has ", frame_size, " bytes with its frame, but ", size - at, " are left"));
    }
    AddRecord(stream, offset + at, frame, frame_size, skips, chunk);
    at += frame_size;
    ++records;
  }
  return records;
}

class StreamedRecords final : public StreamSource {
 public:
  StreamedRecords(std::unique_ptr<ByteStream> stream, const ExampleParser* skips)
      : StreamSource(std::move(stream)), skips_(skips) {}

  void Fetch(Chunk* chunk) const override {
    AddRecords(stream(), chunk->offset, chunk->bytes->data() + chunk->lead(), chunk->length, skips_,
               chunk);
  }

 private:
  size_t WholeRecords(const Block& block) const override {
    size_t at = 0;
    for (size_t records = 0; block.size - at >= kHeaderBytes && records < kMostIndexedRecords;
         ++records) {
      const char* const frame = block.bytes + at;
      if (at > 0 && !IsHeader(frame)) return at;
      if (at > 0 && StoredNumber<uint64_t>(frame) > kMaxRecordBytes) return at;
      const uint64_t size = FrameSize(stream(), block.offset + at, frame);
      const uint64_t here = block.size - at;
      if (size > here) {
        if (at == 0) CheckCanFollow(block, size - here);
        return at;
      }
      at += size;
    }
    if (at == 0) CheckCanFollow(block, 1);
    return at;
  }

  // Throws unless so many more bytes may follow the first record of the block, which is not whole.
  void CheckCanFollow(const Block& block, uint64_t more) const {
    if (!block.ended && more <= stream().most_left()) return;
    Damaged(stream(), block.offset,
            block.size < kHeaderBytes
                ? StrCat("the file ends ", block.size, " bytes into its header of ", kHeaderBytes)
                : StrCat("it has ", StoredNumber<uint64_t>(block.bytes),
                         " bytes, but the file ends ", more, " bytes too early"));
  }

  const ExampleParser* const skips_;
};

// zlib's two first bytes could also be those of a length, whose checksum then follows.
bool IsZlib(const ByteStream& stream) {
  char head[kHeaderBytes];
  const size_t size = stream.Head(head, sizeof(head));
  if (size < kZlib.head_bytes || !kZlib.begins(head, size)) return false;
  return size < kHeaderBytes || !IsHeader(head);
}

// Opens a file to be read in order.
std::unique_ptr<StreamedRecords> OpenStream(const FileEntry& file, const ExampleParser* skips) {
  auto stream = std::make_unique<ByteStream>(file.path, file.buffer_type);
  if (!stream->compressed() && IsZlib(*stream)) {
    stream = std::make_unique<ByteStream>(file.path, kZlib);
  }
  return std::make_unique<StreamedRecords>(std::move(stream), skips);
}

// Reads an index file: where the records begin. They must lie one after another, from the
// beginning of a file of `file_size` bytes to its end.
std::vector<uint64_t> ReadRecordIndex(const std::string& path, uint64_t file_size) {
  const Text text = ReadTextFile(path, "index");
  std::vector<uint64_t> begins;
  uint64_t next = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  for (const char* here = begin; here < end;) {
    const auto* line_end = static_cast<const char*>(std::memchr(here, '\n', end - here));
    if (line_end == nullptr) line_end = end;
    uint64_t offset = 0, size = 0;  // with the frame
    const auto first = std::from_chars(here, line_end, offset);
    const bool space = first.ec == std::errc() && first.ptr < line_end && *first.ptr == ' ';
    const auto second = space ? std::from_chars(first.ptr + 1, line_end, size) : first;
    const bool right = space && second.ec == std::errc() &&
                       (second.ptr == line_end || std::string(second.ptr, line_end) == "\r");
    const char* problem = !right                    ? "is no \"offset size\""
                          : offset != next          ? "does not follow the record before it"
                          : size < kFrameBytes      ? "has a record without room for its frame"
                          : size > file_size - next ? "goes beyond the end of the file"
                                                    : nullptr;
    if (problem != nullptr) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("line ", begins.size() + 1, ", '",
                         Escaped(std::string(here, std::min(line_end, here + 60))), "', ", problem,
                         "; tfrecord2idx makes a new index"))
          .InFile(path, here - begin);
    }
    next = offset + size;
    begins.push_back(offset);
    here = line_end + 1;
  }
  if (next != file_size) {
    throw Error(ErrorCode::kDataLoss, StrCat("the index ends at byte ", next, " of a file of ",
                                             file_size, " bytes; tfrecord2idx makes a new one"))
        .InFile(path, static_cast<int64_t>(text.size()));
  }
  return begins;
}

class IndexedRecords final : public IndexedSource {
 public:
  IndexedRecords(std::unique_ptr<ByteStream> stream, std::vector<uint64_t> begins,
                 const ExampleParser* skips)
      : IndexedSource(std::move(stream), std::move(begins), kMaxRecordBytes + kFrameBytes,
                      skips == nullptr),
        skips_(skips) {}

  void Fetch(Chunk* chunk) const override {
    const char* const bytes = chunk->Read(stream().file(), chunk->offset, chunk->length);
    const size_t found = AddRecords(stream(), chunk->offset, bytes, chunk->length, skips_, chunk);
    const size_t indexed = BeginsIn(*chunk).count;
    if (found == indexed) return;
    Damaged(stream(), chunk->offset,
            StrCat(indexed, " records are here by the index, but the file has ", found));
  }

 private:
  const ExampleParser* const skips_;
};

// The files, whatever their records hold.
class TFRecordFormat : public SearchedFormat {
 public:
  TFRecordFormat(const FormatArguments& arguments, const std::vector<SlotSpec>& slots)
      : SearchedFormat(arguments, AgreeOnSlots(arguments.declared, slots)),
        has_index_(arguments.has_companions) {
    Require(has_index_ || arguments.buffer_type == BufferType::kMemory,
            "buffer_type \"mmap\" needs index files: without one a file is read as a stream");
  }

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    if (!HasForeignIndex(file)) return SearchedFormat::Open(file);
    auto stream = std::make_unique<ByteStream>(file.path, file.buffer_type);
    CheckCanBeIndexed(*stream);
    std::vector<uint64_t> begins = ReadRecordIndex(file.companion, stream->file().size());
    return std::make_unique<IndexedRecords>(std::move(stream), std::move(begins), skips());
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    if (leaves_out_records()) return std::nullopt;
    return SumOf(files, [this](const FileEntry& file) -> std::optional<uint64_t> {
      if (!HasForeignIndex(file)) return CountByIndex(file);
      return ReadRecordIndex(file.companion, File::Open(file.path)->size()).size();
    });
  }

  bool chunks_tell_records() const override {
    return has_index_ ? !leaves_out_records() : SearchedFormat::chunks_tell_records();
  }
  bool tells_all_processes() const override {
    return has_index_ ? !leaves_out_records() : SearchedFormat::tells_all_processes();
  }

 private:
  // What tells which records are left out; null if none is.
  virtual const ExampleParser* skips() const { return nullptr; }

  std::unique_ptr<IndexableSource> OpenWithoutIndex(const FileEntry& file) override {
    return OpenStream(file, skips());
  }
  std::string Rules() const override { return "tfrecord"; }
  bool leaves_out_records() const override { return skips() != nullptr; }

  const bool has_index_;
};

class BytesFormat final : public TFRecordFormat {
 public:
  explicit BytesFormat(const FormatArguments& arguments)
      : TFRecordFormat(arguments, {BytesSlot()}) {}

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    LoadBytes(tickets, n, rows);
  }
};

class ExamplesFormat final : public TFRecordFormat {
 public:
  ExamplesFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : TFRecordFormat(arguments, SlotsOf(fields)),
        parser_(std::move(fields), OthersOf(arguments.attributes)) {}

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    parser_.Load(tickets, n, rows);
  }

 private:
  const ExampleParser* skips() const override {
    return AnySkips(parser_.fields()) ? &parser_ : nullptr;
  }

  const ExampleParser parser_;
};

// By the records of the first chunk: in many files only few of them lack a feature.
FittingFields GuessFields(const std::string& path, const AttributeMap&) {
  const std::unique_ptr<StreamedRecords> source =
      OpenStream({path, "", BufferType::kMemory}, nullptr);
  const Ref<Chunk> chunk = Pool<Chunk>::Take();
  if (!source->Claim(chunk.get())) return {};
  source->Fetch(chunk.get());
  std::vector<std::string_view> records;
  for (const Piece& piece : chunk->pieces) {
    records.emplace_back(chunk->bytes->data() + piece.offset, piece.size);
  }
  return GuessExampleFields(records);
}

std::unique_ptr<FieldsOfRecords> FieldsOfAll(const FittingFields&, const AttributeMap&) {
  return std::make_unique<ExampleFieldsOfRecords>();
}

bool HasMagic(const char* head, size_t size) { return size >= kHeaderBytes && IsHeader(head); }

FormatSchema Schema() {
  FormatSchema schema(
      "TensorFlow's record files: Example and SequenceExample, or bytes where a slot of bytes is "
      "declared; plain, gzip, zlib, zstd, lz4, bzip2, xz");
  return std::move(
      schema.Extension(".tfrecord")
          .Extension(".tfrecords")
          .Magic(&HasMagic)
          .Attr(FieldsAttribute("features of an Example or SequenceExample; a record of "
                                "anything else is its bytes; without fields, floats of one size "
                                "are NaN where a record has an empty list of them"))
          .Attr(OthersAttribute())
          .InferFields(&GuessFields)
          .InferFieldsOfRecords(&FieldsOfAll)
          .Companion(kIndexAttribute, kIndexListAttribute,
                     "index of the records, as DALI's tfrecord2idx writes it: a line "
                     "\"offset size\" for each; or as recordio index makes it. With "
                     "it chunks are read in parallel and shards leave chunks out. One "
                     "of recordio index, beside a local file as FILE.mhi, is found by "
                     "itself"));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  std::vector<Field> fields =
      ParseFields(arguments.attributes.Get<std::vector<std::string>>("fields"));
  if (fields.empty()) return std::make_unique<BytesFormat>(arguments);
  return std::make_unique<ExamplesFormat>(arguments, std::move(fields));
}

REGISTER_FILE_FORMAT(tfrecord, Schema, Make);

}  // namespace
}  // namespace millhopper
