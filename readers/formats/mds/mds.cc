// SPDX-License-Identifier: Apache-2.0
// The format `mds`: shards of MosaicML's streaming. A file is the index.json that lies in the
// folder of its shards (readers/formats/mds/mds_index.h). A shard, plain or compressed by zstd or
// gzip, is
//
//   u32 n | n + 1 u32 offsets, of the samples and of the end | JSON text | samples
//
// in little-endian order, and a sample a u32 size for each column of no fixed size, and the bytes
// of all columns (readers/formats/mds/mds_sample.h). Plain shards are cut into chunks by their
// offsets; a compressed one is a chunk.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/url.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/compression/compression.h"
#include "framework/io/file_system.h"
#include "framework/io/files_in_use.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"
#include "readers/chunks/learned_files.h"
#include "readers/fields/fields.h"
#include "readers/fields/lacked_names.h"
#include "readers/formats/mds/mds_index.h"
#include "readers/formats/mds/mds_sample.h"

namespace millhopper {
namespace {

constexpr size_t kOffsetBytes = sizeof(uint32_t);
constexpr size_t kMostRecords = 1 << 16;  // in a chunk of a plain shard

// Null if it is none that is read.
const Compression* CompressionNamed(const std::string& name) {
  return name == "zstd" ? &kZstd : name == "gz" ? &kGzip : nullptr;
}

[[noreturn]] void Damaged(const std::string& path, uint64_t offset, const std::string& problem,
                          ErrorCode code = ErrorCode::kDataLoss) {
  throw Error(code, problem).InFile(path, static_cast<int64_t>(offset));
}

// The first samples lie after the number of samples and the offsets.
uint64_t TableEnd(uint64_t samples) { return (samples + 2) * kOffsetBytes; }

// Throws unless the table of a shard can begin so.
void CheckTable(const std::string& path, const MdsShard& shard, uint32_t samples, uint32_t first,
                uint32_t last) {
  if (samples != shard.samples) {
    Damaged(path, 0,
            StrCat("the shard says that it has ", samples, " samples, its index ", shard.samples));
  }
  if (first < TableEnd(samples)) {
    Damaged(path, kOffsetBytes,
            StrCat("sample 0 begins at byte ", first, ", in the table of ", TableEnd(samples),
                   " bytes"));
  }
  if (last != shard.raw.bytes) {
    Damaged(path, (samples + uint64_t{1}) * kOffsetBytes,
            StrCat("the last sample ends at byte ", last, " of ", shard.raw.bytes));
  }
}

// Throws unless a sample that lies between these bytes can be in the shard.
void CheckSample(const std::string& path, const MdsShard& shard, uint64_t sample, uint32_t begin,
                 uint32_t end) {
  const uint64_t place = (sample + 1) * kOffsetBytes;
  if (begin > end || end > shard.raw.bytes) {
    Damaged(path, place,
            StrCat("sample ", sample, " lies between the bytes ", begin, " and ", end, " of ",
                   shard.raw.bytes));
  }
  if (end - begin > kMaxRecordBytes) {
    Damaged(
        path, place,
        StrCat("sample ", sample, " has ", end - begin, " bytes; the limit is ", kMaxRecordBytes),
        ErrorCode::kResourceLimit);
  }
}

// A shard as it is read now.
struct OpenShard {
  std::string path;
  std::unique_ptr<const File> file;          // of a plain one
  const Compression* compression = nullptr;  // of a compressed one
};

// What Claim tells Fetch.
struct Claimed {
  std::shared_ptr<const OpenShard> shard;
  size_t number;                  // of the shard
  std::vector<uint32_t> offsets;  // of the samples and of their end, in a plain one
};

class MdsSource final : public FileSource {
 public:
  MdsSource(const FileEntry& file, MdsIndex index) : file_(file), index_(std::move(index)) {}

