// SPDX-License-Identifier: Apache-2.0
#include "framework/file_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "framework/at_work.h"
#include "framework/error.h"
#include "framework/limits.h"

namespace millrace {
namespace {

constexpr size_t kLoadedAtOnce = 32;
constexpr size_t kPrefetchedBytes = 384;  // of a record: the cache fetches the rest by itself

// "" or what is wrong with the path of a file that will be read.
std::string Missing(const std::string& path, FilesRead* read) {
  struct stat status;
  if (path.find('\0') != std::string::npos) return Escaped(path) + ": a name with a zero byte";
  if (::stat(path.c_str(), &status) != 0) return Escaped(path) + ": " + std::strerror(errno);
  if (S_ISDIR(status.st_mode)) return Escaped(path) + ": is a directory";
  if (!S_ISREG(status.st_mode)) return Escaped(path) + ": is not a regular file";
  read->Add(path, status);
  return "";
}

void CheckExist(const std::vector<FileEntry>& files, FilesRead* read) {
  constexpr int kMostListed = 20;
  std::string text;
  int missing = 0;
  const auto check = [&](const std::string& path) {
    const std::string problem = Missing(path, read);
    if (!problem.empty() && ++missing <= kMostListed) {
      text += (missing == 1 ? "" : "\n  ") + problem;
    }
  };
  for (const FileEntry& file : files) {
    check(file.path);
    if (!file.companion.empty()) check(file.companion);
  }
  if (missing > kMostListed) text += StrCat("\n  and ", missing - kMostListed, " more");
  if (missing > 0) throw Error(ErrorCode::kIo, text);
}

}  // namespace

FileReader::FileReader(std::unique_ptr<FileFormat> format, FileEntry file)
    : FileReader(std::move(format), std::vector<FileEntry>{std::move(file)}, ReadAhead{}) {}

FileReader::FileReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> files,
                       ReadAhead read_ahead)
    : ReaderBase(format->slots()),
      format_(std::move(format)),
      library_(LibraryOf(*reinterpret_cast<const void* const*>(format_.get()))),
      files_(std::move(files)),
      prefetcher_(new Prefetcher(read_ahead, account())) {
  CheckExist(files_, &read_);
}

FileReader::~FileReader() { prefetcher_->Stop(); }

Ref<ChunkQueue> FileReader::OpenFile(size_t index) {
  AtWork at_work;
  at_work->library = library_;
  at_work->file = files_[index].path.c_str();
  std::unique_ptr<FileSource> source = format_->Open(files_[index]);
  if (source == nullptr) {
    throw Error(ErrorCode::kInternal, "its format has opened nothing")
        .InFile(files_[index].path, -1);
  }
  Ref<ChunkQueue> queue(new ChunkQueue(std::move(source), static_cast<uint32_t>(index),
                                       files_[index].path, library_));
  prefetcher_->Add(queue);
  return queue;
}

void FileReader::PlanNext(size_t n, Run* run) {
  try {
    if (!queue_) queue_ = OpenFile(0);
    while (n > 0 && prefetcher_->Fill(queue_.get())) {
      const size_t taken = std::min(n, queue_->available());
      const size_t first = run->tickets.size();
      run->tickets.resize(first + taken);
      queue_->Take(taken, 1, sample_, &run->tickets[first], run);
      sample_ += taken;
      n -= taken;
    }
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(sample_));
  }
}

void FileReader::Rewind(uint64_t) {
  prefetcher_->Stop();
  queue_ = Ref<ChunkQueue>();
  sample_ = 0;
}

void FileReader::LoadBlock(const Ticket* tickets, size_t n, Rows* rows) const {
  AtWork at_work;
  at_work->library = library_;
  at_work->file = files_[tickets->file].path.c_str();
  at_work->offset = tickets->offset;
  int64_t before[kMaxSlots];
  for (size_t slot = 0; slot < rows->size(); ++slot) before[slot] = rows->steps(slot);
  format_->Load(tickets, n, rows);
  for (size_t slot = 0; slot < rows->size(); ++slot) {
    if (!slots()[slot].one_step()) continue;
    const int64_t loaded = rows->steps(slot) - before[slot];
    if (loaded == static_cast<int64_t>(n)) continue;
    Throw(ErrorCode::kInternal, "its format has loaded ", loaded, " elements of slot ", slot,
          " instead of ", n);
  }
}

void FileReader::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  try {
    for (size_t i = 0; i < n; i += kLoadedAtOnce) {
      // After a shuffle the bytes lie anywhere: the cache has to be told where it goes on.
      const size_t next = std::min(n, i + kLoadedAtOnce);
      for (size_t k = next; k < std::min(n, next + kLoadedAtOnce); ++k) {
        const auto* bytes = static_cast<const char*>(tickets[k].where);
        for (size_t at = 0; at < std::min<size_t>(tickets[k].size, kPrefetchedBytes); at += 64) {
          __builtin_prefetch(bytes + at);
        }
      }
      LoadBlock(tickets + i, next - i, rows);
    }
  } catch (...) {
    if (n == 1) {
      throw CurrentError()
          .WithContext(
              StrCat("in record ", tickets->record, " of the chunk at byte ", tickets->offset))
          .InFile(files_[tickets->file].path, static_cast<int64_t>(tickets->offset))
          .WithContext(ReadingRecord(tickets->sample));
    }
    // Which of them failed? One behind another they tell.
    Rows scratch;
    scratch.ResetLike(*rows);
    for (size_t i = 0; i < n; ++i) Load(tickets + i, 1, &scratch);
    throw;
  }
}

}  // namespace millrace
