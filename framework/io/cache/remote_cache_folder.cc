// SPDX-License-Identifier: Apache-2.0
#include "framework/io/cache/remote_cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/io/file_system.h"
#include "framework/io/own_descriptor.h"

namespace millhopper {
namespace {

constexpr uint64_t kPageBytes = 4096;   // that disks give at once
constexpr uint64_t kLeastPages = 4096;  // of a cache: 16 MiB
constexpr uint64_t kMostEntryPages = kReadBlockBytes / kPageBytes + 1;
constexpr uint64_t kShareRemoved = 8;  // one of so many parts of a cache that is full
constexpr size_t kDigits = 2 * sizeof(RemoteCacheFolder::Name);
constexpr int kFolders = 256;
constexpr time_t kTidySeconds = 600;
constexpr int64_t kNanoseconds = 1'000'000'000;
constexpr mode_t kPrivateFolder = 0700, kPrivateFile = 0600;
// What is opened is a file of the folder, not one that a link leads to.
constexpr int kOwnFile = O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
constexpr char kHex[] = "0123456789abcdef";
constexpr std::string_view kPart = ".part";

uint64_t PagesOf(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; }

[[noreturn]] void ThrowErrno() { Throw(ErrorCode::kIo, std::strerror(errno)); }

[[noreturn]] void ThrowErrno(const std::string& path, const char* what) {
  const int reason = errno;
  throw Error(ErrorCode::kIo, StrCat(what, ": ", std::strerror(reason))).InFile(path, -1);
}

// The path from the root on, without a slash at its end.
std::string Absolute(const std::string& path) {
  const std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
  return (absolute.has_filename() ? absolute : absolute.parent_path()).string();
}

bool IsFull(int reason) { return reason == ENOSPC || reason == EDQUOT; }

// The name that begins with these digits, or false.
bool TakeName(std::string_view text, RemoteCacheFolder::Name* name) {
  if (text.size() < kDigits) return false;
  for (size_t i = 0; i < kDigits; ++i) {
    const char* const digit = std::strchr(kHex, text[i]);
    if (text[i] == '\0' || digit == nullptr) return false;
    uint8_t& byte = (*name)[i / 2];
    byte = static_cast<uint8_t>(byte << 4 | (digit - kHex));
  }
  return true;
}

void MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), kPrivateFolder) != 0 && errno != EEXIST) ThrowErrno();
}

int OpenLock(const std::string& folder) {
  return ::open((folder + "/lock").c_str(), O_RDWR | kOwnFile, kPrivateFile);
}

// The lock on looking through a folder, held from construction on if no other process or thread
// holds it. A child that is forked meanwhile has it, too, so it is given back expressly.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : file_(OpenLock(folder)) {
    if (!file_.is_open()) ThrowErrno(folder, "the cache cannot be written");
    is_held_ = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
    if (!is_held_ && errno != EWOULDBLOCK) ThrowErrno(folder, "the cache cannot be locked");
  }
  ~FolderLock() {
    if (is_held_) ::flock(file_.get(), LOCK_UN);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  bool is_held() const { return is_held_; }
  // Notes that the folder has been looked through just now.
  void Note() const { ::futimens(file_.get(), nullptr); }

 private:
  const OwnDescriptor file_;
  bool is_held_ = false;
};

// The file that says how many pages are used.
class UsedPages {
 public:
  explicit UsedPages(const std::string& folder)
      : file_(::open((folder + "/used").c_str(), O_WRONLY | O_APPEND | kOwnFile, kPrivateFile)) {
    if (!file_.is_open()) ThrowErrno();
  }

  uint64_t Get() const {
    struct stat status;
    if (::fstat(file_.get(), &status) != 0) ThrowErrno();
    return static_cast<uint64_t>(status.st_size);
  }
  void Add(uint64_t pages) const {
    CheckFileSizeLimit(Get() + pages);
    const std::string zeros(pages, '\0');
    if (::write(file_.get(), zeros.data(), zeros.size()) != static_cast<ssize_t>(zeros.size())) {
      ThrowErrno();
    }
  }
  void Set(uint64_t pages) const {
    CheckFileSizeLimit(pages);
    if (::ftruncate(file_.get(), static_cast<off_t>(pages)) != 0) {
      ThrowErrno();
    }
  }

 private:
  const OwnDescriptor file_;
};

// Whether the folder has been looked through a short while ago. The time of the lock tells it, if
// there is a count beside the lock: a lock alone has just been made.
bool WasTidied(const std::string& folder) {
  struct stat lock, used;
  if (::stat((folder + "/lock").c_str(), &lock) != 0) return false;
  if (::stat((folder + "/used").c_str(), &used) != 0) return false;
  const time_t seconds = std::time(nullptr) - lock.st_mtime;
  return seconds >= 0 && seconds < kTidySeconds;
}

struct Entry {
  int64_t last_use;
  uint64_t pages;
  RemoteCacheFolder::Name name;
};

// Removes a partial file whose writer is gone: a living writer holds the lock until the file has
// its name. False if it is being written, or was just now.
bool RemoveIfLeft(int folder, const char* file) {
  const OwnDescriptor part(::openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!part.is_open() || ::flock(part.get(), LOCK_EX | LOCK_NB) != 0) return false;
  ::unlinkat(folder, file, 0);
  ::flock(part.get(), LOCK_UN);
  return true;
}

