// SPDX-License-Identifier: Apache-2.0
// Processes that run beside the benchmark.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_PROCESS_H_
#define MILLHOPPER_TESTS_BENCHMARKS_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace millhopper {

// A running program. This object writes its standard input and reads its standard output. One
// thread at a time.
class Process {
 public:
  // Starts it; command[0] is a path. Throws kInternal if that fails.
  explicit Process(const std::vector<std::string>& command);
  // Ends its input and waits until it ends.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // What a program that has ended does not read is lost.
  void Write(const std::string& text);
  // Waits for output; returns what there is of it, or "" at the end.
  std::string Read();
  // Ends its input and waits until it ends. Throws kInternal if it failed.
  void Wait();

 private:
  // Returns what waitpid says of a program that ends now; 0 if it has been waited for.
  int EndAndWait();

  const std::string path_;
  pid_t id_ = -1;    // -1 once it has been waited for
  int socket_ = -1;  // its other end is the program's input and output
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_PROCESS_H_
