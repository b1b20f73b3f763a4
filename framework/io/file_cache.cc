// SPDX-License-Identifier: Apache-2.0
#include "framework/io/file_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "framework/base/error.h"
#include "framework/io/own_descriptor.h"
#include "framework/io/own_object.h"

namespace millhopper {
namespace {

using Clock = std::chrono::steady_clock;

// A disk that is full is left alone for so long: what others write is of more use there.
constexpr std::chrono::seconds kIdle(10);
constexpr mode_t kPrivateFile = 0600;

struct Counts {
  std::atomic<uint64_t> reads{0}, read_bytes{0}, written{0}, written_bytes{0}, not_written{0},
      unfit{0};
};

void Count(uint64_t number, std::atomic<uint64_t>* sum) {
  sum->fetch_add(number, std::memory_order_relaxed);
}

[[noreturn]] void ThrowErrno() { Throw(ErrorCode::kIo, std::strerror(errno)); }

int OpenEntry(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

// A file that gets its name when it is complete, and is removed otherwise.
class PartFile {
 public:
  PartFile(const CacheFolder& folder, const CacheFolder::Name& name)
      : whole_(folder.PathOf(name)),
        path_(StrCat(whole_, ".", ::getpid(), "-", std::random_device()(), ".part")),
        file_(OpenIn(folder, name)) {
    if (!file_.is_open()) ThrowErrno();
    // By this lock others know that somebody still writes. One who came before it removes the file.
    ::flock(file_.get(), LOCK_EX | LOCK_NB);
  }
  ~PartFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  void Write(const char* bytes, size_t size) const {
    while (size > 0) {
      const ssize_t written = ::write(file_.get(), bytes, size);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) ThrowErrno();
      bytes += written;
      size -= static_cast<size_t>(written);
    }
  }
  // False if somebody has removed the file.
  bool Publish() {
    if (::rename(path_.c_str(), whole_.c_str()) == 0) {
      path_.clear();
      return true;
    }
    if (errno != ENOENT) ThrowErrno();
    return false;
  }

 private:
  int OpenIn(const CacheFolder& folder, const CacheFolder::Name& name) const {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    const int file = ::open(path_.c_str(), kFlags, kPrivateFile);
    if (file >= 0 || errno != ENOENT) return file;
    folder.MakeFolderOf(name);
    return ::open(path_.c_str(), kFlags, kPrivateFile);
  }
  const std::string whole_;
  std::string path_;  // "" once the file has its name
  const OwnDescriptor file_;
};

}  // namespace

void FileCache::Use(const std::string& folder, uint64_t most_bytes) {
  // Nothing destroys a cache, because files that are open may use it.
  if (!folder.empty()) newest.store(new FileCache(folder, most_bytes, newest.load()));
  current.store(folder.empty() ? nullptr : newest.load());
}

FileCache* FileCache::Get() { return current.load(); }

FileCacheStats FileCache::Stats() {
  const Counts& counts = OwnObject<Counts>();
  FileCacheStats stats;
  stats.reads = counts.reads;
  stats.read_bytes = counts.read_bytes;
  stats.written = counts.written;
  stats.written_bytes = counts.written_bytes;
  stats.not_written = counts.not_written;
  stats.unfit = counts.unfit;
  return stats;
}

bool FileCache::HasAny(const CacheFolder::Name& name) const {
  return ::access(folder_.PathOf(name).c_str(), F_OK) == 0;
}

bool FileCache::Has(const Key& key, size_t block_size) const {
  const OwnDescriptor file(OpenEntry(folder_.PathOf(key.name)));
  return file.is_open() && ReadCacheEntry(file.get(), key.digest, block_size, 0, nullptr, 0);
}

bool FileCache::Read(const Key& key, size_t block_size, size_t offset, char* out,
                     size_t size) const {
  const std::string path = folder_.PathOf(key.name);
  const OwnDescriptor file(OpenEntry(path));
  if (!file.is_open()) return false;
  Counts& counts = OwnObject<Counts>();
  if (!ReadCacheEntry(file.get(), key.digest, block_size, offset, out, size)) {
    // Another process may have put a whole one in its place meanwhile. Then that one is lost, and
    // comes again.
    ::unlink(path.c_str());
    Count(1, &counts.unfit);
    return false;
  }
  ::futimens(file.get(), nullptr);  // by this time it is known which entries are the oldest
  Count(1, &counts.reads);
  Count(size, &counts.read_bytes);
  return true;
}

void FileCache::Write(const Key& key, const char* block, size_t size) {
  Counts& counts = OwnObject<Counts>();
  bool written = false;
  if (Clock::now().time_since_epoch().count() >= idle_until_.load()) {
    try {
      written = WriteEntry(key, block, size);
    } catch (...) {
      idle_until_ = (Clock::now() + kIdle).time_since_epoch().count();
      if (!warned_.exchange(true)) {
        // One line, which is whole where several threads write.
        const std::string line = StrCat(
            "warning: the cache '", Escaped(folder_.path()),
            "' cannot be written, and files are read past it: ", CurrentError().message(), "\n");
        std::fputs(line.c_str(), stderr);
      }
    }
  }
  Count(1, written ? &counts.written : &counts.not_written);
  if (written) Count(size, &counts.written_bytes);
}

bool FileCache::WriteEntry(const Key& key, const char* block, size_t size) {
  const std::string head = CacheEntryHead(key.digest, block, size);
  CheckFileSizeLimit(head.size() + size);
  if (!folder_.Reserve(head.size() + size)) return false;
  PartFile file(folder_, key.name);
  file.Write(head.data(), head.size());
  file.Write(block, size);
  return file.Publish();
}

}  // namespace millhopper
