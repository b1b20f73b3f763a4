// SPDX-License-Identifier: Apache-2.0
// The files of the operating system.
//
// Files that the kernel makes up while they are read (/proc, /sys) report a size of zero or of one
// page, which is not their true size. They are read to their end when they are opened, and kept.
//
// If the process has no descriptors left, files that no thread is reading are closed. They are
// opened again for the next read, and must be the same files then.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/io/counted_reads.h"
#include "framework/io/descriptor_input.h"
#include "framework/io/file_system.h"
#include "framework/io/mapping_cache.h"
#include "framework/io/one_pass.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

// One read of Linux returns no more than about twice this.
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr size_t kMostPieces = 1024;  // IOV_MAX of Linux
constexpr off_t kPageBytes = 4096;    // what /sys says of any file

// Whether the kernel may make the file up, so that its size is another one.
bool MayBeMadeUp(const struct stat& status) {
  return status.st_blocks == 0 && status.st_size <= kPageBytes;
}

// Says what errno says.
[[noreturn]] void ThrowCannotRead(const std::string& path, uint64_t offset) {
  throw Error(ErrorCode::kIo, StrCat("cannot read at byte ", offset, ": ", std::strerror(errno)))
      .InFile(path, static_cast<int64_t>(offset));
}

class LocalFile final : public File {
 public:
  explicit LocalFile(const std::string& path, BufferType buffer_type = BufferType::kMemory);
  ~LocalFile() override;

  // By the time of the last change, which no program can set back.
  std::string version() const override;
  void ReadApart(uint64_t offset, char* out, size_t size, size_t stride,
                 size_t count) const override;

  // The descriptor of a file or folder that is opened now, or -1.
  static int OpenDescriptor(const std::string& path);
  // Reads a file of `size` bytes; returns false if that is not its size, or may not be. Throws if
  // it cannot be opened or read.
  static bool ReadAll(const std::string& path, uint64_t size, char* out);

 private:
  // Keeps the descriptor open while it lives.
  class InUse;
  // The files that hold a descriptor.
  struct Opened;

  // The descriptor of a file or folder; throws kIo if it cannot be opened.
  static int OpenOrThrow(const std::string& path);

  // The other constructor calls it first, so that the destructor runs if that one throws.
  LocalFile(const std::string& path, int descriptor) : File(path), descriptor_(descriptor) {}

  size_t ReadSome(uint64_t offset, char* out, size_t size) const override;
  // Closes a file that no thread is reading; false if there is none.
  static bool CloseOne();
  // Reads the whole file into content_.
  void ReadToTheEnd();

  Ref<Buffer> content_;           // of a file that does not know its size
  struct timespec changed_ = {};  // when it was opened

  mutable Mutex mutex_;  // guards descriptor_ while users_ is 0
  mutable int descriptor_;
  mutable size_t users_ GUARDED_BY(mutex_) = 0;
};

// A thread that holds this mutex only tries to lock the mutex of a file; a thread that holds the
// mutex of a file may lock this one.
struct LocalFile::Opened {
  Mutex mutex;
  std::set<const LocalFile*> files GUARDED_BY(mutex);

  static Opened& Get() {
    static auto* opened = new Opened;  // never destroyed: readers may live as long as the process
    return *opened;
  }
  void Add(const LocalFile* file) {
    const MutexLock lock(&mutex);
    files.insert(file);
  }
  void Remove(const LocalFile* file) {
    const MutexLock lock(&mutex);
    files.erase(file);
  }
};

class LocalFile::InUse {
 public:
  InUse(const LocalFile& file, uint64_t offset) : file_(file) {
    const MutexLock lock(&file.mutex_);
    if (file.descriptor_ < 0) OpenAgain(offset);
    ++file.users_;
  }
  ~InUse() {
    const MutexLock lock(&file_.mutex_);
    --file_.users_;
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  void OpenAgain(uint64_t offset) const REQUIRES(file_.mutex_) {
    const int descriptor = OpenDescriptor(file_.path());
    const auto fail = [&](ErrorCode code, const std::string& problem) {
      if (descriptor >= 0) ::close(descriptor);
      throw Error(code, StrCat(problem, " (at byte ", offset, ")"))
          .InFile(file_.path(), static_cast<int64_t>(offset));
    };
    struct stat status;
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
      fail(ErrorCode::kIo, StrCat("cannot open again: ", std::strerror(errno)));
    }
    if (FileId(status) != file_.id()) {
      fail(ErrorCode::kDataLoss, "is another file than the one that was opened");
    }
    file_.descriptor_ = descriptor;
    Opened::Get().Add(&file_);
  }

  const LocalFile& file_;
};

int LocalFile::OpenDescriptor(const std::string& path) {
  for (;;) {
    // A named pipe without a writer would block; for regular files O_NONBLOCK means nothing.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0) return descriptor;
    const int reason = errno;
    if (reason == EINTR) continue;
    if ((reason == EMFILE || reason == ENFILE) && CloseOne()) continue;
    errno = reason;
    return -1;
  }
}

