// SPDX-License-Identifier: Apache-2.0
#include "framework/io/descriptor_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"

namespace millhopper {

DescriptorInput::~DescriptorInput() { ::close(descriptor_); }

size_t DescriptorInput::Read(char* out, size_t size) {
  for (;;) {
    Job::CheckGoesOn();
    // A read of what is not ready could wait for ever. And what has no writer yet reads as if it
    // had ended, but is not ready.
    pollfd waited = {descriptor_, POLLIN, 0};
    if (::poll(&waited, 1, kPatienceMs) <= 0) continue;
    const ssize_t got = ::read(descriptor_, out, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR && errno != EAGAIN) {
      Throw(ErrorCode::kIo, "cannot read: ", std::strerror(errno));
    }
  }
}

std::unique_ptr<OnePassInput> OpenFifo(const std::string& path) {
  for (;;) {
    // Otherwise it would wait for a writer.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0) return std::make_unique<DescriptorInput>(descriptor);
    if (errno == EINTR) continue;
    throw Error(ErrorCode::kIo, StrCat("cannot open: ", std::strerror(errno))).InFile(path, -1);
  }
}

}  // namespace millhopper
