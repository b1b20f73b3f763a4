// SPDX-License-Identifier: Apache-2.0
// The format `mxnet`: RecordIO of MXNet and dmlc, plain or compressed as a whole. A record is one
// part or several,
//
//   u32 magic ced7230a | u32 length, and a flag in the upper 3 bits | bytes | zeros up to 4 bytes
//
// in little-endian order. The flag is 0 for a whole record, and 1, 2 and 3 for its first, its inner
// and its last part: where the magic lies in a record at a multiple of 4, the writer leaves it out
// and begins a new part (Source: dmlc-core, include/dmlc/recordio.h and src/recordio.cc). Only the
// lengths tell where records begin, so Claim reads a file as a stream. With the index file of
// MXIndexedRecordIO, a line "key\toffset" for each record, it is claimed by arithmetic.
//
// A record is bytes or, with `fields`, an image after MXNet's header: u32 flag | f32 label |
// u64 id | u64 id2; flag > 0 is the number of f32 labels that follow and replace the label
// (Source: MXNet, python/mxnet/recordio.py).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/compression.h"
#include "framework/reader/file_format.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/stream_source.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/fields.h"
#include "readers/formats/images/whole_file.h"
#include "readers/index/indexable_format.h"
#include "readers/index/indexed_source.h"
#include "readers/support/byte_records.h"
#include "readers/support/stored_number.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr uint32_t kMagic = 0xced7230a;
constexpr size_t kMagicBytes = sizeof(kMagic);
constexpr size_t kHeaderBytes = 8;  // of a part

// What the header of a part says.
struct Part {
  enum Flag : uint32_t { kWhole = 0, kFirst = 1, kInner = 2, kLast = 3 };

  explicit Part(const char* header)
      : flag(StoredNumber<uint32_t>(header + kMagicBytes) >> 29),
        length(StoredNumber<uint32_t>(header + kMagicBytes) & ((uint32_t{1} << 29) - 1)) {}

  bool continues_record() const { return flag == kInner || flag == kLast; }
  bool ends_record() const { return flag == kWhole || flag == kLast; }
  // With its header and padding.
  size_t size() const { return kHeaderBytes + (size_t{length} + 3) / 4 * 4; }

  uint32_t flag;
  uint32_t length;
};

// A record as it lies in the file.
struct Frame {
  size_t size = 0;   // of all its parts, as far as they are there
  size_t bytes = 0;  // of the record, with the magic between its parts
  size_t parts = 0;
  size_t missing = 0;   // bytes that must follow those that are there
  std::string problem;  // what is wrong with it; "" if nothing is
  ErrorCode code = ErrorCode::kDataLoss;

  bool whole() const { return missing == 0 && problem.empty(); }
};

// Why a part with this header cannot be here; "" if it can.
std::string ProblemOf(const Part& part, bool inside_record) {
  if (part.flag > Part::kLast) return StrCat("the flag of a part is ", part.flag, "; it is 0 to 3");
  if (part.continues_record() && !inside_record) {
    return StrCat("it begins with a part that continues a record (its flag is ", part.flag, ")");
  }
  if (!part.continues_record() && inside_record) {
    return StrCat("another record begins before its last part (the flag is ", part.flag, ")");
  }
  if (!part.ends_record() && part.length % 4 != 0) {
    return StrCat("a part of ", part.length,
                  " bytes is followed by another one; records are split at multiples of 4 bytes");
  }
  return "";
}

