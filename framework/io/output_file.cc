// SPDX-License-Identifier: Apache-2.0
#include "framework/io/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/io/file_system.h"

namespace millhopper {
namespace {

constexpr int kMostLinks = 40;  // as the system itself follows
constexpr std::chrono::seconds kPatience(1);
constexpr int kPollMilliseconds = 10;
constexpr mode_t kFile = 0666, kPrivateFile = 0600;

// The partial files of this process, and of the processes that it was forked from.
struct Partials {
  Mutex mutex;  // held while files get their names
  std::map<std::string, pid_t> owners GUARDED_BY(mutex);

  static Partials& Get() {
    static auto* partials = new Partials;  // never destroyed: Python may end later
    return *partials;
  }
};

const char* KindOf(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return "a directory";
  if (S_ISFIFO(status.st_mode)) return "a named pipe";
  if (S_ISCHR(status.st_mode)) return "a character device";
  if (S_ISBLK(status.st_mode)) return "a block device";
  if (S_ISSOCK(status.st_mode)) return "a socket";
  return "something else";
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Where a path leads: to a place whose last part is no link and need not exist, or to a descriptor.
struct Destination {
  std::string place;
  int descriptor = -1;
};

// The descriptor of this process that a file of this name in this folder means, or -1.
int DescriptorOf(const std::string& folder, const std::string& name) {
  if (folder != StrCat("/proc/", getpid(), "/fd") || name.empty()) return -1;
  constexpr size_t kMostDigits = 9;  // an int has room for them; no process has so many
  const bool is_number =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number && name.size() <= kMostDigits ? std::atoi(name.c_str()) : -1;
}

// Sets errno and returns nothing if the path leads nowhere.
bool Follow(std::string path, Destination* to) {
  for (int links = 0; links <= kMostLinks; ++links) {
    const size_t slash = path.rfind('/');
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    char folder[PATH_MAX];
    if (::realpath(FolderOf(path).c_str(), folder) == nullptr) return false;
    to->descriptor = DescriptorOf(folder, name);
    to->place = StrCat(std::strcmp(folder, "/") == 0 ? "" : folder, "/", name);
    if (to->descriptor >= 0) return true;
    if (name.empty()) {
      errno = EISDIR;
      return false;
    }
    char target[PATH_MAX];
    const ssize_t size = ::readlink(to->place.c_str(), target, sizeof(target));
    if (size < 0) return errno == EINVAL || errno == ENOENT;
    const std::string next(target, static_cast<size_t>(size));
    path = next[0] == '/' ? next : StrCat(folder, "/", next);
  }
  errno = ELOOP;
  return false;
}

bool IsStandardOutput(const struct stat& status) {
  struct stat output;
  return ::fstat(STDOUT_FILENO, &output) == 0 && FileId(output) == FileId(status);
}

}  // namespace

void OutputFile::Fail(const std::string& problem) const {
  throw Error(ErrorCode::kIo, problem).InFile(path_, descriptor_ < 0 ? -1 : bytes_);
}

void OutputFile::FailWith(const std::string& problem, int number) const {
  Fail(StrCat(problem, ": ", std::strerror(number)));
}

OutputFile::OutputFile(std::string path, const OutputRules& rules)
    : path_(std::move(path)), rules_(rules), owner_(getpid()) {
  if (path_.empty()) Fail("cannot write: the name is empty");
  if (path_.find('\0') != std::string::npos) Fail("cannot write: a name with a zero byte");
  if (!IsLocal(path_)) {
    CreateUpload();
    return;
  }
  struct stat status;
  // The system decides whether a link may be followed.
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) FailWith("cannot write", errno);
  if (!exists && !rules_.make_target && ::lstat(path_.c_str(), &status) == 0) {
    Fail("cannot write: it is a link to a file that does not exist; remove the link");
  }
  Destination to;
  if (!Follow(path_, &to)) FailWith("cannot write", errno);
  inherited_ = to.descriptor;
  const bool regular = exists && S_ISREG(status.st_mode);
  const bool streamable = exists && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) ||
                                     (inherited_ >= 0 && (regular || S_ISSOCK(status.st_mode))));
  is_stream_ = rules_.stream && streamable;
  if (exists && !is_stream_ && (!regular || inherited_ >= 0)) {
    Fail(regular
             ? std::string("cannot write: it is a descriptor of this process for a regular file; "
                           "write to that file's own name")
             : StrCat("cannot write: it is not a regular file but ", KindOf(status)));
  }
  if (!exists && inherited_ >= 0) FailWith("cannot write", ENOENT);
  is_standard_output_ = is_stream_ && IsStandardOutput(status);
  if (regular) replaced_ = std::make_unique<FileReplaced>(path_, FileId(status), rules_.role);
  if (is_stream_) return;
  if (regular && !rules_.overwrite) Fail(rules_.refusal);
  // A rename succeeds even if the file is read-only. A file that the user may not write to must not
  // be replaced either.
  if (regular && ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) {
    FailWith("cannot write", errno);
  }
  struct stat found;
  if (regular && (::lstat(to.place.c_str(), &found) != 0 || !(FileId(found) == FileId(status)))) {
    Fail(StrCat("cannot write: it is a link to a file that is not where the link says (",
                Escaped(to.place), ")"));
  }
  place_ = to.place;
  CreatePartial();
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (owner_ != getpid()) static_cast<void>(upload_.release());  // the parent's to give up
  if (partial_.empty() || owner_ != getpid()) return;
  Partials& partials = Partials::Get();
  const MutexLock lock(&partials.mutex);
  ::unlink(partial_.c_str());
  partials.owners.erase(partial_);
}

