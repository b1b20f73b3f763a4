// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/help/help.h"

#include <gflags/gflags.h>

#include <sstream>

namespace millhopper {
namespace {

constexpr size_t kWidth = 80;

std::string Wrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string wrapped;
  std::string line = indent;
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth && line != indent) {
      wrapped += line + "\n";
      line = indent;
    }
    if (line != indent) line += ' ';
    line += word;
  }
  return wrapped + line + "\n";
}

// Replaces `name` by `called` where it is the first word of a line or after a pipe.
std::string Renamed(const std::string& text, const std::string& name, const std::string& called) {
  std::istringstream lines(text);
  std::string renamed;
  for (std::string line; std::getline(lines, line); renamed += line + "\n") {
    for (size_t begin = line.find_first_not_of(' '); begin != std::string::npos;) {
      if (line.compare(begin, name.size() + 1, name + " ") == 0) {
        line.replace(begin, name.size(), called);
      }
      const size_t pipe = line.find(" | ", begin);
      begin = pipe == std::string::npos ? pipe : line.find_first_not_of(' ', pipe + 3);
    }
  }
  return renamed;
}

}  // namespace

std::vector<FlagText> FlagsOf(const FlagGroup& group) {
  std::vector<FlagText> flags;
  flags.reserve(group.flags.size());
  for (const std::string& name : group.flags) {
    const gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
    if (info.type == "bool") {
      flags.push_back({name, "", "", info.description});
    } else {
      flags.push_back(
          {name, info.type == "string" ? "..." : "N", info.default_value, info.description});
    }
  }
  return flags;
}

const std::vector<FlagText>& FlagsEverywhere() {
  static const auto* const flags = new std::vector<FlagText>{
      {"help", "", "", "this text"},
      {"helpfull", "", "", "all flags of all libraries"},
      {"version", "", "", "the version of Millhopper"},
      {"man", "", "", "this text as a man page"},
      {"completion", "SHELL", "", "what bash, zsh or fish needs to complete flags"},
      {"flagfile", "FILE", "", "more flags, one on each line"},
      {"v", "N", "", "log more"},
      {"log_dir", "DIR", "", "write the logs into files"},
  };
  return *flags;
}

const std::vector<ExitCodeText>& ExitCodeTexts() {
  static const auto* const texts = new std::vector<ExitCodeText>{
      {"0", "success"},      {"2", "usage or an invalid program"},
      {"3", "damaged data"}, {"4", "the operating system"},
      {"5", "a limit"},      {"6", "a plugin"},
      {"70", "a bug"},       {"128+n", "the signal n"},
  };
  return *texts;
}

CommandHelp CalledAs(CommandHelp help, const std::string& called) {
  help.usage = Renamed(help.usage, help.name, called);
  help.examples = Renamed(help.examples, help.name, called);
  help.name = called;
  return help;
}

std::vector<std::string> Paragraphs(const std::string& text) {
  std::vector<std::string> paragraphs;
  std::istringstream lines(text);
  bool open = false;  // whether the next line of words continues the last paragraph
  for (std::string line; std::getline(lines, line);) {
    const bool words = !line.empty() && line[0] != ' ';
    if (words && open) {
      paragraphs.back() += " " + line;
    } else {
      paragraphs.push_back(line);
    }
    open = words;
  }
  return paragraphs;
}

std::string HelpText(const CommandHelp& help) {
  std::string text;
  std::istringstream usages(help.usage);
  const char* before = "usage: ";
  for (std::string line; std::getline(usages, line); before = "       ") {
    text += before + line + "\n";
  }
  text += "\n";
  for (const std::string& paragraph : Paragraphs(help.text)) {
    const bool kept = paragraph.empty() || paragraph[0] == ' ';
    text += kept ? paragraph + "\n" : Wrapped(paragraph, "");
  }
  for (const FlagGroup& group : help.groups) {
    text += "\n" + group.title + ":\n";
    for (const FlagText& flag : FlagsOf(group)) {
      text += "  --" + flag.name;
      if (!flag.value.empty()) text += "=" + flag.value;
      if (!flag.default_value.empty()) text += "  (" + flag.default_value + ")";
      text += "\n" + Wrapped(flag.description, "      ");
    }
  }
  text += "\nEverywhere:\n";
  constexpr size_t kColumn = 22;
  for (const FlagText& flag : FlagsEverywhere()) {
    std::string line = "  --" + flag.name + (flag.value.empty() ? "" : "=" + flag.value);
    line.resize(kColumn, ' ');
    text += line + flag.description + "\n";
  }
  if (!help.examples.empty()) text += "\nExamples:\n" + help.examples;
  std::string codes = "Exit codes:";
  for (const ExitCodeText& code : ExitCodeTexts()) {
    codes += (&code == &ExitCodeTexts().front() ? " " : ", ") + code.code + " " + code.meaning;
  }
  return text + "\n" + Wrapped(codes + ".", "");
}

}  // namespace millhopper
