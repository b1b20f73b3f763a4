// SPDX-License-Identifier: Apache-2.0
// What the commands share: flags and --help, signals and time limits, the printing of errors and
// the exit codes.
//
// Exit codes: 0 success, 2 usage or an invalid program, 3 damaged data, 4 the operating system, 5 a
// limit on resources or time, 6 a plugin, 70 a bug of Millhopper, 128 + n the signal n. Standard
// output carries results only; everything else goes to standard error.
#ifndef MILLHOPPER_TOOLS_COMMAND_H_
#define MILLHOPPER_TOOLS_COMMAND_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "framework/io/output_file.h"

namespace millhopper {

// Flags under a common heading of --help, in the order in which they are shown. Their texts are
// those of their DEFINE lines.
struct FlagGroup {
  std::string title;
  std::vector<std::string> flags;
};

// How a command presents itself.
struct CommandHelp {
  std::string usage;  // a line for each way to call it, without "usage: "
  std::string text;   // what it does; paragraphs are wrapped, indented lines kept
  std::vector<FlagGroup> groups;
  // Flags that may be given more than once. gflags keeps only the last value, so RunCommand
  // collects all values itself. A command with `plugin` in a group lists it here, too.
  std::vector<std::string> repeatable;
  std::string examples;  // printed as it is
};

// The command line without its flags.
struct Arguments {
  std::vector<std::string> words;                            // what does not begin with "--"
  std::map<std::string, std::vector<std::string>> repeated;  // in the order given

  // The values of a repeatable flag, or none.
  std::vector<std::string> all(const std::string& flag) const;
};

// The whole of a command's main function, which calls it once. It loads the plugins, parses the
// flags (also those of --flagfile), applies --threads, --timeout, --memory_limit and the flags of
// glog, and calls `body`, whose result is the exit code. If an error is thrown, it prints the error
// and returns the error's exit code. The first SIGINT, SIGTERM, SIGHUP (unless the process was
// started to ignore it, as nohup does) or SIGXCPU requests a stop (framework/base/stop.h). If the
// process has not ended 80 ms later, or gets a second signal, it is ended at once and its
// unfinished outputs are removed. --timeout, counted from the call of RunCommand, does the same
// with 500 ms.
int RunCommand(int argc, char** argv, const CommandHelp& help,
               const std::function<int(const Arguments& arguments)>& body);

// Prints an error text, with "error: " before every line that is not indented.
void PrintError(std::string_view text);

// How commands write their outputs: an existing file is replaced only with --force, which the
// command must list among its flags; pipes and devices are written to as streams.
OutputRules RulesOfFlags();

// Flushes standard output; throws kIo if any of it could not be written. RunCommand calls it in the
// end.
void FlushOutput();

// Parses texts like "name=value"; of several with one name the last one counts. Throws
// kInvalidArgument.
std::map<std::string, std::string> ParseSettings(const std::vector<std::string>& texts);

// A number of bytes: "4096", "64kB", "64MB", "2GB" (powers of 1000), "64KiB", "64MiB", "2GiB"
// (powers of 1024). Throws kInvalidArgument naming the flag.
uint64_t ParseBytes(const std::string& flag, const std::string& text);

// "12,345,678".
std::string WithCommas(uint64_t number);
// "1 chunk", "2,345 chunks".
std::string Counted(uint64_t number, const char* what);
// "3.4 MB".
std::string HumanBytes(double bytes);

// A line at the bottom of the terminal that shows how far the work is, ten times a second. Does
// nothing if standard error is not a terminal, or if no thread can be started for it.
class StatusLine {
 public:
  // The status thread calls `text`, until the destructor has returned.
  explicit StatusLine(std::function<std::string()> text);
  // Erases the line.
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

 private:
  void Show();

  const std::function<std::string()> text_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMAND_H_
