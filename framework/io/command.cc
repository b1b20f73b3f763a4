// SPDX-License-Identifier: Apache-2.0
#include "framework/io/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kUntilKill{50};
constexpr milliseconds kUntilLeft{500};
constexpr milliseconds kLook{1};        // between two looks whether a command has ended
constexpr size_t kMostLineBytes = 400;  // that are kept of a line of standard error
constexpr int kFirstOther = STDERR_FILENO + 1;

std::atomic<bool> exec_allowed{false};

// Commands that could not be ended, such as those of another user. They are waited for when the
// next command starts or ends.
struct Left {
  Mutex mutex;
  std::vector<pid_t> ids GUARDED_BY(mutex);

  static Left& Get() {
    static auto* left = new Left;  // never destroyed: commands may live as long as the process
    return *left;
  }
  void Add(pid_t id) {
    const MutexLock lock(&mutex);
    ids.push_back(id);
  }
  void Reap() {
    const MutexLock lock(&mutex);
    ids.erase(std::remove_if(ids.begin(), ids.end(),
                             [](pid_t id) { return ::waitpid(id, nullptr, WNOHANG) != 0; }),
              ids.end());
  }
};

[[noreturn]] void ThrowCannotRun(const std::string& name, int reason) {
  Throw(ErrorCode::kIo, "cannot run '", Escaped(name), "': ", std::strerror(reason));
}

// A pipe whose ends are no standard streams, so that these can be made of them in any order.
struct Pipe {
  int ends[2] = {-1, -1};  // to read, to write

  explicit Pipe(const std::string& name) {
    int made[2];
    if (::pipe2(made, O_CLOEXEC) != 0) ThrowCannotRun(name, errno);
    int reason = 0;
    for (int i = 0; i < 2; ++i) {
      ends[i] = ::fcntl(made[i], F_DUPFD_CLOEXEC, kFirstOther);
      if (ends[i] < 0) reason = errno;
    }
    for (const int end : made) ::close(end);
    // Only this end: the command's own waits as usual.
    if (reason == 0 && ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) reason = errno;
    if (reason == 0) return;
    CloseEnds();
    ThrowCannotRun(name, reason);
  }
  ~Pipe() { CloseEnds(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int TakeReading() { return std::exchange(ends[0], -1); }

 private:
  void CloseEnds() {
    for (int& end : ends) {
      if (end >= 0) ::close(std::exchange(end, -1));
    }
  }
};

// How the process is made of this one. Whatever posix_spawn does between the two, it takes no lock
// and no memory, so that it works whatever the other threads are doing.
class Spawning {
 public:
  Spawning(int output, int errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    Try(::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    Try(::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO));
    Try(::posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO));
    Try(::posix_spawn_file_actions_addclosefrom_np(&actions_, kFirstOther));
    sigset_t signals;
    ::sigemptyset(&signals);
    Try(::posix_spawnattr_setsigmask(&attributes_, &signals));
    ::sigfillset(&signals);
    Try(::posix_spawnattr_setsigdefault(&attributes_, &signals));
    Try(::posix_spawnattr_setpgroup(&attributes_, 0));
    Try(::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
  }
  ~Spawning() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  pid_t Run(const std::vector<std::string>& words) {
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    pid_t id = -1;
    if (failed_ == 0) {
      failed_ = ::posix_spawnp(&id, pointers[0], &actions_, &attributes_, pointers.data(), environ);
    }
    if (failed_ != 0) ThrowCannotRun(words[0], failed_);
    return id;
  }

 private:
  void Try(int result) {
    if (result != 0) failed_ = result;
  }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  int failed_ = 0;
};

}  // namespace

void AllowExec(bool allowed) { exec_allowed.store(allowed); }

bool ExecIsAllowed() { return exec_allowed.load(); }

std::vector<std::string> CommandWords(const std::string& line) {
  constexpr char kBlanks[] = " \t\n\r\v\f";
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (const char c : line) {
    Require(c != 0, "a command with a zero byte");
    if (quote == 0 && std::strchr(kBlanks, c) != nullptr) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      words.back() += c;
    }
  }
  Require(quote == 0, "a command with a ", quote, " that is not closed by another");
  Require(!words.empty() && !words[0].empty(), "a command without a word");
  return words;
}

Command::Command(const std::vector<std::string>& words) : name_(words.at(0)) {
  Require(ExecIsAllowed(), "commands are run with --allow_exec only");
  Left::Get().Reap();
  Pipe output(name_), errors(name_);
  id_ = Spawning(output.ends[1], errors.ends[1]).Run(words);
  output_ = output.TakeReading();
  errors_ = errors.TakeReading();
}