  bool Claim(Chunk* chunk) override {
    if (number_ < index_.shards.size() && next_ == index_.shards[number_].samples) {
      ++number_;
      next_ = 0;
      shard_.reset();
    }
    if (number_ == index_.shards.size()) return false;
    const MdsShard& shard = index_.shards[number_];
    if (shard_ == nullptr) Open(shard);
    Claimed claimed{shard_, number_, {}};
    if (shard_->compression != nullptr) {
      chunk->offset = shard.begin;
      chunk->length = shard.raw.bytes;
      chunk->records = shard.samples;
      next_ = shard.samples;
    } else {
      uint64_t end = next_;  // of the chunk's samples
      claimed.offsets.push_back(OffsetOf(shard, end));
      do {
        const uint32_t begin = claimed.offsets.back();
        const uint32_t sample_end = OffsetOf(shard, end + 1);
        // Samples before a wrong one come first.
        const bool wrong = begin > sample_end || sample_end > shard.raw.bytes;
        if (end > next_ && (wrong || sample_end - claimed.offsets.front() > kReadBlockBytes)) {
          break;
        }
        CheckSample(shard_->path, shard, end, begin, sample_end);
        claimed.offsets.push_back(sample_end);
        ++end;
      } while (end < shard.samples && end - next_ < kMostRecords);
      chunk->offset = shard.begin + claimed.offsets.front();
      chunk->length = claimed.offsets.back() - claimed.offsets.front();
      chunk->records = end - next_;
      next_ = end;
    }
    chunk->claimed = std::move(claimed);
    return true;
  }

  bool Seek(uint64_t offset, std::optional<uint64_t>) override {
    const std::vector<MdsShard>& shards = index_.shards;
    const auto behind =
        std::upper_bound(shards.begin(), shards.end(), offset,
                         [](uint64_t at, const MdsShard& shard) { return at < shard.begin; });
    if (behind == shards.begin()) return false;
    const MdsShard& shard = *(behind - 1);
    std::shared_ptr<const OpenShard> before = shard_;
    Open(shard);
    uint64_t sample = 0;
    bool found = offset == shard.begin;
    if (shard_->compression == nullptr) {
      uint64_t end = shard.samples;
      while (sample < end) {
        const uint64_t middle = sample + (end - sample) / 2;
        if (OffsetOf(shard, middle) < offset - shard.begin) {
          sample = middle + 1;
        } else {
          end = middle;
        }
      }
      found = sample < shard.samples && OffsetOf(shard, sample) == offset - shard.begin;
    }
    if (!found) {
      shard_ = std::move(before);
      window_.clear();
      return false;
    }
    number_ = static_cast<size_t>(behind - 1 - shards.begin());
    next_ = sample;
    return true;
  }

  void Fetch(Chunk* chunk) const override {
    const auto& claimed = std::any_cast<const Claimed&>(chunk->claimed);
    const MdsShard& shard = index_.shards[claimed.number];
    if (claimed.shard->compression != nullptr) {
      Expand(*claimed.shard, shard, chunk);
    } else {
      ReadPlain(claimed, chunk);
    }
    // Chunks may wait long to be loaded, and there may be more of them than files can be open.
    chunk->claimed.reset();
  }

 private:
  static void ReadPlain(const Claimed& claimed, Chunk* chunk) {
    // Shards begin at multiples of the alignment, so that the bytes lie where lead() says.
    chunk->Read(*claimed.shard->file, claimed.offsets.front(), chunk->length);
    chunk->SetAsInFile();
    chunk->pieces.reserve(claimed.offsets.size() - 1);
    for (size_t i = 0; i + 1 < claimed.offsets.size(); ++i) {
      AddPiece(chunk, claimed.offsets[i] - claimed.offsets.front(),
               claimed.offsets[i + 1] - claimed.offsets[i]);
    }
  }

  static void AddPiece(Chunk* chunk, uint64_t at, uint32_t size) {
    chunk->pieces.push_back({static_cast<uint32_t>(chunk->lead() + at), size});
  }