// Looks at the record whose first part begins here. After it another record must begin, unless the
// bytes are the last ones: so a header that is damaged is noticed before the record is given out.
Frame FrameOf(const char* bytes, size_t size, bool are_last) {
  Frame frame;
  for (;;) {
    const char* const here = bytes + frame.size;
    const size_t left = size - frame.size;
    const size_t magic_here = std::min(left, kMagicBytes);
    if (std::memcmp(here, &kMagic, magic_here) != 0) {
      frame.problem = "it does not begin with the magic ced7230a";
      if (frame.parts > 0) frame.problem = "the magic ced7230a does not follow a part of it";
      return frame;
    }
    if (left < kHeaderBytes) {
      frame.missing = kHeaderBytes - left;
      return frame;
    }
    const Part part(here);
    frame.problem = ProblemOf(part, frame.parts > 0);
    if (!frame.problem.empty()) return frame;
    frame.bytes += part.length + (frame.parts > 0 ? kMagicBytes : 0);
    if (frame.size + part.size() > kMaxRecordBytes) {
      frame.problem = StrCat("it takes more than ", kMaxRecordBytes, " bytes, which is the limit");
      frame.code = ErrorCode::kResourceLimit;
      return frame;
    }
    if (part.size() > left) {
      frame.missing = part.size() - left;
      return frame;
    }
    for (size_t i = kHeaderBytes + part.length; i < part.size(); ++i) {
      if (here[i] != 0) frame.problem = "the padding after it is not zero";
    }
    if (!frame.problem.empty()) return frame;
    frame.size += part.size();
    ++frame.parts;
    if (part.ends_record()) break;
  }
  const char* const next = bytes + frame.size;
  const size_t behind = std::min(size - frame.size, kHeaderBytes);
  const bool begins = std::memcmp(next, &kMagic, std::min(behind, kMagicBytes)) == 0;
  if (!begins || (behind == kHeaderBytes && Part(next).continues_record())) {
    frame.problem = StrCat("no other record begins after its ", frame.bytes, " bytes");
  } else if (behind < kHeaderBytes && !are_last) {
    frame.missing = kHeaderBytes - behind;
  }
  return frame;
}

// Whether the magic lies in a part of a whole record at a multiple of 4. A writer splits the record
// there, so a part that has it has swallowed other records.
bool HidesMagic(const char* bytes, const Frame& frame) {
  bool found = false;
  for (size_t at = 0; at < frame.size;) {
    const Part part(bytes + at);
    const char* const begin = bytes + at + kHeaderBytes;
    for (size_t i = 0; i + kMagicBytes <= part.length; i += kMagicBytes) {
      found |= StoredNumber<uint32_t>(begin + i) == kMagic;
    }
    at += part.size();
  }
  return found;
}

Error Damage(const ByteStream& stream, uint64_t offset, const Frame& frame) {
  return Error(frame.code, StrCat("the record at ", stream.Describe(offset), ": ", frame.problem))
      .InFile(stream.path(), static_cast<int64_t>(offset));
}

// Joins the parts of a record in place, with the magic between them: a header is longer than the
// magic.
void JoinParts(char* frame) {
  Part part(frame);
  const char* in = frame + part.size();
  char* out = frame + kHeaderBytes + part.length;
  while (!part.ends_record()) {
    part = Part(in);
    const size_t size = part.size();
    std::memcpy(out, &kMagic, kMagicBytes);
    std::memmove(out + kMagicBytes, in + kHeaderBytes, part.length);
    out += kMagicBytes + part.length;
    in += size;
  }
}

// The records of a chunk that its bytes have, and what is wrong with the one after them.
struct Listed {
  std::vector<size_t> split;  // where the frames of several parts begin
  std::optional<Error> damage;
};

// Lists the records of the chunk, whose bytes have been read.
Listed ListRecords(const ByteStream& stream, const RecordBegins& begins, Chunk* chunk) {
  Listed listed;
  const char* const bytes = chunk->bytes->data() + chunk->lead();
  for (size_t at = 0; at < chunk->length && !listed.damage;) {
    Frame frame = FrameOf(bytes + at, chunk->length - at, true);
    const uint64_t offset = chunk->offset + at;
    const size_t record = chunk->pieces.size();
    if (begins.offsets != nullptr && (record == begins.count || begins.offsets[record] != offset)) {
      frame.problem = "the index does not have it";
    } else if (frame.missing > 0) {
      frame.problem = StrCat("it has ", frame.missing, " bytes more than are left for it");
    } else if (frame.whole() && HidesMagic(bytes + at, frame)) {
      frame.problem = "another record begins within it, by the magic ced7230a there";
    }
    if (!frame.problem.empty()) {
      listed.damage = Damage(stream, offset, frame);
    } else {
      if (frame.parts > 1) listed.split.push_back(at);
      const size_t begin = chunk->lead() + at + kHeaderBytes;
      chunk->pieces.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(frame.bytes)});
      at += frame.size;
    }
  }
  return listed;
}

