// SPDX-License-Identifier: Apache-2.0
// What has no name on a disk: the output of commands ("pipe:...") and standard input ("-").
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/command.h"
#include "framework/io/descriptor_input.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"

namespace millhopper {
namespace {

class OnePassFileSystem : public FileSystem {
 public:
  std::unique_ptr<const File> Open(const std::string& path) const override {
    throw ReadOnceOnly(path, kCopyIt);
  }
  // Even where it may not be read: nothing in such a name is a pattern.
  bool Exists(const std::string&) const override { return true; }
  std::vector<std::string> List(const std::string& pattern) const override { return {pattern}; }
};

class PipeFileSystem final : public OnePassFileSystem {
 public:
  FileStatus Stat(const std::string& path) const override {
    FileStatus status;
    status.kind = FileStatus::Kind::kUnknown;
    if (!ExecIsAllowed()) {
      status.problem =
          "commands are run only if that is allowed: by --allow_exec, or millhopper.allow_exec() "
          "in Python";
      return status;
    }
    try {
      Words(path);
      status.kind = FileStatus::Kind::kOnce;
    } catch (const Error& error) {
      status.problem = error.message();
    }
    return status;
  }

  std::unique_ptr<OnePassInput> OpenOnce(const std::string& path) const override {
    try {
      return std::make_unique<Command>(Words(path));
    } catch (const Error& error) {
      throw error.InFile(path, -1);
    }
  }

 private:
  static std::vector<std::string> Words(const std::string& path) {
    return CommandWords(path.substr(path.find(':') + 1));
  }
};

class StandardInput final : public OnePassFileSystem {
 public:
  FileStatus Stat(const std::string&) const override {
    FileStatus status;
    struct stat found;
    if (::fstat(STDIN_FILENO, &found) != 0) {
      status.kind = FileStatus::Kind::kUnknown;
      status.problem = std::strerror(errno);
      return status;
    }
    status.kind = FileStatus::Kind::kOnce;
    status.id = FileId(found);
    return status;
  }

  std::unique_ptr<OnePassInput> OpenOnce(const std::string& path) const override {
    UseStandardInput();
    const int descriptor = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (descriptor < 0) {
      throw Error(ErrorCode::kIo, StrCat("cannot open: ", std::strerror(errno))).InFile(path, -1);
    }
    return std::make_unique<DescriptorInput>(descriptor);
  }
};

REGISTER_FILE_SYSTEM(PipeFileSystem, "pipe");
REGISTER_FILE_SYSTEM(StandardInput, "-");

}  // namespace

void UseStandardInput() {
  static std::atomic<bool> used{false};
  if (used.exchange(true)) {
    Throw(ErrorCode::kInvalidArgument,
          "-: standard input can be read only once, and was read already; copy it to a file and "
          "read that");
  }
}

}  // namespace millhopper
