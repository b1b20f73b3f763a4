// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/process.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "framework/base/error.h"

namespace millhopper {

extern "C" char** environ;

Process::Process(const std::vector<std::string>& command) : path_(command.at(0)) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    Throw(ErrorCode::kInternal, "no socket for ", path_);
  }
  socket_ = ends[0];
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = posix_spawn(&id_, path_.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) return;
  close(socket_);
  Throw(ErrorCode::kInternal, path_, " cannot be started");
}

Process::~Process() {
  EndAndWait();
  close(socket_);
}

void Process::Write(const std::string& text) {
  send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
}

std::string Process::Read() {
  char bytes[4096];
  const ssize_t got = read(socket_, bytes, sizeof(bytes));
  return got > 0 ? std::string(bytes, static_cast<size_t>(got)) : "";
}

void Process::Wait() {
  if (EndAndWait() != 0) Throw(ErrorCode::kInternal, path_, " failed");
}

int Process::EndAndWait() {
  if (id_ < 0) return 0;
  shutdown(socket_, SHUT_WR);
  int status = 0;
  waitpid(std::exchange(id_, -1), &status, 0);
  return status;
}

}  // namespace millhopper
