// SPDX-License-Identifier: Apache-2.0
// The main function of every command: flags and --help, plugins, signals and time limits, the
// printing of errors and the exit codes.
//
// Exit codes: 0 success, 2 usage or an invalid program, 3 damaged data, 4 the operating system, 5 a
// limit on resources or time, 6 a plugin, 70 a bug of Millhopper, 128 + n the signal n. Standard
// output carries results only; everything else goes to standard error.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_COMMAND_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_COMMAND_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/io/output_file.h"
#include "tools/commands/help/flags.h"
#include "tools/commands/help/help.h"

namespace millhopper {

// The whole of a command's main function, which calls it once. It loads the plugins, parses the
// flags (also those of --flagfile), applies --threads, --timeout, --memory_limit, --allow_exec, the
// flags about servers and those of glog, and calls `body`, whose result is the exit code. If an
// error is thrown, it prints the error and returns the error's exit code. The first SIGINT,
// SIGTERM, SIGHUP (unless the process was started to ignore it, as nohup does) or SIGXCPU requests
// a stop (framework/base/stop.h). If the process has not ended 80 ms later, or gets a second
// signal, it is ended at once and its unfinished outputs are removed. A command that saves its run
// (Watcher::LetSave) is asked to do so after SIGTERM, and has five seconds for it. --timeout,
// counted from the call of RunCommand, does the same with 500 ms.
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

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_COMMAND_H_