// The same, and joins the records of several parts. All memory is taken before that, so that a
// chunk whose memory is refused stays as it was.
void AddRecords(const ByteStream& stream, const RecordBegins& begins, Chunk* chunk) {
  Listed listed = ListRecords(stream, begins, chunk);
  if (!listed.split.empty() && chunk->mapped()) {  // the pages of a file are not written to
    chunk->pieces.clear();
    chunk->Copy(stream.file(), chunk->offset, chunk->length);
    listed = ListRecords(stream, begins, chunk);
  }
  for (const size_t at : listed.split) JoinParts(chunk->bytes->data() + chunk->lead() + at);
  if (listed.damage) throw Error(*listed.damage);
}

class StreamedRecords final : public StreamSource {
 public:
  using StreamSource::StreamSource;

  void Fetch(Chunk* chunk) const override { AddRecords(stream(), {}, chunk); }

 private:
  size_t WholeRecords(const Block& block) const override {
    size_t at = 0;
    for (size_t records = 0; at < block.size && records < kMostIndexedRecords; ++records) {
      const Frame frame = FrameOf(block.bytes + at, block.size - at, block.ended);
      if (!frame.whole()) {
        if (at == 0) CheckCanFollow(block, frame);
        break;
      }
      at += frame.size;
    }
    return at;
  }

  // Throws unless the first record of the block can be whole with bytes that follow.
  void CheckCanFollow(const Block& block, Frame frame) const {
    if (frame.problem.empty()) {
      if (!block.ended && frame.missing <= stream().most_left()) return;
      frame.problem = StrCat("the file ends ", frame.missing, " bytes too early");
    }
    throw Damage(stream(), block.offset, frame);
  }
};

// Reads the offsets of an index file: where the records begin, in order, of a file of `file_size`
// bytes.
std::vector<uint64_t> ReadRecordIndex(const std::string& path, uint64_t file_size) {
  const Text text = ReadTextFile(path, "index");
  std::vector<uint64_t> offsets;
  const char* const end = text.data() + text.size();
  for (const char* here = text.data(); here < end;) {
    const auto* line_end = static_cast<const char*>(std::memchr(here, '\n', end - here));
    if (line_end == nullptr) line_end = end;
    const std::string line(here, line_end);
    const size_t tab = line.find('\t');
    uint64_t offset = 0;
    const char* const number = line.data() + (tab == std::string::npos ? 0 : tab + 1);
    const char* const number_end =
        line.data() + line.size() - (!line.empty() && line.back() == '\r' ? 1 : 0);
    const auto read = std::from_chars(number, number_end, offset);
    const bool right =
        tab != std::string::npos && tab > 0 && read.ec == std::errc() && read.ptr == number_end;
    const char* problem = !right                           ? "is no \"key\\toffset\""
                          : offsets.empty() && offset != 0 ? "is the first, but is not for byte 0"
                          : !offsets.empty() && offset <= offsets.back()
                              ? "does not lie after the record before it"
                          : offset >= file_size ? "lies after the end of the file"
                                                : nullptr;
    if (problem != nullptr) {
      throw Error(ErrorCode::kDataLoss, StrCat("line ", offsets.size() + 1, ", '",
                                               Escaped(line.substr(0, 60)), "', ", problem))
          .InFile(path, here - text.data());
    }
    offsets.push_back(offset);
    here = line_end + 1;
  }
  if (offsets.empty() && file_size > 0) {
    throw Error(ErrorCode::kDataLoss,
                StrCat("the index is empty, but the file has ", file_size, " bytes"))
        .InFile(path, 0);
  }
  return offsets;
}

