// SPDX-License-Identifier: Apache-2.0
#include "framework/io/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {

Mapping::Mapping(std::string path, int descriptor, const struct stat& status)
    : path_(std::move(path)),
      descriptor_(descriptor),
      size_(static_cast<uint64_t>(status.st_size)),
      modified_(status.st_mtim) {
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
  if (status.st_mtim.tv_sec != modified_.tv_sec || status.st_mtim.tv_nsec != modified_.tv_nsec) {
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