Command::~Command() {
  // If other code of the process has waited for it, its id may be another group's by now.
  if (process_.IsThis() && (!HasEnded() || !reaped_)) {
    const auto since = std::chrono::steady_clock::now();
    const auto wait = [&](milliseconds most, const auto& is_over) {
      while (!is_over() && std::chrono::steady_clock::now() - since < most) {
        std::this_thread::sleep_for(kLook);
      }
    };
    ::kill(-id_, SIGTERM);
    wait(kUntilKill, [this] { return HasEnded() && HasHungUp(); });
    ::kill(-id_, SIGKILL);
    wait(kUntilLeft, [this] { return HasEnded(); });
    if (HasEnded()) {
      Reap();
    } else {
      Left::Get().Add(id_);
    }
    Left::Get().Reap();
  }
  Close(&output_);
  Close(&errors_);
}

void Command::Close(int* descriptor) {
  if (*descriptor >= 0) ::close(std::exchange(*descriptor, -1));
}

bool Command::IsReady(std::chrono::steady_clock::time_point until) {
  while (output_ >= 0) {
    CheckWait();
    pollfd waited[] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
    ::poll(waited, 2, kPatienceMs);
    if (waited[1].revents != 0) ReadErrors();
    if (waited[0].revents != 0) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
  }
  return true;
}

size_t Command::Read(char* out, size_t size) {
  while (output_ >= 0) {
    if (!IsReady(std::chrono::steady_clock::time_point::max())) continue;
    const ssize_t got = ::read(output_, out, size);
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) {
      Close(&output_);
    } else if (errno != EINTR && errno != EAGAIN) {
      Throw(ErrorCode::kIo, "cannot read from '", Escaped(name_), "': ", std::strerror(errno));
    }
  }
  while (!HasEnded()) {
    CheckWait();
    pollfd waited = {errors_, POLLIN, 0};
    ::poll(&waited, 1, static_cast<int>(kLook.count()));
    if (waited.revents != 0) ReadErrors();
  }
  ReadErrors();
  Close(&errors_);  // which what it has started may still hold
  if (!reaped_) ::kill(-id_, SIGKILL);
  Reap();
  CheckStatus();
  return 0;
}

void Command::ReadErrors() {
  if (errors_ < 0) return;
  // The command may write to it without end. So this reads one block, which holds up the output for
  // a moment only; after the end of the output, it reads what is there now.
  int there = 0;
  if (output_ < 0) ::ioctl(errors_, FIONREAD, &there);
  do {
    char block[4096];
    ssize_t got;
    do {
      got = ::read(errors_, block, sizeof(block));
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return Close(&errors_);
    for (const char* c = block; c < block + got; ++c) {
      if (*c == '\n' || *c == '\r') {
        if (!line_.empty()) last_line_.swap(line_);
        line_.clear();
      } else if (line_.size() < kMostLineBytes) {
        line_ += *c;
      }
    }
    there -= static_cast<int>(got);
  } while (there > 0);
}

bool Command::HasEnded() {
  if (reaped_) return true;
  siginfo_t info = {};
  for (;;) {
    if (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
      return info.si_pid == id_;
    }
    if (errno == EINTR) continue;
    // Other code of the process has waited for it.
    status_is_known_ = false;
    return reaped_ = true;
  }
}

bool Command::HasHungUp() const {
  if (output_ < 0) return true;
  pollfd waited = {output_, 0, 0};
  return ::poll(&waited, 1, 0) == 1 && (waited.revents & POLLHUP) != 0;
}

void Command::Reap() {
  if (std::exchange(reaped_, true)) return;
  pid_t id;
  do {
    id = ::waitpid(id_, &status_, 0);
  } while (id < 0 && errno == EINTR);
  status_is_known_ = id == id_;
}

void Command::CheckStatus() const {
  std::string how;
  if (!status_is_known_) {
    how =
        "ended in a way that is not known, because this process ignores SIGCHLD or has waited "
        "for it elsewhere";
  } else if (WIFSIGNALED(status_)) {
    how = StrCat("was ended by signal ", WTERMSIG(status_), " (", ::strsignal(WTERMSIG(status_)),
                 ")");
  } else if (WEXITSTATUS(status_) != 0) {
    how = StrCat("ended with the status ", WEXITSTATUS(status_));
  } else {
    return;
  }
  const std::string& line = line_.empty() ? last_line_ : line_;
  Throw(ErrorCode::kIo, "'", Escaped(name_), "' ", how,
        line.empty() ? "" : "; the last line of its standard error: " + Escaped(line));
}

}  // namespace millhopper