  void Open(const MdsShard& shard) {
    auto opened = std::make_shared<OpenShard>();
    opened->path = PathOf(shard.raw.name);
    FileStatus status = FileSystemOf(opened->path).Stat(opened->path);
    const bool is_compressed = status.kind == FileStatus::Kind::kMissing && !shard.zip.name.empty();
    if (is_compressed) {
      opened->path = PathOf(shard.zip.name);
      status = FileSystemOf(opened->path).Stat(opened->path);
      opened->compression = CompressionNamed(shard.compression);
      CheckCompressed(shard, *opened);
    }
    read_.Add(opened->path, status.id);
    std::unique_ptr<const File> file =
        File::Open(opened->path, is_compressed ? BufferType::kMemory : file_.buffer_type);
    const MdsShard::Stored& stored = is_compressed ? shard.zip : shard.raw;
    if (file->size() != stored.bytes) {
      Damaged(opened->path, std::min(file->size(), stored.bytes),
              StrCat("the shard has ", file->size(), " bytes, its index says ", stored.bytes));
    }
    if (!is_compressed) {
      if (file->size() < TableEnd(shard.samples)) {
        Damaged(opened->path, file->size(),
                StrCat("the shard ends in the table of its ", shard.samples, " samples"));
      }
      const auto number = [&](uint64_t i) {
        uint32_t value;
        file->Read(i * kOffsetBytes, reinterpret_cast<char*>(&value), kOffsetBytes);
        return value;
      };
      CheckTable(opened->path, shard, number(0), number(1), number(shard.samples + 1));
      opened->file = std::move(file);
    }
    window_.clear();
    shard_ = std::move(opened);
  }

  void CheckCompressed(const MdsShard& shard, const OpenShard& opened) const {
    if (opened.compression == nullptr) {
      Damaged(opened.path, 0,
              StrCat("the shard is compressed by '", Escaped(shard.compression),
                     "'; zstd and gz are read"));
    }
    if (file_.buffer_type == BufferType::kMmap) {
      Damaged(
          opened.path, 0,
          "the shard is compressed, so it cannot be mapped; read it with buffer_type \"memory\"",
          ErrorCode::kInvalidArgument);
    }
    if (shard.raw.bytes > kMaxExpandedChunkBytes) {
      Damaged(opened.path, 0,
              StrCat("the shard has ", shard.raw.bytes, " bytes when expanded; the limit is ",
                     kMaxExpandedChunkBytes),
              ErrorCode::kResourceLimit);
    }
  }

  // Where a sample of the plain shard begins, or the last one ends. A part of the table is kept.
  uint32_t OffsetOf(const MdsShard& shard, uint64_t sample) {
    if (sample < window_begin_ || sample - window_begin_ >= window_.size()) {
      std::vector<uint32_t> window(std::min<uint64_t>(kMostRecords, shard.samples + 1 - sample));
      shard_->file->Read((1 + sample) * kOffsetBytes, reinterpret_cast<char*>(window.data()),
                         window.size() * kOffsetBytes);
      window_ = std::move(window);
      window_begin_ = sample;
    }
    return window_[sample - window_begin_];
  }

  static void Expand(const OpenShard& opened, const MdsShard& shard, Chunk* chunk) {
    ByteStream stream(opened.path, *opened.compression);
    if (shard.raw.bytes > stream.most_left()) {
      Damaged(opened.path, 0,
              StrCat("the index says that the shard has ", shard.raw.bytes,
                     " bytes when expanded, which its ", shard.zip.bytes, " bytes cannot give"));
    }
    chunk->bytes = BufferPool::At(Place()).Take(chunk->lead() + shard.raw.bytes);
    char* const bytes = chunk->bytes->data() + chunk->lead();
    const size_t size = stream.Read(bytes, shard.raw.bytes);
    char more;
    if (size < shard.raw.bytes || stream.Read(&more, 1) > 0) {
      Damaged(opened.path, stream.file().size(),
              StrCat("the shard has ", size < shard.raw.bytes ? "fewer" : "more", " than the ",
                     shard.raw.bytes, " expanded bytes that its index says"));
    }
    if (shard.raw.bytes < TableEnd(shard.samples)) {
      Damaged(opened.path, 0,
              StrCat("the shard ends in the table of its ", shard.samples, " samples"));
    }
    const auto number = [&](uint64_t i) {
      uint32_t value;
      std::memcpy(&value, bytes + i * kOffsetBytes, kOffsetBytes);
      return value;
    };
    CheckTable(opened.path, shard, number(0), number(1), number(shard.samples + 1));
    chunk->SetAsInFile();
    chunk->pieces.reserve(shard.samples);
    for (uint64_t i = 0; i < shard.samples; ++i) {
      const uint32_t begin = number(i + 1), end = number(i + 2);
      CheckSample(opened.path, shard, i, begin, end);
      AddPiece(chunk, begin, end - begin);
    }
  }

