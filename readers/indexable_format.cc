// SPDX-License-Identifier: Apache-2.0
#include "readers/indexable_format.h"

#include <algorithm>
#include <any>
#include <cstddef>
#include <exception>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/io/one_pass.h"

namespace millhopper {
namespace {

// Finds the chunks of a file by its index.
class SourceByIndex final : public FileSource {
 public:
  SourceByIndex(std::unique_ptr<const IndexableSource> source, const std::string& index_path,
                ChunkIndex index, bool all_are_listed)
      : source_(std::move(source)),
        index_path_(index_path),
        chunks_(std::move(index.chunks)),
        all_are_listed_(all_are_listed) {
    begins_.reserve(chunks_.size());
    uint64_t begin = 0;
    for (const IndexedChunk& chunk : chunks_) {
      begins_.push_back(begin);
      begin += chunk.length;
    }
  }

  bool Claim(Chunk* chunk) override {
    if (next_ == chunks_.size()) return false;
    chunk->offset = begins_[next_];
    chunk->length = chunks_[next_].length;
    chunk->claimed = next_;
    if (all_are_listed_) chunk->records = chunks_[next_].records;
    ++next_;
    return true;
  }

  bool Seek(uint64_t offset, std::optional<uint64_t>) override {
    const auto found = std::lower_bound(begins_.begin(), begins_.end(), offset);
    if (found == begins_.end() || *found != offset) return false;
    next_ = static_cast<size_t>(found - begins_.begin());
    return true;
  }

  void Fetch(Chunk* chunk) const override {
    const IndexedChunk& indexed = chunks_[std::any_cast<size_t>(chunk->claimed)];
    const auto fail = [&](const std::string& problem) {
      chunk->pieces.clear();  // they are other records
      FailStale(index_path_, source_->stream().path(),
                StrCat("the ", chunk->length, " bytes from byte ", chunk->offset, " on ", problem),
                chunk->offset);
    };
    chunk->bytes = Ref<Buffer>();  // of a call that was refused memory, perhaps changed since
    source_->FetchChecked(chunk, [&](uint64_t checksum) {
      if (checksum != indexed.checksum) fail("are others");
    });
    if (all_are_listed_ && chunk->pieces.size() != indexed.records) {
      fail(StrCat("have ", chunk->pieces.size(), " records, not ", indexed.records));
    }
  }

 private:
  const std::unique_ptr<const IndexableSource> source_;
  const std::string index_path_;
  const std::vector<IndexedChunk> chunks_;
  std::vector<uint64_t> begins_;
  const bool all_are_listed_;
  size_t next_ = 0;
};

// A file that has another number of records than its index says is an error at its end.
class CountedSource final : public FileSource {
 public:
  CountedSource(std::unique_ptr<FileSource> source, const std::string& index_path,
                const std::string& path, uint64_t records)
      : source_(std::move(source)), index_path_(index_path), path_(path), records_(records) {}

  bool Claim(Chunk* chunk) override {
    if (source_->Claim(chunk)) {
      found_ += chunk->records.value_or(0);
      end_ = chunk->offset + chunk->length;
      return true;
    }
    if (seen_all_ && found_ != records_) {
      FailStale(index_path_, path_, StrCat("it has ", found_, " records, not ", records_), end_);
    }
    return false;
  }
  bool Seek(uint64_t offset, std::optional<uint64_t> number) override {
    if (!source_->Seek(offset, number)) return false;
    seen_all_ = false;
    return true;
  }
  void Fetch(Chunk* chunk) const override { source_->Fetch(chunk); }

