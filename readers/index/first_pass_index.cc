// SPDX-License-Identifier: Apache-2.0
#include "readers/index/first_pass_index.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <system_error>
#include <utility>

#include "framework/base/error.h"
#include "framework/io/cache/remote_cache.h"
#include "framework/io/cache/remote_cache_folder.h"
#include "framework/io/counted_reads.h"
#include "framework/io/output_file.h"
#include "framework/reader/first_pass_indexes.h"
#include "readers/index/cached_index.h"
#include "readers/index/chunk_index.h"
#include "readers/index/index_builder.h"

namespace millhopper {
namespace {

void Warn(const std::string& path, const std::string& problem) {
  static std::atomic<bool> has_warned{false};
  if (has_warned.exchange(true)) return;
  // One line, which is whole where several threads write.
  const std::string line = StrCat("warning: no index of '", Escaped(path),
                                  "' is left, and files are read without one: ", problem, "\n");
  std::fputs(line.c_str(), stderr);
}

// The user has not asked for a file where such a link leads.
void CheckLink(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::is_symlink(path, none) || fs::exists(path, none)) return;
  throw Error(ErrorCode::kIo,
              "no index can be left: it is a link to a file that does not exist; remove the link")
      .InFile(path, -1);
}

void WriteBeside(const std::string& path, const std::string& index) {
  CheckFileSizeLimit(index.size());
  OutputRules rules;
  rules.overwrite = false;
  rules.make_target = false;
  OutputFile output(IndexPathOf(path), rules);
  output.Write(index);
  output.Publish();
}

void Keep(const File& file, const ChunkIndex& index) {
  if (MayHaveIndex(file.path())) {
    try {
      return WriteBeside(file.path(), index.ToBytes());
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      if (FindIndex(file.path())) return;  // another process was faster
      if (RemoteCache::Get() == nullptr) throw;
    }
  }
  CacheIndex(file, index);
}

// Fetches a chunk and returns the checksum of the bytes that decide which records it has, or 0 if
// its index has no checksums.
using FetchChunk = std::function<uint64_t(Chunk* chunk)>;

class LeavingSource final : public FileSource {
 public:
  // `owned` is the file, or null if the source has it.
  LeavingSource(std::unique_ptr<FileSource> source, FetchChunk fetch,
                std::unique_ptr<const File> owned, const File& file, const std::string& rules)
      : lists_chunks_(owned == nullptr),
        owned_(std::move(owned)),
        file_(file),
        source_(std::move(source)),
        fetch_(std::move(fetch)),
        pass_(std::make_unique<Pass>(rules, lists_chunks_)) {}

  bool Claim(Chunk* chunk) override {
    const bool more = source_->Claim(chunk);
    Note([&] {
      pass_->ended = !more;
      pass_->over = more && !lists_chunks_ && !chunk->records;  // the file is compressed
      if (more) pass_->builder.Add(*chunk, file_.path());
    });
    return more;
  }

  // What is sought leaves out what lies before it.
  bool Seek(uint64_t offset, std::optional<uint64_t> number) override {
    const bool arrived = source_->Seek(offset, number);
    const std::lock_guard<std::mutex> lock(pass_->mutex);
    pass_->over = pass_->over || arrived;
    return arrived;
  }

  void Fetch(Chunk* chunk) const override {
    const uint64_t checksum = fetch_(chunk);
    chunk->CheckUnchanged();  // a mapped file
    Note([&] { pass_->builder.SetFetched(*chunk, checksum); });
  }

 private:
  // What is known of the file so far.
  struct Pass {
    Pass(const std::string& rules, bool lists_chunks) : builder(rules, lists_chunks) {}

    std::mutex mutex;      // guards what is below
    IndexBuilder builder;  // constant once it is over
    bool ended = false;    // Claim has found the end of the file
    bool over = false;     // nothing more is noted
  };

  // Adds to what is known and, if that is all, leaves the index. Whatever goes wrong is no error of
  // the file.
  template <typename Add>
  void Note(const Add& add) const try {
    {
      const std::lock_guard<std::mutex> lock(pass_->mutex);
      if (pass_->over) return;
      add();
      if (!pass_->ended || !pass_->builder.all_fetched()) return;
      pass_->over = true;
    }
    const CountedReads nobody(nullptr);
    const ChunkIndex index = pass_->builder.Build(file_);
    if (File::Open(file_.path())->version() == file_.version()) Keep(file_, index);
  } catch (...) {
    const Error error = CurrentError();
    if (!error.interrupts()) Warn(file_.path(), error.message());
    const std::lock_guard<std::mutex> lock(pass_->mutex);
    pass_->over = true;
  }

  const bool lists_chunks_;
  const std::unique_ptr<const File> owned_;
  const File& file_;
  const std::unique_ptr<FileSource> source_;
  const FetchChunk fetch_;
  const std::unique_ptr<Pass> pass_;
};

}  // namespace

bool IsIndexDue(const File& file) {
  if (!FirstPassIndexes::AreLeft()) return false;
  if (!MayHaveIndex(file.path()) && RemoteCache::Get() == nullptr) {
    Warn(file.path(),
         "it is on no local disk, and no folder is set for a cache (--cache_dir, set_cache)");
    return false;
  }
  CheckLink(IndexPathOf(file.path()));
  return !file.version().empty();
}

std::unique_ptr<FileSource> LeavingIndex(std::unique_ptr<IndexableSource> source,
                                         const std::string& rules) {
  const IndexableSource* const indexable = source.get();
  FetchChunk fetch = [indexable](Chunk* chunk) {
    uint64_t sum = 0;
    indexable->FetchChecked(chunk, [&sum](uint64_t checksum) { sum = checksum; });
    return sum;
  };
  const File& file = indexable->stream().file();
  return std::make_unique<LeavingSource>(std::move(source), std::move(fetch), nullptr, file, rules);
}

std::unique_ptr<FileSource> LeavingIndex(std::unique_ptr<FileSource> source,
                                         std::unique_ptr<const File> file,
                                         const std::string& rules) {
  const FileSource* const counted = source.get();
  FetchChunk fetch = [counted](Chunk* chunk) {
    counted->Fetch(chunk);
    return uint64_t{0};
  };
  const File& opened = *file;
  return std::make_unique<LeavingSource>(std::move(source), std::move(fetch), std::move(file),
                                         opened, rules);
}

}  // namespace millhopper
