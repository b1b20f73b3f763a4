// SPDX-License-Identifier: Apache-2.0
#include "tests/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace millhopper {
namespace {

constexpr int kPatienceMilliseconds = 60000;

// Appends what can be read; false at the end.
bool Append(int descriptor, std::string* text) {
  char block[4096];
  const ssize_t n = read(descriptor, block, sizeof(block));
  if (n > 0) text->append(block, static_cast<size_t>(n));
  return n > 0;
}

}  // namespace

Child::Child(const std::vector<std::string>& command) {
  int output[2], errors[2];
  EXPECT_EQ(pipe2(output, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(errors, O_CLOEXEC), 0);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(output[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    signal(SIGHUP, SIG_DFL);  // the test may run under nohup, which ignores it
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(output[1]);
  close(errors[1]);
  output_ = output[0];
  errors_ = errors[0];
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Close(&output_);
  Close(&errors_);
}

void Child::Close(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

bool Child::ReadSome() {
  pollfd pipes[] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
  if (output_ < 0 && errors_ < 0) return false;
  if (poll(pipes, 2, kPatienceMilliseconds) <= 0) {
    ADD_FAILURE() << "the child is silent; it wrote: " << result_.errors;
    kill(pid_, SIGKILL);
    return false;
  }
  if (pipes[0].revents != 0 && !Append(output_, &result_.output)) Close(&output_);
  if (pipes[1].revents != 0 && !Append(errors_, &result_.errors)) Close(&errors_);
  return true;
}

void Child::WaitForError(const std::string& words) {
  while (result_.errors.find(words) == std::string::npos) {
    if (!ReadSome()) {
      ADD_FAILURE() << "the child ended without '" << words << "': " << result_.errors;
      return;
    }
  }
}

void Child::Signal(int signal) { kill(pid_, signal); }

ChildResult Child::Wait() {
  while (ReadSome()) {
  }
  int status = 0;
  struct rusage usage {};
  // A child that has closed its output may still hang.
  pid_t ended = 0;
  for (int waited = 0; (ended = wait4(pid_, &status, WNOHANG, &usage)) == 0; ++waited) {
    if (waited == kPatienceMilliseconds) {
      ADD_FAILURE() << "the child has closed its output and does not end; it wrote: "
                    << result_.errors;
      kill(pid_, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(ended, pid_);
  result_.most_resident_bytes = static_cast<size_t>(usage.ru_maxrss) * 1024;
  pid_ = -1;
  result_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result_;
}

ChildResult RunChild(const std::vector<std::string>& command) { return Child(command).Wait(); }

std::string Runfile(const std::string& path) { return std::filesystem::absolute(path).string(); }

}  // namespace millhopper
