// SPDX-License-Identifier: Apache-2.0
#include "framework/io/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr std::time_t kSettledSeconds = 2;  // file systems keep times in steps of up to 10 ms

bool SameTime(const struct timespec& one, const struct timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

Mapping::Mapping(std::string path, int descriptor, const struct stat& status)
    : path_(std::move(path)),
      descriptor_(descriptor),
      size_(static_cast<uint64_t>(status.st_size)),
      device_(status.st_dev),
      inode_(status.st_ino),
      modified_(status.st_mtim),
      changed_(status.st_ctim),
      settled_(std::time(nullptr) - status.st_ctim.tv_sec >= kSettledSeconds) {
  void* const pages = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (pages == MAP_FAILED) {
    throw Error(ErrorCode::kIo, StrCat("cannot map it into memory: ", std::strerror(errno),
                                       "; use buffer_type \"memory\""))
        .InFile(path_, 0);
  }
  begin_ = static_cast<char*>(pages);
  try {
    guard_.emplace(begin_, size_);
  } catch (...) {
    ::munmap(pages, size_);
    throw;
  }
}

Mapping::~Mapping() {
  guard_.reset();
  ::munmap(begin_, size_);
  ::close(descriptor_);
}

Ref<Buffer> Mapping::View(uint64_t offset, size_t size) {
  if (offset > size_ || size > size_ - offset) {
    Throw(ErrorCode::kInternal, "bytes ", offset, " to ", offset + size, " of a mapping of ",
          size_);
  }
  return Buffer::Foreign(begin_ + offset, size, [self = Ref<Mapping>(this)] {});
}

bool Mapping::IsOf(const struct stat& status) const {
  return settled_ && status.st_dev == device_ && status.st_ino == inode_ &&
         static_cast<uint64_t>(status.st_size) == size_ && SameTime(status.st_ctim, changed_) &&
         !guard_->lost();
}

void Mapping::SetChecked(uint64_t offset) const {
  const MutexLock lock(&mutex_);
  checked_.insert(offset);
}

bool Mapping::IsChecked(uint64_t offset) const {
  const MutexLock lock(&mutex_);
  return checked_.count(offset) > 0;
}

void Mapping::CheckUnchanged(uint64_t offset) const {
  // This comes before fstat: the caller has not read a page that is lost after it.
  const std::optional<size_t> lost = guard_->lost();
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) {
    throw Error(ErrorCode::kIo, StrCat("cannot tell whether it has changed while it was read at "
                                       "byte ",
                                       offset, ": ", std::strerror(errno)))
        .InFile(path_, static_cast<int64_t>(offset));
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < size_) {
    throw Error(ErrorCode::kDataLoss, StrCat("file is shorter than when it was opened: it ends "
                                             "before byte ",
                                             size, " and had ", size_, " bytes"))
        .InFile(path_, static_cast<int64_t>(size));
  }
  if (!SameTime(status.st_mtim, modified_)) {
    throw Error(ErrorCode::kDataLoss,
                StrCat("file was changed while it was mapped into memory, so that what is read at "
                       "byte ",
                       offset,
                       " may be new content; do not write to files while they are read with "
                       "buffer_type \"mmap\""))
        .InFile(path_, static_cast<int64_t>(offset));
  }
  if (lost) {
    throw Error(ErrorCode::kIo, StrCat("cannot read at byte ", *lost,
                                       ": the kernel has no page for it (SIGBUS), as happens when "
                                       "a disk fails"))
        .InFile(path_, static_cast<int64_t>(*lost));
  }
}

}  // namespace millhopper
