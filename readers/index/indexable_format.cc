// SPDX-License-Identifier: Apache-2.0
#include "readers/index/indexable_format.h"

#include <algorithm>
#include <any>
#include <cstddef>
#include <exception>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/io/one_pass.h"
#include "framework/reader/first_pass_indexes.h"
#include "readers/index/cached_index.h"
#include "readers/index/first_pass_index.h"

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
    bool checked = false;
    try {
      source_->FetchChecked(chunk, [&](uint64_t checksum) {
        if (checksum != indexed.checksum) fail("are others");
        checked = true;
      });
    } catch (...) {
      // What was listed before an error is delivered, but only if the bytes are those of the index.
      if (!checked) chunk->pieces.clear();
      throw;
    }
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
    if (found_ != records_) {
      FailStale(index_path_, path_, StrCat("it has ", found_, " records, not ", records_), end_);
    }
    return false;
  }
  // Chunks that are passed over would not be counted. To claim them reads their headers only.
  bool Seek(uint64_t, std::optional<uint64_t>) override { return false; }
  void Fetch(Chunk* chunk) const override { source_->Fetch(chunk); }

 private:
  const std::unique_ptr<FileSource> source_;
  const std::string index_path_, path_;
  const uint64_t records_;
  uint64_t found_ = 0;
  uint64_t end_ = 0;
};

constexpr char kNoUse[] = "an index is of use where any place of a file can be read";

// The index that is named with a file, or lies beside it.
std::optional<std::string> IndexPathFor(const FileEntry& file) {
  return file.companion.empty() ? FindIndex(file.path) : file.companion;
}

[[noreturn]] void RefuseCompressed(const FileEntry& file) {
  throw Error(ErrorCode::kInvalidArgument,
              "the file is compressed as a whole, or its text is not in UTF-8, so it can be read "
              "from its beginning only, and an index would be of no use; index it decompressed")
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
  return FindChunks(file, bytes).Build(*opened);
}

std::optional<uint64_t> IndexableFormat::CountByIndex(const FileEntry& file) const {
  if (leaves_out_records()) return std::nullopt;
  const std::string rules = Rules();
  const std::optional<std::string> path = IndexPathFor(file);
  if (!path && !MayHaveCachedIndex(file.path, rules)) return std::nullopt;
  const std::unique_ptr<const File> opened = File::Open(file.path);
  const std::unique_ptr<const File> index =
      path ? File::Open(*path) : FindCachedIndex(*opened, rules);
  return index == nullptr ? std::nullopt : ReadCount(*index, *opened, rules);
}

std::optional<uint64_t> IndexableFormat::SumOf(const std::vector<FileEntry>& files,
                                               const Count& count) {
  uint64_t records = 0;
  for (const FileEntry& file : files) {
    const std::optional<uint64_t> counted = count(file);
    if (!counted) return std::nullopt;
    if (__builtin_add_overflow(records, *counted, &records)) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("its index or manifest says ", *counted,
                         " records, which with those of the files before it are more than files "
                         "can have"))
          .InFile(file.path, -1);
    }
  }
  return records;
}

std::optional<uint64_t> IndexableFormat::CountRecords(const std::vector<FileEntry>& files) const {
  return SumOf(files, [this](const FileEntry& file) { return CountByIndex(file); });
}

bool SearchedFormat::HasForeignIndex(const FileEntry& file) {
  if (file.companion.empty()) return false;
  // An index that can be read once only is none of chunks, which is read at any place; the format
  // reads it.
  return CanBeReadOnceOnly(file.companion) || !IsChunkIndex(file.companion);
}