  // Of what lies beside the index, with the query of its URL.
  std::string PathOf(const std::string& name) const {
    const std::string_view index = WithoutQuery(file_.path);
    return StrCat(FolderOf(file_.path), name, std::string_view(file_.path).substr(index.size()));
  }

  const FileEntry file_;
  const MdsIndex index_;
  FilesRead read_{FileRole::kData};
  size_t number_ = 0;                       // of the shard to be claimed
  uint64_t next_ = 0;                       // its next sample
  std::shared_ptr<const OpenShard> shard_;  // null until it is opened
  std::vector<uint32_t> window_;            // offsets, from that of sample window_begin_ on
  uint64_t window_begin_ = 0;
};

class MdsFormat final : public FileFormat {
 public:
  MdsFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : FileFormat(AgreeOnSlots(arguments.declared, SlotsOf(fields))),
        fields_(std::move(fields)),
        files_(arguments.files),
        parsers_(files_) {
    for (const Field& field : fields_) {
      Require(field.missing != Field::Missing::kSkip || field.vocabulary == nullptr, "field '",
              Escaped(field.name),
              "': missing=skip leaves out the samples of shards without the column, but none by "
              "what is in it, as vocab= would");
      Require(field.decode != Field::Decode::kJson, "field '", Escaped(field.name),
              "': decode=json is not for columns");
      RefuseCellOptions(field);
    }
  }

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    MdsIndex index = ReadMdsIndex(file.path);
    if (!index.shards.empty()) Learn(file.path, index.columns);
    if (LacksSkipped(index)) index.shards.clear();
    return std::make_unique<MdsSource>(file, std::move(index));
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    uint64_t records = 0;
    for (const FileEntry& file : files) {
      const MdsIndex index = ReadMdsIndex(file.path);
      if (!LacksSkipped(index)) records += index.samples();
    }
    return records;
  }