class IndexedRecords final : public IndexedSource {
 public:
  IndexedRecords(std::unique_ptr<ByteStream> stream, std::vector<uint64_t> begins)
      : IndexedSource(std::move(stream), std::move(begins), kMaxRecordBytes, true) {}

  void Fetch(Chunk* chunk) const override {
    chunk->Read(stream().file(), chunk->offset, chunk->length);
    AddRecords(stream(), BeginsIn(*chunk), chunk);
  }
};

// The files, whatever their records hold.
class MxnetFormat : public SearchedFormat {
 public:
  MxnetFormat(const FormatArguments& arguments, const std::vector<SlotSpec>& slots)
      : SearchedFormat(arguments, AgreeOnSlots(arguments.declared, slots)),
        has_index_(arguments.has_companions) {
    Require(has_index_ || arguments.buffer_type == BufferType::kMemory,
            "buffer_type \"mmap\" needs index files: without one a file is read as a stream");
  }

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    if (!HasForeignIndex(file)) return SearchedFormat::Open(file);
    auto stream = std::make_unique<ByteStream>(file.path, file.buffer_type);
    CheckCanBeIndexed(*stream);
    std::vector<uint64_t> offsets = ReadRecordIndex(file.companion, stream->file().size());
    return std::make_unique<IndexedRecords>(std::move(stream), std::move(offsets));
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    return SumOf(files, [this](const FileEntry& file) -> std::optional<uint64_t> {
      if (!HasForeignIndex(file)) return CountByIndex(file);
      return ReadRecordIndex(file.companion, File::Open(file.path)->size()).size();
    });
  }

  bool chunks_tell_records() const override {
    return has_index_ || SearchedFormat::chunks_tell_records();
  }
  bool tells_all_processes() const override {
    return has_index_ || SearchedFormat::tells_all_processes();
  }

 private:
  std::unique_ptr<IndexableSource> OpenWithoutIndex(const FileEntry& file) override {
    return std::make_unique<StreamedRecords>(
        std::make_unique<ByteStream>(file.path, file.buffer_type));
  }
  std::string Rules() const override { return "mxnet"; }
  bool leaves_out_records() const override { return false; }

  const bool has_index_;
};

class BytesFormat final : public MxnetFormat {
 public:
  explicit BytesFormat(const FormatArguments& arguments) : MxnetFormat(arguments, {BytesSlot()}) {}

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    LoadBytes(tickets, n, rows);
  }
};

constexpr char kNames[] = "label, id, id2, image";

// A record after MXNet's header.
struct ImageRecord {
  static constexpr size_t kHeaderBytes = 24;

  // Throws kDataLoss if the record is too short for what its header says.
  explicit ImageRecord(std::string_view record) {
    if (record.size() < kHeaderBytes) {
      Throw(ErrorCode::kDataLoss, "the record has ", record.size(), " bytes, its header takes ",
            kHeaderBytes);
    }
    const auto flag = StoredNumber<uint32_t>(record.data());
    labels = record.substr(4, sizeof(float));
    id = StoredNumber<uint64_t>(record.data() + 8);
    id2 = StoredNumber<uint64_t>(record.data() + 16);
    image = record.substr(kHeaderBytes);
    if (flag == 0) return;
    if (flag > image.size() / sizeof(float)) {
      Throw(ErrorCode::kDataLoss, "its header says that ", flag, " labels follow, but only ",
            image.size(), " bytes do");
    }
    labels = image.substr(0, flag * sizeof(float));
    image.remove_prefix(labels.size());
  }

  std::string_view labels;  // floats
  uint64_t id, id2;
  std::string_view image;
};

class ImagesFormat final : public MxnetFormat {
 public:
  ImagesFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : MxnetFormat(arguments, SlotsOf(fields)), fields_(std::move(fields)) {
    for (const Field& field : fields_) Check(field);
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    FieldRows field_rows(fields_, n, rows);
    for (const Ticket& ticket : Prefetched(tickets, n)) {
      const ImageRecord record({ticket.bytes, ticket.size});
      for (size_t slot = 0; slot < fields_.size(); ++slot) {
        ForField(fields_[slot], [&] { LoadSlot(record, slot, &field_rows); });
      }
    }
  }

