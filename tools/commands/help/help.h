// SPDX-License-Identifier: Apache-2.0
// What a command says of itself, and the text of --help made from it. Man pages (man_page.h) and
// completions (completion.h) are made from the same.
#ifndef MILLHOPPER_TOOLS_COMMANDS_HELP_HELP_H_
#define MILLHOPPER_TOOLS_COMMANDS_HELP_HELP_H_

#include <map>
#include <string>
#include <vector>

namespace millhopper {

// Flags under a common heading of --help, in the order in which they are shown. Their texts are
// those of their DEFINE lines.
struct FlagGroup {
  std::string title;
  std::vector<std::string> flags;
};

// How a command presents itself.
struct CommandHelp {
  std::string name;   // as the texts below have it: "executor"
  std::string usage;  // a line for each way to call it, without "usage: "
  std::string text;   // what it does; paragraphs are wrapped, indented lines kept
  std::vector<FlagGroup> groups;
  // Flags that may be given more than once. gflags keeps only the last value, so RunCommand
  // collects all values itself. A command with `plugin` in a group lists it here, too.
  std::vector<std::string> repeatable;
  std::string examples;  // printed as it is
  // The words that a flag takes, for those that take nothing else.
  std::map<std::string, std::vector<std::string>> choices;
  // Flags that may stand alone, and the values that they have then. Another value must follow '='.
  std::map<std::string, std::string> alone;
  // What the first word may be; none if it is the name of a file.
  std::vector<std::string> actions;
  // Flags that name programs. A relative --plugin is also looked for beside the first of them.
  std::vector<std::string> programs;
};

// One flag as a person sees it.
struct FlagText {
  std::string name;
  std::string value;          // what stands for the value: "N", "FILE", "..."; "" for a switch
  std::string default_value;  // "" if none is worth telling
  std::string description;
};

// The flags of a group.
std::vector<FlagText> FlagsOf(const FlagGroup& group);
// The flags of every command.
const std::vector<FlagText>& FlagsEverywhere();

struct ExitCodeText {
  std::string code;
  std::string meaning;
};
const std::vector<ExitCodeText>& ExitCodeTexts();

// The texts of a command that is installed under another name: `name` at the beginning of lines of
// `usage` and `examples` becomes the name by which it was called.
CommandHelp CalledAs(CommandHelp help, const std::string& called);

// The paragraphs of a text: each is a line of words to be wrapped, or, if it begins with a space or
// is empty, a line to be kept.
std::vector<std::string> Paragraphs(const std::string& text);

// The text of --help.
std::string HelpText(const CommandHelp& help);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_HELP_HELP_H_