  bool chunks_tell_records() const override { return true; }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n;) {
      const MdsParser& parser = parsers_.Of(tickets[i]);
      size_t same = 1;
      while (i + same < n && &parsers_.Of(tickets[i + same]) == &parser) ++same;
      parser.Load(tickets + i, same, rows);
      i += same;
    }
  }

  std::string PlaceName(const FileEntry& file, uint64_t offset) const override {
    const MdsIndex index = ReadMdsIndex(file.path);
    const auto behind =
        std::upper_bound(index.shards.begin(), index.shards.end(), offset,
                         [](uint64_t at, const MdsShard& shard) { return at < shard.begin; });
    if (behind == index.shards.begin()) return "";
    const MdsShard& shard = *(behind - 1);
    return StrCat("the sample at byte ", offset - shard.begin, " of ", Escaped(shard.raw.name));
  }

 private:
  // The first file tells the columns of all, but for those that a file may lack.
  void Learn(const std::string& path, const std::vector<MdsColumn>& columns) {
    const MdsParser* const first = parsers_.first();
    try {
      if (first != nullptr && CommonColumns(columns) != CommonColumns(first->columns())) {
        Throw(ErrorCode::kDataLoss, "its columns are others than those of the files before it");
      }
      if (first == nullptr) CheckNames(path, columns);
      parsers_.Add(path, MdsParser(fields_, columns));
    } catch (const Error& error) {
      throw error.InFile(path, 0);
    }
  }

  // Throws if a field that may be missing names a column that no file has.
  void CheckNames(const std::string& path, const std::vector<MdsColumn>& columns) const {
    const auto columns_in = [](std::vector<MdsColumn> some) {
      return [some = std::move(some)](const Field& field) { return Has(some, field); };
    };
    const Field* const lacked = FirstLackedByAll(
        fields_, columns_in(columns), path, files_,
        [&](const std::string& other) { return columns_in(ReadMdsIndex(other).columns); });
    if (lacked == nullptr) return;
    Field must_be = *lacked;
    must_be.missing = Field::Missing::kError;
    try {
      MdsParser({must_be}, columns);
    } catch (const Error& error) {
      throw LackedByAll(error);
    }
  }

  // Columns without those that a file may lack.
  std::vector<MdsColumn> CommonColumns(std::vector<MdsColumn> columns) const {
    const auto may_lack = [this](const MdsColumn& column) {
      return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) {
        return field.name == column.name && field.missing != Field::Missing::kError;
      });
    };
    columns.erase(std::remove_if(columns.begin(), columns.end(), may_lack), columns.end());
    return columns;
  }

  static bool Has(const std::vector<MdsColumn>& columns, const Field& field) {
    return std::any_of(columns.begin(), columns.end(),
                       [&](const MdsColumn& column) { return column.name == field.name; });
  }

  // Whether a column is missing whose field says that such samples are left out.
  bool LacksSkipped(const MdsIndex& index) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) {
      return field.missing == Field::Missing::kSkip && !Has(index.columns, field);
    });
  }

  const std::vector<Field> fields_;
  const std::vector<FileEntry> files_;  // as far as they are known
  LearnedFiles<MdsParser> parsers_;
};

FittingFields GuessFields(const std::string& path, const AttributeMap& attributes) {
  const MdsIndex index = ReadMdsIndex(path);
  MdsSource source({path, "", BufferType::kMemory}, index);
  const Ref<Chunk> chunk = Pool<Chunk>::Take();
  if (!source.Claim(chunk.get())) return GuessMdsFields(index.columns, {});
  source.Fetch(chunk.get());
  constexpr size_t kLookedAt = 1000;
  std::vector<std::string_view> samples;
  for (size_t i = 0; i < std::min(chunk->pieces.size(), kLookedAt); ++i) {
    samples.emplace_back(chunk->bytes->data() + chunk->pieces[i].offset, chunk->pieces[i].size);
  }
  FittingFields fields = GuessMdsFields(index.columns, samples);
  const bool is_given = attributes.Has(kNumbers) && !attributes.Get<std::string>(kNumbers).empty();
  if (is_given) fields.attributes.Set(kNumbers, attributes.Get<std::string>(kNumbers));
  return fields;
}

// Writers sort the keys, so that the shards come first and their columns come first in them.
bool Matches(const char* head, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    if (head[i] != ' ' && head[i] != '\n' && head[i] != '\r' && head[i] != '\t') text += head[i];
  }
  const std::string begin = R"({"shards":[{"column_)";
  return text.compare(0, begin.size(), begin) == 0;
}

FormatSchema Schema() {
  FormatSchema schema(
      "the index.json of MosaicML's MDS shards, which lie beside it; plain, zstd, gz");
  return std::move(schema
                       .Magic(&Matches)
                       // Of shards, so that an error says what reads them.
                       .Extension(".mds")
                       .NamesFilesBeside("index.json")
                       .InferFields(&GuessFields)
                       .Attr(FieldsAttribute(
                           "columns; an array has the dims that are declared, pickles are refused"))
                       .Attr(NumbersAttribute()));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<MdsFormat>(arguments, RequiredFields(arguments.attributes));
}

REGISTER_FILE_FORMAT(mds, Schema, Make);

}  // namespace
}  // namespace millhopper
