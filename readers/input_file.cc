// SPDX-License-Identifier: Apache-2.0
#include "readers/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "framework/error.h"

namespace millrace {
namespace {

// Linux reads no more than this at once, whatever is asked for.
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr size_t kMostPieces = 1024;  // IOV_MAX of Linux

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // A named pipe without a writer would block; for regular files O_NONBLOCK means nothing.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
  if (!problem.empty()) {
    ::close(descriptor_);
    throw Error(ErrorCode::kIo, problem).InFile(path_, -1);
  }
  size_ = static_cast<uint64_t>(status.st_size);
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::Read(uint64_t offset, char* out, size_t size) const {
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
  if (size == 0) return;
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
  if (got < 0 && errno == EINTR) return 0;
  if (got < 0) {
    throw Error(ErrorCode::kIo, StrCat("cannot read at byte ", offset, ": ", std::strerror(errno)))
        .InFile(path_, static_cast<int64_t>(offset));
  }
  throw Error(ErrorCode::kDataLoss,
              StrCat("file is shorter than when it was opened: it ends before byte ", offset,
                     " and had ", size_, " bytes"))
      .InFile(path_, static_cast<int64_t>(offset));
}

}  // namespace millrace