void OutputFile::CreateUpload() {
  const FileSystem& system = FileSystemOf(path_);
  upload_ = system.Create(path_);
  place_ = path_;
  const FileStatus status = system.Stat(path_);
  if (status.kind == FileStatus::Kind::kDirectory) Fail("cannot write: it is a folder");
  // If a file may be replaced, writing will tell what is wrong with the server.
  if (status.kind == FileStatus::Kind::kUnknown && !rules_.overwrite) {
    Fail(StrCat("cannot write: it is not known whether there is such a file: ", status.problem));
  }
  if (status.kind != FileStatus::Kind::kFile) return;
  replaced_ = std::make_unique<FileReplaced>(path_, status.id, rules_.role);
  if (!rules_.overwrite) Fail(rules_.refusal);
}

void OutputFile::CreatePartial() {
  Partials& partials = Partials::Get();
  const MutexLock lock(&partials.mutex);
  for (int number = 1;; ++number) {
    const std::string name = StrCat(place_, number == 1 ? "" : StrCat(".", number), kPartialSuffix);
    if (!partials.owners.emplace(name, owner_).second) continue;
    // The flags see to it that neither an existing file nor the target of a link is opened.
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         rules_.is_private ? kPrivateFile : kFile);
    if (descriptor_ >= 0) {
      partial_ = name;
      return;
    }
    const int reason = errno;
    partials.owners.erase(name);
    if (reason != EEXIST) FailWith(StrCat("cannot create ", Escaped(name)), reason);
  }
}

void OutputFile::OpenStream() {
  if (inherited_ >= 0) {
    descriptor_ = ::fcntl(inherited_, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) FailWith("cannot write", errno);
    return;
  }
  // With O_NONBLOCK, opening a FIFO that no process reads fails at once. It is tried again until a
  // process reads it.
  for (Backoff backoff; descriptor_ < 0; backoff.Pause()) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor_ < 0 && errno != ENXIO && errno != EINTR) FailWith("cannot open", errno);
    struct stat status;
    if (descriptor_ < 0 && (::stat(path_.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode))) {
      FailWith("cannot open", ENXIO);
    }
    CheckWait();
  }
}