bool LocalFile::CloseOne() {
  Opened& opened = Opened::Get();
  const MutexLock lock(&opened.mutex);
  for (const LocalFile* file : opened.files) {
    if (!file->mutex_.TryLock()) continue;
    const MutexLock idle(&file->mutex_, std::adopt_lock);
    if (file->users_ > 0) continue;
    ::close(file->descriptor_);
    file->descriptor_ = -1;
    opened.files.erase(file);
    return true;
  }
  return false;
}

int LocalFile::OpenOrThrow(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    throw Error(ErrorCode::kIo, "a name with a zero byte").InFile(path, -1);
  }
  const int descriptor = OpenDescriptor(path);
  if (descriptor < 0) {
    throw Error(ErrorCode::kIo, StrCat("cannot open: ", std::strerror(errno))).InFile(path, -1);
  }
  return descriptor;
}

bool LocalFile::ReadAll(const std::string& path, uint64_t size, char* out) {
  const int descriptor = OpenOrThrow(path);
  struct stat status;
  bool more = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
              static_cast<uint64_t>(status.st_size) == size && !MayBeMadeUp(status);
  int problem = 0;
  size_t done = 0;
  while (more && done < size) {
    const ssize_t got = ::pread(descriptor, out + done, std::min(size - done, kMostAtOnce),
                                static_cast<off_t>(done));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) problem = errno;
    more = got > 0;
    done += static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  ::close(descriptor);
  CountedReads::Add(done);
  if (problem != 0) {
    errno = problem;
    ThrowCannotRead(path, done);
  }
  return more;
}

LocalFile::LocalFile(const std::string& path, BufferType buffer_type) : LocalFile(path, -1) {
  descriptor_ = OpenOrThrow(path);
  struct stat status;
  std::string problem;
  if (::fstat(descriptor_, &status) != 0) {
    problem = StrCat("cannot tell its size: ", std::strerror(errno));
  } else if (S_ISFIFO(status.st_mode)) {
    throw ReadOnceOnly(path, kCopyIt);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "is not a regular file";
  }
  if (!problem.empty()) throw Error(ErrorCode::kIo, problem).InFile(path, -1);
  set_size(static_cast<uint64_t>(status.st_size));
  set_id(FileId(status));
  changed_ = status.st_ctim;
  // If it is not made up, it is short, and reading it now makes no difference.
  if (MayBeMadeUp(status)) {
    ReadToTheEnd();
    return;
  }
  if (buffer_type == BufferType::kMmap && size() > 0) {
    set_mapping(MappingCache::Open(path, descriptor_, status));
    descriptor_ = mapping()->descriptor();
    return;
  }
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  Opened::Get().Add(this);
}

