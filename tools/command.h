// SPDX-License-Identifier: Apache-2.0
// What the commands share: flags and --help, signals and time limits, how errors are printed and
// what the process then exits with.
//
// Exit codes: 0 success, 2 usage or an invalid program, 3 damaged data, 4 the operating system, 5 a
// limit on resources or time, 6 a plugin, 70 a bug of Millhopper, 128 + n the signal n. Standard
// output carries results only; whatever speaks to a person goes to standard error.
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
  std::string usage;  // one line a way to call it, without "usage: "
  std::string text;   // what it does; paragraphs are wrapped, indented lines kept
  std::vector<FlagGroup> groups;
  // Flags that may be given more than once. gflags keeps the last value only, so these are
  // collected on the way. `plugin` is one if it is in a group.
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

// The whole of a command's main function: parses flags (those of --flagfile too) after loading the
// plugins named, applies --threads, --timeout and the flags of glog, and calls `body`, whose result
// is the exit code. Errors that it throws are printed, one `error: ` each. The first SIGINT,
// SIGTERM, SIGHUP (unless the process was started to ignore that, as nohup does) or SIGXCPU
// requests a stop (framework/base/stop.h); a process that has not ended 80 ms later, or gets a
// second signal, is ended there and then, without its unfinished outputs. --timeout counts from the
// call. To be called once, by main.
int RunCommand(int argc, char** argv, const CommandHelp& help,
               const std::function<int(const Arguments& arguments)>& body);

// Prints an error text, with "error: " before every line that is not indented.
void PrintError(std::string_view text);

// How the outputs of commands are written: an existing file is replaced only with --force, which
// the command lists among its flags, and pipes and devices are written to as streams.
OutputRules RulesOfFlags();

// What was printed to standard output must have arrived: throws kIo if it has not. RunCommand calls
// it in the end.
void FlushOutput();

// "name=value" each; the last of a name wins. Throws kInvalidArgument.
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
// nothing if standard error is no terminal, or if no thread can be started for it.
class StatusLine {
 public:
  // `text` is called on a thread of its own, until the destructor has returned.
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