std::unique_ptr<FileSource> SearchedFormat::Open(const FileEntry& file) {
  const std::string rules = Rules();
  const std::optional<std::string> path = IndexPathFor(file);
  std::unique_ptr<IndexableSource> source = OpenWithoutIndex(file);
  const ByteStream& stream = source->stream();
  const bool is_named = !file.companion.empty();
  if (stream.can_be_read_once_only()) {
    if (!is_named) return source;
    throw ReadOnceOnly(file.path, kNoUse);
  }
  if (!path && !stream.plain()) return source;
  const std::unique_ptr<const File> found =
      path ? File::Open(*path) : FindCachedIndex(stream.file(), rules);
  if (found == nullptr) {
    if (leaves_out_records() || !IsIndexDue(stream.file())) return source;
    return LeavingIndex(std::move(source), rules);
  }
  std::optional<ChunkIndex> index = ReadIndex(*found, stream.file(), rules);
  if (!index) {
    if (!is_named) return source;
    throw Error(ErrorCode::kDataLoss,
                StrCat("the index was not made by the rules of this reader, '", Escaped(rules),
                       "'; make it again with recordio index"))
        .InFile(*path, 0);
  }
  if (!stream.plain()) FailStale(*path, file.path, "it is compressed now", 0);
  return std::make_unique<SourceByIndex>(std::move(source), found->path(), std::move(*index),
                                         !leaves_out_records());
}

bool SearchedFormat::TellRecords(bool by_cache) const {
  if (leaves_out_records() || files_.empty()) return false;
  const std::string rules = Rules();
  return std::all_of(files_.begin(), files_.end(), [&](const FileEntry& file) {
    if (!file.companion.empty()) return true;  // by other rules it is an error of Open
    const std::optional<std::string> path = FindIndex(file.path);
    return path ? RulesOf(*path) == rules : by_cache && MayHaveCachedIndex(file.path, rules);
  });
}

IndexBuilder SearchedFormat::FindChunks(const FileEntry& file, std::atomic<uint64_t>* bytes) {
  const std::unique_ptr<IndexableSource> source = OpenWithoutIndex(file);
  if (!source->stream().plain()) RefuseCompressed(file);
  IndexBuilder builder(Rules(), true);
  const auto at_once = static_cast<size_t>(std::max(1, ThreadPool::Get().size()));
  for (bool more = true; more;) {
    CheckStop();
    std::vector<Ref<Chunk>> claimed;
    while (more && claimed.size() < at_once) {
      Ref<Chunk> chunk = Pool<Chunk>::Take();
      more = source->Claim(chunk.get());
      if (!more) break;
      builder.Add(*chunk, file.path);
      claimed.push_back(std::move(chunk));
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
      builder.SetFetched(*claimed[i], sums[i]);
      *bytes += claimed[i]->length;
    }
  }
  return builder;
}

std::unique_ptr<FileSource> CountedFormat::Open(const FileEntry& file) {
  const bool may_leave_index =
      FirstPassIndexes::AreLeft() && !leaves_out_records() && !CanBeReadOnceOnly(file.path);
  // Before the source, so that its version is not one that came later.
  std::unique_ptr<const File> opened = may_leave_index ? File::Open(file.path) : nullptr;
  bool counted = false;
  std::unique_ptr<FileSource> source = OpenUncounted(file, &counted);
  if (counted) return source;
  const std::string rules = Rules();
  const std::optional<std::string> path = FindIndex(file.path);
  const bool may_have_index = path || MayHaveCachedIndex(file.path, rules);
  if (may_have_index && opened == nullptr) opened = File::Open(file.path);
  const std::unique_ptr<const File> index = path             ? File::Open(*path)
                                            : may_have_index ? FindCachedIndex(*opened, rules)
                                                             : nullptr;
  if (index == nullptr) {
    if (!may_leave_index || !IsIndexDue(*opened)) return source;
    return LeavingIndex(std::move(source), std::move(opened), rules);
  }
  const std::optional<uint64_t> records = ReadCount(*index, *opened, rules);
  if (!records) return source;
  return std::make_unique<CountedSource>(std::move(source), index->path(), file.path, *records);
}

IndexBuilder CountedFormat::FindChunks(const FileEntry& file, std::atomic<uint64_t>* bytes) {
  bool counted = false;
  const std::unique_ptr<FileSource> source = OpenUncounted(file, &counted);
  IndexBuilder builder(Rules(), false);
  for (;;) {
    CheckStop();
    const Ref<Chunk> chunk = Pool<Chunk>::Take();
    if (!source->Claim(chunk.get())) return builder;
    if (!chunk->records) RefuseCompressed(file);
    builder.Add(*chunk, file.path);
    *bytes += chunk->length;
  }
}

}  // namespace millhopper
