// SPDX-License-Identifier: Apache-2.0
// Commands whose output is read as a file: "pipe:zcat a.gz b.gz".
#ifndef MILLHOPPER_FRAMEWORK_IO_COMMAND_H_
#define MILLHOPPER_FRAMEWORK_IO_COMMAND_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "framework/base/forks.h"
#include "framework/io/one_pass.h"

namespace millhopper {

// Allows this process to run the commands that names of files tell it to run; without it, none is
// run. Any thread.
void AllowExec(bool allowed = true);
bool ExecIsAllowed();

// The words of a command line: what stands between blanks (spaces, tabs and line ends). A pair of '
// or of " holds a word together, and everything else means itself: no shell sees it. Throws
// kInvalidArgument if there is no word, for a quote that is not closed, and for a zero byte.
std::vector<std::string> CommandWords(const std::string& line);

// A running command. It has no standard input, leads its own process group, and inherits nothing
// but the environment and the working folder. What it writes is read; of what it writes to its
// standard error the last line is kept. One thread at a time.
class Command final : public OnePassInput {
 public:
  // Starts it. words[0] is looked for in $PATH. Throws kInvalidArgument unless ExecIsAllowed, and
  // kIo if it cannot be started.
  explicit Command(const std::vector<std::string>& words);
  // Ends it, if it has not ended: SIGTERM to its process group and, 50 ms later, SIGKILL.
  ~Command() override;

  // The end is that of its output, which all that it has started may write, and of the command.
  // What it has started and is still running then is ended by SIGKILL. Throws kIo, with the last
  // line of its standard error, if it ended with another status than 0 or by a signal.
  size_t Read(char* out, size_t size) override;
  bool IsReady(std::chrono::steady_clock::time_point until) override;

  pid_t id() const { return id_; }  // for tests

 private:
  // Reads of what it has written to its standard error; of a command that has ended, all.
  void ReadErrors();
  // Looks whether it has ended; its id stays taken, unless other code of the process has reaped it.
  bool HasEnded();
  // Looks whether it, and all that it has started, have closed its output.
  bool HasHungUp() const;
  void Close(int* descriptor);
  // Takes the status of a command that has ended. Until then no other group can have its id.
  void Reap();
  void CheckStatus() const;

  const OwnProcess process_;  // a child that was forked later must not end the command
  const std::string name_;
  pid_t id_ = -1;
  int output_ = -1;  // -1 once it has ended
  int errors_ = -1;
  bool reaped_ = false;  // by this object or by other code
  int status_ = 0;       // as waitpid says
  bool status_is_known_ = true;
  std::string last_line_, line_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_COMMAND_H_
