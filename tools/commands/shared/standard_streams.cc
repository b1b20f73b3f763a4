// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/one_pass.h"
#include "framework/io/status_line.h"
#include "framework/reader/file_format.h"
#include "tools/commands/shared/amounts.h"

namespace millhopper {
namespace {

[[noreturn]] void ThrowIo(const std::string& what) {
  Throw(ErrorCode::kIo, "standard input: ", what, ": ", strerror(errno));
}

bool IsRegular() {
  struct stat status;
  if (fstat(STDIN_FILENO, &status) != 0) ThrowIo("cannot be read");
  return S_ISREG(status.st_mode);
}

// Whether the shell or another command has read a part of the regular file that standard input is.
// Who opens /dev/stdin would begin at the first byte again.
bool IsPartlyRead() { return lseek(STDIN_FILENO, 0, SEEK_CUR) > 0; }

// Makes standard input a regular file that has the rest of it: a copy without a name.
void CopyRest() {
  const char* const chosen = getenv("TMPDIR");
  const std::string folder = chosen == nullptr || *chosen == 0 ? "/tmp" : chosen;
  const int copy = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (copy < 0) ThrowIo("cannot be copied into a file in " + folder + " (TMPDIR names another)");
  std::atomic<uint64_t> bytes{0};
  const StatusLine line(
      [&] { return "copying standard input: " + HumanBytes(static_cast<double>(bytes.load())); });
  constexpr size_t kBlock = size_t{1} << 20;
  std::vector<char> block(kBlock);
  for (;;) {
    CheckStop();
    const ssize_t got = read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowIo("cannot be read");
    if (got == 0) break;
    for (ssize_t begin = 0; begin < got;) {
      const ssize_t put = write(copy, block.data() + begin, static_cast<size_t>(got - begin));
      if (put < 0 && errno != EINTR) ThrowIo("cannot be copied into a file in " + folder);
      if (put > 0) begin += put;
    }
    bytes += static_cast<uint64_t>(got);
  }
  if (lseek(copy, 0, SEEK_SET) != 0 || dup2(copy, STDIN_FILENO) < 0) ThrowIo("cannot be replaced");
  close(copy);
}

}  // namespace

std::string OutputName(const std::string& given) { return given == "-" ? "/dev/stdout" : given; }

std::string ProgramName(const std::string& given) {
  if (given != "-") return given;
  UseStandardInput();
  if (IsRegular() && IsPartlyRead()) CopyRest();
  return "/dev/stdin";
}

std::string DataName(const std::string& given) {
  const bool bare = given == "-";
  const size_t colon = given.rfind(':');
  const bool prefixed = colon != std::string::npos && colon > 0 && given.substr(colon + 1) == "-" &&
                        FindFileFormat(given.substr(0, colon)) != nullptr;
  if (!bare && !prefixed) return given;
  if (!IsRegular() || IsPartlyRead()) return given;
  UseStandardInput();
  return bare ? "/dev/stdin" : given.substr(0, colon + 1) + "/dev/stdin";
}

std::string StateName(const std::string& given) {
  if (given != "-") return given;
  UseStandardInput();
  if (!IsRegular() || IsPartlyRead()) CopyRest();
  return "/dev/stdin";
}

}  // namespace millhopper