template <typename Step>
void OutputFile::OrFailForGood(const Step& step) {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  try {
    step();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void OutputFile::Write(const char* bytes, size_t size) {
  OrFailForGood([&] {
    if (upload_ != nullptr) {
      upload_->Write(bytes, size);
      bytes_ += size;
      return;
    }
    if (is_stream_ && descriptor_ < 0) OpenStream();
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, bytes, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EAGAIN) {
        CheckWait();
        pollfd ready = {descriptor_, POLLOUT, 0};
        ::poll(&ready, 1, kPollMilliseconds);
        continue;
      }
      if (written < 0) FailWith("cannot write", errno);
      bytes += written;
      size -= static_cast<size_t>(written);
      bytes_ += static_cast<uint64_t>(written);
    }
  });
}

void OutputFile::ReplaceBeginning(const std::string& bytes) {
  OrFailForGood([&] {
    if (is_stream_ || upload_ != nullptr) {
      Throw(ErrorCode::kInvalidArgument, Escaped(path_),
            ": its first bytes are known last, so it is written to a local disk and then copied");
    }
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written =
          ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) FailWith("cannot write", errno);
      done += static_cast<size_t>(written);
    }
  });
}

void OutputFile::Finish() {
  OrFailForGood([&] {
    if (finished_) return;
    if (upload_ != nullptr) {
      upload_->Finish();
      finished_ = true;
      return;
    }
    if (is_stream_ && descriptor_ < 0) OpenStream();
    // Without this a crash of the machine could leave the name without the content. The system
    // reports a failure once: a second fsync would succeed.
    if (!is_stream_ && ::fsync(descriptor_) != 0) FailWith("cannot write", errno);
    // Some file systems say only now that there was no room.
    if (::close(std::exchange(descriptor_, -1)) != 0) FailWith("cannot write", errno);
    finished_ = true;
  });
}

void OutputFile::Publish() { PublishInOrder({this}); }

void OutputFile::CheckName() const {
  struct stat status;
  if (is_stream_ || upload_ != nullptr || ::lstat(place_.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode)) {
    Fail(StrCat("cannot write: since the writing began it has become ",
                S_ISLNK(status.st_mode) ? "a symbolic link" : KindOf(status)));
  }
  if (!rules_.overwrite) Fail(StrCat(rules_.refusal, "; it was not there when the writing began"));
}

void OutputFile::Rename() {
  int result = -1;
  if (!rules_.overwrite) {
    result = ::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, place_.c_str(), RENAME_NOREPLACE);
  }
  // Not every file system has RENAME_NOREPLACE.
  if (rules_.overwrite || (result != 0 && (errno == EINVAL || errno == ENOSYS))) {
    CheckName();
    result = ::rename(partial_.c_str(), place_.c_str());
  }
  if (result != 0) FailWith(StrCat("cannot be given its name (", Escaped(partial_), ")"), errno);
  Partials& partials = Partials::Get();
  partials.mutex.AssertHeld();  // by PublishInOrder
  partials.owners.erase(partial_);
  partial_.clear();
}

void PublishInOrder(const std::vector<OutputFile*>& files) {
  for (OutputFile* file : files) file->Finish();
  std::set<std::string> folders;
  {
    MutexLock lock(&Partials::Get().mutex);
    for (const OutputFile* file : files) file->CheckName();
    for (OutputFile* file : files) {
      if (file->upload_ != nullptr) {
        lock.Unlock();  // other files need not wait for a server
        file->OrFailForGood([&] { file->upload_->Publish(); });
        lock.Lock();
      } else if (!file->is_stream_) {
        file->Rename();
        folders.insert(FolderOf(file->place_));
      }
    }
  }
  for (const std::string& folder : folders) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // The files have their names already; without this a crash of the machine might lose them.
    if (descriptor < 0) continue;
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

void AbandonOutputs() NO_THREAD_SAFETY_ANALYSIS {
  Partials& partials = Partials::Get();
  // A thread that gives names has finished by then, or hangs. No other one gets the mutex any more.
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (Backoff backoff; !partials.mutex.TryLock(); backoff.Pause()) {
    if (std::chrono::steady_clock::now() >= until) return;
  }
  for (const auto& [name, owner] : partials.owners) {
    if (owner == getpid()) ::unlink(name.c_str());
  }
}

}  // namespace millhopper
