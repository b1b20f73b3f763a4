// SPDX-License-Identifier: Apache-2.0
#include "framework/io/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

// Linux reads no more than this at once, whatever is asked for.
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr size_t kMostPieces = 1024;  // IOV_MAX of Linux
constexpr off_t kPageBytes = 4096;    // what /sys says of any file

}  // namespace

// Locked before the mutex of a file only by try_lock, and behind it otherwise.
struct InputFile::Opened {
  std::mutex mutex;  // guards files
  std::set<const InputFile*> files;

  static Opened& Get() {
    static auto* opened = new Opened;  // never destroyed: readers may live as long as the process
    return *opened;
  }
  void Add(const InputFile* file) {
    std::lock_guard<std::mutex> lock(mutex);
    files.insert(file);
  }
  void Remove(const InputFile* file) {
    std::lock_guard<std::mutex> lock(mutex);
    files.erase(file);
  }
};

class InputFile::InUse {
 public:
  InUse(const InputFile& file, uint64_t offset) : file_(file) {
    std::lock_guard<std::mutex> lock(file.mutex_);
    if (file.descriptor_ < 0) OpenAgain(offset);
    ++file.users_;
  }
  ~InUse() {
    std::lock_guard<std::mutex> lock(file_.mutex_);
    --file_.users_;
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  void OpenAgain(uint64_t offset) const {
    const int descriptor = Open(file_.path_);
    const auto fail = [&](ErrorCode code, const std::string& problem) {
      if (descriptor >= 0) ::close(descriptor);
      throw Error(code, StrCat(problem, " (at byte ", offset, ")"))
          .InFile(file_.path_, static_cast<int64_t>(offset));
    };
    struct stat status;
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
      fail(ErrorCode::kIo, StrCat("cannot open again: ", std::strerror(errno)));
    }
    if (status.st_dev != file_.device_ || status.st_ino != file_.inode_) {
      fail(ErrorCode::kDataLoss, "is another file than the one that was opened");
    }
    file_.descriptor_ = descriptor;
    Opened::Get().Add(&file_);
  }

  const InputFile& file_;
};

int InputFile::Open(const std::string& path) {
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

bool InputFile::CloseOne() {
  Opened& opened = Opened::Get();
  std::lock_guard<std::mutex> lock(opened.mutex);
  for (const InputFile* file : opened.files) {
    const std::unique_lock<std::mutex> idle(file->mutex_, std::try_to_lock);
    if (!idle.owns_lock() || file->users_ > 0) continue;
    ::close(file->descriptor_);
    file->descriptor_ = -1;
    opened.files.erase(file);
    return true;
  }
  return false;
}

InputFile::InputFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

InputFile::InputFile(std::string path) : InputFile(std::move(path), -1) {
  if (path_.find('\0') != std::string::npos) {
    throw Error(ErrorCode::kIo, "a name with a zero byte").InFile(path_, -1);
  }
  descriptor_ = Open(path_);
  if (descriptor_ < 0) {
    throw Error(ErrorCode::kIo, StrCat("cannot open: ", std::strerror(errno))).InFile(path_, -1);
  }
  struct stat status;
  std::string problem;
  if (::fstat(descriptor_, &status) != 0) {
    problem = StrCat("cannot tell its size: ", std::strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    problem = "is not a regular file";
  }
  if (!problem.empty()) throw Error(ErrorCode::kIo, problem).InFile(path_, -1);
  size_ = static_cast<uint64_t>(status.st_size);
  // What takes no room on a disk may be made up. What is not is short, and the same when it is
  // kept.
  if (status.st_blocks == 0 && status.st_size <= kPageBytes) {
    ReadToTheEnd();
    return;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  Opened::Get().Add(this);
}

InputFile::~InputFile() {
  Opened::Get().Remove(this);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::ReadToTheEnd() {
  size_ = 0;
  content_ = BufferPool::At(Place()).Take(kPageBytes);
  for (;;) {
    if (size_ == content_->capacity()) {
      Ref<Buffer> larger = BufferPool::At(Place()).Take(2 * size_);
      std::memcpy(larger->data(), content_->data(), size_);
      content_ = std::move(larger);
    }
    const ssize_t got = ::read(descriptor_, content_->data() + size_, content_->capacity() - size_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowCannotRead(size_);
    if (got == 0) break;
    size_ += static_cast<size_t>(got);
    if (size_ > kMaxUnsizedBytes) {
      throw Error(ErrorCode::kResourceLimit,
                  StrCat("more than ", kMaxUnsizedBytes,
                         " bytes of a file that does not say how many it has; copy it to another"))
          .InFile(path_, static_cast<int64_t>(size_));
    }
  }
  ::close(std::exchange(descriptor_, -1));
}

void InputFile::Copy(uint64_t offset, char* out, size_t size) const {
  if (offset > size_ || size > size_ - offset) Check(0, size_);
  std::memcpy(out, content_->data() + offset, size);
}

void InputFile::Read(uint64_t offset, char* out, size_t size) const {
  if (size == 0) return;
  if (content_) return Copy(offset, out, size);
  const InUse in_use(*this, offset);
  while (size > 0) {
    const ssize_t result =
        ::pread(descriptor_, out, std::min(size, kMostAtOnce), static_cast<off_t>(offset));
    const size_t got = Check(result, offset);
    out += got;
    offset += got;
    size -= got;
  }
}

void InputFile::ReadApart(uint64_t offset, char* out, size_t size, size_t stride,
                          size_t count) const {
  if (size == 0 || count == 0) return;
  if (content_) {
    for (; count > 0; --count, offset += size, out += stride) Copy(offset, out, size);
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
    const size_t got = Check(result, offset);
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

size_t InputFile::Check(ssize_t got, uint64_t offset) const {
  if (got > 0) return static_cast<size_t>(got);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
  if (got < 0) ThrowCannotRead(offset);
  throw Error(ErrorCode::kDataLoss,
              StrCat("file is shorter than when it was opened: it ends before byte ", offset,
                     " and had ", size_, " bytes"))
      .InFile(path_, static_cast<int64_t>(offset));
}

void InputFile::ThrowCannotRead(uint64_t offset) const {
  throw Error(ErrorCode::kIo, StrCat("cannot read at byte ", offset, ": ", std::strerror(errno)))
      .InFile(path_, static_cast<int64_t>(offset));
}

}  // namespace millhopper
