// SPDX-License-Identifier: Apache-2.0
#include "framework/io/cache/remote_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <random>

#include "framework/base/error.h"
#include "framework/io/own_descriptor.h"
#include "framework/io/own_object.h"

namespace millhopper {
namespace {

using Clock = std::chrono::steady_clock;

// Nothing is written for so long to a full disk, where other programs need the room.
constexpr std::chrono::seconds kIdle(10);
constexpr time_t kUseSeconds = 60;  // after which a read renews the time of an entry
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
  PartFile(const RemoteCacheFolder& folder, const RemoteCacheFolder::Name& name)
      : whole_(folder.PathOf(name)),
        path_(StrCat(whole_, ".", ::getpid(), "-", std::random_device()(), ".part")),
        file_(OpenIn(folder, name)) {
    if (!file_.is_open()) ThrowErrno();
    // This lock tells other processes that the file is still being written. One who came before it
    // removes the file.
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
  // False if another process has removed the file.
  bool Publish() {
    if (::rename(path_.c_str(), whole_.c_str()) == 0) {
      path_.clear();
      return true;
    }
    if (errno != ENOENT) ThrowErrno();
    return false;
  }

 private:
  int OpenIn(const RemoteCacheFolder& folder, const RemoteCacheFolder::Name& name) const {
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

void RemoteCache::Use(const std::string& folder, uint64_t most_bytes) {
  // Nothing destroys a cache, because files that are open may use it.
  if (!folder.empty()) newest.store(new RemoteCache(folder, most_bytes, newest.load()));
  current.store(folder.empty() ? nullptr : newest.load());
}

RemoteCacheFolder::Name RemoteCache::NameOf(std::string_view name, uint64_t number) {
  const std::string digest = DigestOf({name, std::to_string(number)});
  RemoteCacheFolder::Name entry;
  std::copy_n(digest.begin(), entry.size(), entry.begin());
  return entry;
}

RemoteCache::Key RemoteCache::KeyOf(std::string_view name, std::string_view version,
                                    uint64_t number) {
  Key key;
  key.name = NameOf(name, number);
  const std::string digest = DigestOf({version, std::to_string(number)});
  std::copy_n(digest.begin(), key.digest.size(), key.digest.begin());
  return key;
}

RemoteCache* RemoteCache::Get() { return current.load(); }

RemoteCacheStats RemoteCache::Stats() {
  const Counts& counts = OwnObject<Counts>();
  RemoteCacheStats stats;
  stats.reads = counts.reads;
  stats.read_bytes = counts.read_bytes;
  stats.written = counts.written;
  stats.written_bytes = counts.written_bytes;
  stats.not_written = counts.not_written;
  stats.unfit = counts.unfit;
  return stats;
}

bool RemoteCache::HasAny(const RemoteCacheFolder::Name& name) const {
  return ::access(folder_.PathOf(name).c_str(), F_OK) == 0;
}

bool RemoteCache::Has(const Key& key, size_t block_size) const {
  const OwnDescriptor file(OpenEntry(folder_.PathOf(key.name)));
  return file.is_open() &&
         ReadCachedBlock(file.get(), key.digest, block_size, 0, nullptr, 0).has_value();
}

bool RemoteCache::Read(const Key& key, size_t block_size, size_t offset, char* out,
                       size_t size) const {
  const OwnDescriptor file(OpenEntry(folder_.PathOf(key.name)));
  return file.is_open() && ReadFrom(file.get(), key, block_size, offset, out, size);
}

std::optional<std::string> RemoteCache::ReadWhole(const Key& key) const {
  const OwnDescriptor file(OpenEntry(folder_.PathOf(key.name)));
  if (!file.is_open()) return std::nullopt;
  const uint64_t size = CachedBlockBytes(file.get()).value_or(0);
  std::string block(std::min<uint64_t>(size, kMostBlockBytes), '\0');
  if (!ReadFrom(file.get(), key, block.size(), 0, block.data(), block.size())) return std::nullopt;
  return block;
}

bool RemoteCache::ReadFrom(int descriptor, const Key& key, size_t block_size, size_t offset,
                           char* out, size_t size) const {
  Counts& counts = OwnObject<Counts>();
  const std::optional<time_t> used =
      ReadCachedBlock(descriptor, key.digest, block_size, offset, out, size);
  if (!used) {
    // Another process may have put a whole one in its place meanwhile. Then that one is lost, and
    // is fetched again.
    std::remove(folder_.PathOf(key.name).c_str());  // also an empty folder
    Count(1, &counts.unfit);
    return false;
  }
  // By this time it is known which entries are the oldest. Small reads are many.
  if (std::time(nullptr) - *used >= kUseSeconds) ::futimens(descriptor, nullptr);
  Count(1, &counts.reads);
  Count(size, &counts.read_bytes);
  return true;
}

bool RemoteCache::Takes() const {
  return Clock::now().time_since_epoch().count() >= idle_until_.load();
}

void RemoteCache::Write(const Key& key, const char* block, size_t size) {
  Counts& counts = OwnObject<Counts>();
  bool written = false;
  if (Takes()) {
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

bool RemoteCache::WriteEntry(const Key& key, const char* block, size_t size) {
  if (Has(key, size)) return true;  // another writer was faster
  const std::string head = CachedBlockHead(key.digest, block, size);
  const size_t bytes = head.size() + size;
  CheckFileSizeLimit(bytes);
  if (!folder_.MakeRoom(bytes)) return false;
  PartFile file(folder_, key.name);
  if (!folder_.Reserve(bytes)) return false;
  file.Write(head.data(), head.size());
  file.Write(block, size);
  return file.Publish();
}

}  // namespace millhopper
