// SPDX-License-Identifier: Apache-2.0
// The command line of a command: words, flags and files of flags.
#ifndef MILLHOPPER_TOOLS_COMMANDS_HELP_FLAGS_H_
#define MILLHOPPER_TOOLS_COMMANDS_HELP_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "framework/io/files_in_use.h"
#include "tools/commands/help/help.h"

namespace millhopper {

// The command line without its flags.
struct Arguments {
  std::vector<std::string> words;                            // what does not begin with "--"
  std::map<std::string, std::vector<std::string>> repeated;  // in the order given

  // The values of a repeatable flag, or none.
  std::vector<std::string> all(const std::string& flag) const;
};

struct GivenFlag {
  std::string name;
  std::string value;
  bool has_value;
};

// "name=value" of "--name=value" or "-name=value"; "" if the argument is not a flag.
std::string WithoutDashes(const std::string& argument);

// Copies the arguments, but replaces each --flagfile by the flags in the file: one on each line,
// and lines that begin with # are comments. Throws kIo for a file that cannot be read.
std::vector<std::string> ExpandFlagfiles(const std::vector<std::string>& from, FilesRead* read);

// Splits expanded arguments into words, repeatable flags and other flags. A flag that is not known
// yet may come with a plugin; its value, if any, must follow '='. Throws kInvalidArgument for a
// flag that lacks its value.
Arguments SplitArguments(const CommandHelp& help, const std::vector<std::string>& arguments,
                         std::vector<GivenFlag>* flags);

// Whether SetFlags has set a flag.
bool IsGiven(const std::string& flag);

// Sets the flags; those of shared_flags.h only if the command names them in a group of its help.
// Throws kInvalidArgument for an unknown flag and a value that does not fit.
void SetFlags(const CommandHelp& help, const std::vector<GivenFlag>& flags);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_HELP_FLAGS_H_