LocalFile::~LocalFile() {
  if (mapping()) return;  // the descriptor is the mapping's
  Opened::Get().Remove(this);
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string LocalFile::version() const {
  return StrCat(id().volume, ' ', id().number, ' ', size(), ' ', changed_.tv_sec, ' ',
                changed_.tv_nsec);
}

void LocalFile::ReadToTheEnd() {
  size_t size = 0;
  content_ = BufferPool::At(Place()).Take(kPageBytes);
  for (;;) {
    if (size == content_->capacity()) {
      Ref<Buffer> larger = BufferPool::At(Place()).Take(2 * size);
      std::memcpy(larger->data(), content_->data(), size);
      content_ = std::move(larger);
    }
    const ssize_t got = ::read(descriptor_, content_->data() + size, content_->capacity() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowCannotRead(path(), size);
    if (got == 0) break;
    size += static_cast<size_t>(got);
    if (size > kMaxUnsizedBytes) {
      throw Error(ErrorCode::kResourceLimit,
                  StrCat("more than ", kMaxUnsizedBytes,
                         " bytes of a file that does not say how many it has; copy it to another"))
          .InFile(path(), static_cast<int64_t>(size));
    }
  }
  set_size(size);
  ::close(std::exchange(descriptor_, -1));
}

size_t LocalFile::ReadSome(uint64_t offset, char* out, size_t size) const {
  if (content_) {
    if (offset >= this->size()) return 0;
    const size_t got = std::min<uint64_t>(size, this->size() - offset);
    std::memcpy(out, content_->data() + offset, got);
    return got;
  }
  const InUse in_use(*this, offset);
  for (;;) {
    const ssize_t got =
        ::pread(descriptor_, out, std::min(size, kMostAtOnce), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR && errno != EAGAIN) ThrowCannotRead(path(), offset);
  }
}

void LocalFile::ReadApart(uint64_t offset, char* out, size_t size, size_t stride,
                          size_t count) const {
  if (size == 0 || count == 0) return;
  if (content_) {
    for (; count > 0; --count, offset += size, out += stride) Read(offset, out, size);
    return;
  }
  const InUse in_use(*this, offset);
  iovec pieces[kMostPieces];
  while (count > 0) {
    const size_t most = std::clamp<size_t>(kMostAtOnce / size, 1, kMostPieces);
    const size_t asked = std::min(count, most);
    for (size_t i = 0; i < asked; ++i) pieces[i] = {out + i * stride, size};
    const ssize_t result =
        ::preadv(descriptor_, pieces, static_cast<int>(asked), static_cast<off_t>(offset));
    if (result == 0) ThrowShorter(offset);
    if (result < 0 && errno != EINTR && errno != EAGAIN) ThrowCannotRead(path(), offset);
    const auto got = static_cast<size_t>(std::max<ssize_t>(result, 0));
    CountedReads::Add(got);
    size_t whole = got / size;
    if (got % size != 0) {  // cut short in the middle of a piece
      Read(offset + got, out + whole * stride + got % size, size - got % size);
      ++whole;
    }
    out += whole * stride;
    offset += whole * size;
    count -= whole;
  }
}

class LocalFileSystem final : public FileSystem {
 public:
  std::unique_ptr<const File> Open(const std::string& path) const override {
    return std::make_unique<LocalFile>(path);
  }

  std::unique_ptr<OnePassInput> OpenOnce(const std::string& path) const override {
    struct stat status;
    const bool is_fifo = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
    return is_fifo ? OpenFifo(path) : nullptr;
  }

  std::unique_ptr<const File> OpenMapped(const std::string& path) const override {
    return std::make_unique<LocalFile>(path, BufferType::kMmap);
  }

  // Reads without a File, which allocates. If the file has changed, a File says what is wrong.
  void ReadWhole(const std::string& path, uint64_t size, char* out) const override {
    if (!LocalFile::ReadAll(path, size, out)) FileSystem::ReadWhole(path, size, out);
  }

  FileStatus Stat(const std::string& path) const override {
    FileStatus found;
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) {
      const bool missing = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG;
      found.kind = missing ? FileStatus::Kind::kMissing : FileStatus::Kind::kUnknown;
      found.problem = std::strerror(errno);
      return found;
    }
    found.kind = S_ISREG(status.st_mode)    ? FileStatus::Kind::kFile
                 : S_ISDIR(status.st_mode)  ? FileStatus::Kind::kDirectory
                 : S_ISFIFO(status.st_mode) ? FileStatus::Kind::kOnce
                                            : FileStatus::Kind::kOther;
    found.size = static_cast<uint64_t>(status.st_size);
    found.version = static_cast<uint64_t>(status.st_mtim.tv_sec) * 1000000000 +
                    static_cast<uint64_t>(status.st_mtim.tv_nsec);
    found.id = FileId(status);
    return found;
  }

  bool Exists(const std::string& path) const override {
    struct stat status;
    return ::lstat(path.c_str(), &status) == 0;
  }

  std::vector<std::string> List(const std::string& pattern) const override {
    glob_t found = {};
    const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &found);
    const int reason = errno;
    std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (result == GLOB_ABORTED) {
      throw Error(ErrorCode::kIo, StrCat("cannot look for files: ", std::strerror(reason),
                                         UnknownSchemeHint(pattern)))
          .InFile(pattern, -1);
    }
    if (result == GLOB_NOSPACE) Throw(ErrorCode::kResourceLimit, "no memory to look for files");
    return names;
  }

  std::vector<FolderEntry> ListFolder(const std::string& path) const override {
    const auto fail = [&path](int reason) {
      throw Error(ErrorCode::kIo, StrCat("cannot list the folder: ", std::strerror(reason)))
          .InFile(path, -1);
    };
    const int descriptor = LocalFile::OpenDescriptor(path);
    if (descriptor < 0) fail(errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(descriptor), ::closedir);
    if (folder == nullptr) {
      const int reason = errno;
      ::close(descriptor);
      fail(reason);
    }
    std::vector<FolderEntry> entries;
    for (;;) {
      CheckStop();  // there may be millions
      errno = 0;
      const dirent* const entry = ::readdir(folder.get());
      if (entry == nullptr && errno != 0) fail(errno);
      if (entry == nullptr) return entries;
      std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      const FileStatus::Kind kind = entry->d_type == DT_DIR   ? FileStatus::Kind::kDirectory
                                    : entry->d_type == DT_REG ? FileStatus::Kind::kFile
                                                              : Stat(StrCat(path, "/", name)).kind;
      entries.push_back({std::move(name), kind});
    }
  }

  void Remove(const std::string& path) const override {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
    throw Error(ErrorCode::kIo, StrCat("cannot remove: ", std::strerror(errno))).InFile(path, -1);
  }
};

REGISTER_FILE_SYSTEM(LocalFileSystem, "");

}  // namespace
}  // namespace millhopper