bool IsPart(std::string_view name) {
  return name.size() > kDigits + kPart.size() && name[kDigits] == '.' &&
         name.substr(name.size() - kPart.size()) == kPart;
}

// What is in the folder of a cache.
struct Contents {
  std::vector<Entry> entries;
  uint64_t parts = 0;  // entries that are being written
};

// Adds what is in one of the folders of entries. Throws kIo if it cannot be read.
void AddContents(const std::string& path, int number, Contents* contents) {
  struct Close {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> folder(::opendir(path.c_str()));
  if (folder == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) return;
    ThrowErrno();
  }
  const int descriptor = ::dirfd(folder.get());
  for (;;) {
    errno = 0;
    const dirent* const file = ::readdir(folder.get());
    if (file == nullptr && errno != 0) ThrowErrno();
    if (file == nullptr) return;
    Entry entry{};
    const std::string_view name = file->d_name;
    if (!TakeName(name, &entry.name) || entry.name[0] != number) continue;
    if (IsPart(name) && !RemoveIfLeft(descriptor, file->d_name)) ++contents->parts;
    struct stat status;
    if (name.size() != kDigits ||
        ::fstatat(descriptor, file->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    entry.last_use = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec;
    entry.pages = PagesOf(static_cast<uint64_t>(status.st_size));
    contents->entries.push_back(entry);
  }
}

}  // namespace

void CheckFileSizeLimit(uint64_t bytes) {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
    Throw(ErrorCode::kIo, "a file of this process must not be so large (ulimit -f)");
  }
}

RemoteCacheFolder::RemoteCacheFolder(const std::string& path, uint64_t most_bytes)
    : path_(Absolute(path)), most_pages_(most_bytes / kPageBytes) {
  Require(IsLocal(path), "the cache '", Escaped(path), "' is on no local disk");
  Require(most_pages_ >= kLeastPages, "a cache of ", most_bytes, " bytes; it needs at least ",
          kLeastPages * kPageBytes);
  std::error_code failed;  // on a full disk the cache is not made before there is room
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), failed);
  if (IsFull(failed.value())) return;
  if (::mkdir(path_.c_str(), kPrivateFolder) != 0 && IsFull(errno)) return;
  struct stat status;
  if (::stat(path_.c_str(), &status) != 0) ThrowErrno(path_, "the cache cannot be made");
  const bool is_ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  if (!is_ours || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "other users can write to this cache, and what lies there is taken for what servers "
        "have sent; name a folder of your own, or keep them off (chmod go-w)")
        .InFile(path_, -1);
  }
  // On a full disk no lock can be made, but entries that are there can be read.
  if (!OwnDescriptor(OpenLock(path_)).is_open() && IsFull(errno)) return;
  const FolderLock lock(path_);
}

std::string RemoteCacheFolder::PathOf(const Name& name) const {
  std::string digits;
  for (const uint8_t byte : name) digits += {kHex[byte >> 4], kHex[byte & 15]};
  return StrCat(path_, "/", std::string_view(digits).substr(0, 2), "/", digits);
}

bool RemoteCacheFolder::MakeRoom(uint64_t bytes) {
  MakeFolder(path_);  // another process may have removed it
  if (!tidied_) tidied_ = WasTidied(path_) || TidyUp(0);
  const uint64_t pages = PagesOf(bytes);
  const UsedPages used(path_);
  if (used.Get() + pages <= most_pages_) return true;
  TidyUp(pages);
  return used.Get() + pages <= most_pages_;
}

bool RemoteCacheFolder::Reserve(uint64_t bytes) const {
  const UsedPages used(path_);
  used.Add(PagesOf(bytes));
  return used.Get() <= most_pages_;
}

void RemoteCacheFolder::MakeFolderOf(const Name& name) const {
  MakeFolder(std::filesystem::path(PathOf(name)).parent_path().string());
}

// What others reserve meanwhile is added to what was found, and what they write counts as found. So
// it is counted once or twice, but not left out.
bool RemoteCacheFolder::TidyUp(uint64_t pages) const {
  const FolderLock lock(path_);
  if (!lock.is_held()) return false;
  const UsedPages used(path_);
  const uint64_t before = used.Get();
  Contents contents;
  for (int number = 0; number < kFolders; ++number) {
    if (StopRequested()) return false;
    AddContents(StrCat(path_, "/", kHex[number >> 4], kHex[number & 15]), number, &contents);
  }
  std::vector<Entry>& entries = contents.entries;
  uint64_t kept = contents.parts * kMostEntryPages;
  for (const Entry& entry : entries) kept += entry.pages;
  if (kept + pages > most_pages_) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& left, const Entry& right) { return left.last_use < right.last_use; });
    const uint64_t enough = most_pages_ - most_pages_ / kShareRemoved;
    for (const Entry& entry : entries) {
      if (kept + pages <= enough || StopRequested()) break;
      if (::unlink(PathOf(entry.name).c_str()) == 0 || errno == ENOENT) kept -= entry.pages;
    }
  }
  const uint64_t now = used.Get();
  const uint64_t right = kept + (now > before ? now - before : 0);
  if (right != now) used.Set(right);
  lock.Note();
  return true;
}

}  // namespace millhopper
