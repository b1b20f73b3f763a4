// SPDX-License-Identifier: Apache-2.0
// Runs a command as a child process, as users run it.
#ifndef MILLHOPPER_TESTS_CHILD_H_
#define MILLHOPPER_TESTS_CHILD_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace millhopper {

// How a child ended and what it wrote.
struct ChildResult {
  int exit_code = -1;  // 128 + n if it was ended by signal n
  std::string output;
  std::string errors;
  size_t most_resident_bytes = 0;  // the peak of its resident memory
};

// A running child. A child that writes nothing for a minute is killed, and the test fails.
class Child {
 public:
  // `command` is a path with arguments, relative to the folder that tests run in: "tools/executor".
  explicit Child(const std::vector<std::string>& command);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits until the child's standard error holds these words.
  void WaitForError(const std::string& words);
  void Signal(int signal);
  // Waits until the child ends.
  ChildResult Wait();

 private:
  // Waits for output of the child and reads it. Returns false at the end of both pipes, or after a
  // minute of silence.
  bool ReadSome();
  void Close(int* descriptor);

  pid_t pid_ = -1;
  int output_ = -1;
  int errors_ = -1;
  ChildResult result_;
};

// Runs a command to its end.
ChildResult RunChild(const std::vector<std::string>& command);

// The absolute path of a file that Bazel lays out for tests, such as "tests/libpace.so".
std::string Runfile(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHILD_H_