 private:
  static void Check(const Field& field) {
    const std::string& name = field.name;
    const std::string where = StrCat("field '", Escaped(name), "': ");
    Require(name == "label" || name == "id" || name == "id2" || name == "image", where,
            "an image record has only ", kNames);
    Require((name == "image") == field.bytes && !field.bytes_list, where,
            "an image is bytes, and the others are numbers");
    Require(field.missing == Field::Missing::kError && !field.names_things() &&
                field.decode == Field::Decode::kNone,
            where, "a record has it always, and not as text");
    RefuseCellOptions(field);
    Require(name == "label" || field.bytes || (!field.sequence && field.values == 1), where,
            "it is one number");
  }

  void LoadSlot(const ImageRecord& record, size_t slot, FieldRows* rows) const {
    const Field& field = fields_[slot];
    if (field.name == "image") return rows->AppendBytes(slot, record.image);
    if (field.name != "label") {
      const uint64_t id = field.name == "id" ? record.id : record.id2;
      return field.Write(id, rows->Take(slot, 1));
    }
    const size_t count = record.labels.size() / sizeof(float);
    char* place = rows->Take(slot, count);
    for (size_t i = 0; i < count; ++i) {
      const auto label = StoredNumber<float>(record.labels.data() + i * sizeof(float));
      field.Write(double{label}, place);
      place += field.value_bytes();
    }
  }

  const std::vector<Field> fields_;
};

// By the first records that are images; none if the first one is no image that is known.
FittingFields GuessFields(const std::string& path, const AttributeMap& attributes) {
  FormatArguments arguments;
  arguments.attributes = attributes;
  BytesFormat format(arguments);
  const std::unique_ptr<FileSource> source = format.Open({path, "", BufferType::kMemory});
  const Ref<Chunk> chunk = Pool<Chunk>::Take();
  if (!source->Claim(chunk.get())) return {};
  source->Fetch(chunk.get());
  constexpr size_t kLookedAt = 1000;
  std::set<size_t> labels;  // how many an image has
  try {
    for (size_t i = 0; i < std::min(chunk->pieces.size(), kLookedAt); ++i) {
      const Piece piece = chunk->pieces[i];
      const ImageRecord record({chunk->bytes->data() + piece.offset, piece.size});
      if (KindOfFile(record.image).empty()) break;
      labels.insert(record.labels.size() / sizeof(float));
    }
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
  if (labels.empty()) return {};
  const std::string dims = labels.size() > 1      ? "-1"
                           : *labels.begin() == 1 ? ""
                                                  : StrCat(*labels.begin());
  return {{StrCat("label float32[", dims, "]"), "id uint64[]", "id2 uint64[]", "image bytes"}, {}};
}

bool Matches(const char* head, size_t size) { return HasMagic(head, size, kMagic); }

FormatSchema Schema() {
  FormatSchema schema(
      "MXNet's RecordIO: bytes, or with fields the images and labels that im2rec packs; plain, "
      "gzip, zstd, lz4, bzip2, xz");
  return std::move(
      schema.Extension(".rec")
          .Magic(&Matches)
          .Attr(FieldsAttribute(StrCat(kNames,
                                       " of records that begin with MXNet's image header; "
                                       "other records are their bytes")))
          .InferFields(&GuessFields)
          .Companion(kIndexAttribute, kIndexListAttribute,
                     "index of the records, as MXIndexedRecordIO writes it: a line "
                     "\"key\\toffset\" for each; or as recordio index makes it. With it "
                     "chunks are read in parallel and shards leave chunks out. One of recordio "
                     "index, beside a local file as FILE.mhi, is found by itself"));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  std::vector<Field> fields =
      ParseFields(arguments.attributes.Get<std::vector<std::string>>("fields"));
  if (fields.empty()) return std::make_unique<BytesFormat>(arguments);
  return std::make_unique<ImagesFormat>(arguments, std::move(fields));
}

REGISTER_FILE_FORMAT(mxnet, Schema, Make);

}  // namespace
}  // namespace millhopper
