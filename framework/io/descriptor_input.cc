// SPDX-License-Identifier: Apache-2.0
#include "framework/io/descriptor_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/stop.h"

namespace millhopper {

DescriptorInput::~DescriptorInput() { ::close(descriptor_); }

// A read of what is not ready could wait for ever. And what has no writer yet reads as if it had
// ended, but is not ready.
bool DescriptorInput::IsReady(std::chrono::steady_clock::time_point until) {
  for (;;) {
    CheckWait();
    pollfd waited = {descriptor_, POLLIN, 0};
    if (::poll(&waited, 1, kPatienceMs) > 0) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
  }
}

size_t DescriptorInput::Read(char* out, size_t size) {
  for (;;) {
    if (!IsReady(std::chrono::steady_clock::time_point::max())) continue;
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