 private:
  const std::unique_ptr<FileSource> source_;
  const std::string index_path_, path_;
  const uint64_t records_;
  uint64_t found_ = 0;
  uint64_t end_ = 0;
  bool seen_all_ = true;  // whether no chunk was passed over unclaimed
};

constexpr char kNoUse[] = "an index is of use where any place of a file can be read";

// The index that is named with a file, or lies beside it.
std::optional<std::string> IndexPathFor(const FileEntry& file) {
  return file.companion.empty() ? FindIndex(file.path) : file.companion;
}

[[noreturn]] void RefuseCompressed(const FileEntry& file) {
  throw Error(ErrorCode::kInvalidArgument,
              "the file is compressed as a whole, so it can be read from its beginning only, and "
              "an index would be of no use; index it decompressed")
      .InFile(file.path, 0);
}

}  // namespace

ChunkIndex IndexableFormat::MakeIndex(const FileEntry& file, std::atomic<uint64_t>* bytes) {
  Require(!leaves_out_records(),
          "a field has missing=skip, so that this reader leaves records out, but an index lists "
          "all; make it without the field");
  if (CanBeReadOnceOnly(file.path)) {
    throw ReadOnceOnly(file.path, kNoUse);
  }
  const std::unique_ptr<const File> opened = File::Open(file.path);
  ChunkIndex index;
  index.rules = Rules();
  index.file_bytes = opened->size();
  index.ends = ChunkIndex::EndsOf(*opened);
  AddChunks(file, bytes, &index);
  return index;
}

std::optional<uint64_t> IndexableFormat::CountByIndex(const FileEntry& file) const {
  if (leaves_out_records()) return std::nullopt;
  const std::optional<std::string> index = IndexPathFor(file);
  return index ? ReadCount(*index, *File::Open(file.path), Rules()) : std::nullopt;
}

std::optional<uint64_t> IndexableFormat::CountRecords(const std::vector<FileEntry>& files) const {
  uint64_t records = 0;
  for (const FileEntry& file : files) {
    const std::optional<uint64_t> counted = CountByIndex(file);
    if (!counted) return std::nullopt;
    records += *counted;
  }
  return records;
}

std::unique_ptr<FileSource> SearchedFormat::Open(const FileEntry& file) {
  const std::optional<std::string> path = IndexPathFor(file);
  std::unique_ptr<IndexableSource> source = OpenWithoutIndex(file);
  if (!path) return source;
  const bool is_named = !file.companion.empty();
  if (source->stream().can_be_read_once_only()) {
    if (!is_named) return source;
    throw ReadOnceOnly(file.path, kNoUse);
  }
  std::optional<ChunkIndex> index = ReadIndex(*path, source->stream().file(), Rules());
  if (!index) {
    if (!is_named) return source;
    throw Error(ErrorCode::kDataLoss,
                StrCat("the index was not made by the rules of this reader, '", Escaped(Rules()),
                       "'; make it again with recordio index"))
        .InFile(*path, 0);
  }
  if (!source->stream().plain()) FailStale(*path, file.path, "it is compressed now", 0);
  return std::make_unique<SourceByIndex>(std::move(source), *path, std::move(*index),
                                         !leaves_out_records());
}

bool SearchedFormat::chunks_tell_records() const {
  return !leaves_out_records() && !files_.empty() &&
         std::all_of(files_.begin(), files_.end(),
                     [](const FileEntry& file) { return IndexPathFor(file).has_value(); });
}

void SearchedFormat::AddChunks(const FileEntry& file, std::atomic<uint64_t>* bytes,
                               ChunkIndex* index) {
  const std::unique_ptr<IndexableSource> source = OpenWithoutIndex(file);
  if (!source->stream().plain()) RefuseCompressed(file);
  uint64_t end = 0;
  const auto at_once = static_cast<size_t>(std::max(1, ThreadPool::Get().size()));
  for (bool more = true; more;) {
    CheckStop();
    std::vector<Ref<Chunk>> claimed;
    while (more && claimed.size() < at_once) {
      Ref<Chunk> chunk = Pool<Chunk>::Take();
      more = source->Claim(chunk.get());
      if (more) claimed.push_back(std::move(chunk));
    }
    std::vector<std::exception_ptr> errors(claimed.size());
    std::vector<uint64_t> sums(claimed.size());
    ParallelFor(claimed.size(), [&](size_t i) {
      try {
        source->FetchChecked(claimed[i].get(), [&](uint64_t checksum) { sums[i] = checksum; });
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
    for (size_t i = 0; i < claimed.size(); ++i) {
      if (errors[i] != nullptr) std::rethrow_exception(errors[i]);
      const Chunk& chunk = *claimed[i];
      if (chunk.length > kMaxChunkBytes) {
        throw Error(ErrorCode::kResourceLimit,
                    StrCat("a chunk of ", chunk.length, " bytes cannot be indexed; the limit is ",
                           kMaxChunkBytes))
            .InFile(file.path, static_cast<int64_t>(chunk.offset));
      }
      end = chunk.offset + chunk.length;
      index->chunks.push_back({static_cast<uint32_t>(chunk.length),
                               static_cast<uint32_t>(chunk.pieces.size()), sums[i]});
      index->records += chunk.pieces.size();
      *bytes += chunk.length;
    }
  }
  if (end != index->file_bytes) {
    throw Error(ErrorCode::kDataLoss, StrCat("its chunks end at byte ", end, " of ",
                                             index->file_bytes, "; it changed while it was read"))
        .InFile(file.path, static_cast<int64_t>(end));
  }
}

std::unique_ptr<FileSource> CountedFormat::Open(const FileEntry& file) {
  bool counted = false;
  std::unique_ptr<FileSource> source = OpenUncounted(file, &counted);
  if (counted) return source;
  const std::optional<std::string> path = FindIndex(file.path);
  if (!path) return source;
  const std::optional<uint64_t> records = ReadCount(*path, *File::Open(file.path), Rules());
  if (!records) return source;
  return std::make_unique<CountedSource>(std::move(source), *path, file.path, *records);
}

void CountedFormat::AddChunks(const FileEntry& file, std::atomic<uint64_t>* bytes,
                              ChunkIndex* index) {
  bool counted;
  const std::unique_ptr<FileSource> source = OpenUncounted(file, &counted);
  for (;;) {
    CheckStop();
    const Ref<Chunk> chunk = Pool<Chunk>::Take();
    if (!source->Claim(chunk.get())) return;
    if (!chunk->records) RefuseCompressed(file);
    index->records += *chunk->records;
    *bytes += chunk->length;
  }
}

}  // namespace millhopper
