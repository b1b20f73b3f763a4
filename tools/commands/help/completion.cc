// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/help/completion.h"

#include <algorithm>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// A flag as shells know it.
struct Flag {
  std::string name;
  std::string description;  // the first clause of the help text
  bool is_switch;           // takes no value
  bool is_file;             // takes the name of a file, or a text of which nothing is known
  bool is_repeatable;
  std::vector<std::string> choices;  // the values, where only these are possible
};

std::string FirstClause(const std::string& text) {
  size_t end = text.size();
  for (const char* mark : {". ", "; ", ": "}) end = std::min(end, text.find(mark));
  return text.substr(0, end);
}

std::vector<Flag> FlagsFor(const CommandHelp& help) {
  std::vector<Flag> flags;
  const auto add = [&](const FlagText& text) {
    const bool repeatable = std::count(help.repeatable.begin(), help.repeatable.end(), text.name);
    const auto choices = help.choices.find(text.name);
    Flag flag{text.name,
              FirstClause(text.description),
              text.value.empty(),
              !text.value.empty() && text.value != "N",
              repeatable,
              choices == help.choices.end() ? std::vector<std::string>() : choices->second};
    if (text.name == "completion") flag.choices = {"bash", "zsh", "fish"};
    if (!flag.choices.empty()) flag.is_file = false;
    flags.push_back(flag);
  };
  for (const FlagGroup& group : help.groups) {
    for (const FlagText& text : FlagsOf(group)) add(text);
  }
  for (const FlagText& text : FlagsEverywhere()) add(text);
  return flags;
}

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// Puts a backslash before each of these characters.
std::string WithBackslashes(const std::string& text, const std::string& characters) {
  std::string escaped;
  for (const char c : text) {
    if (characters.find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The text in single quotes, for zsh.
std::string InQuotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ForBash(const CommandHelp& help) {
  std::string function = "_" + help.name;
  std::replace(function.begin(), function.end(), '-', '_');
  std::string cases;
  std::vector<std::string> files, others, words;
  for (const Flag& flag : FlagsFor(help)) {
    words.push_back("--" + flag.name + (flag.is_switch ? "" : "="));
    if (!flag.choices.empty()) {
      cases += "    --" + flag.name + ") COMPREPLY=($(compgen -W '" + Joined(flag.choices, " ") +
               "' -- \"$word\")); return ;;\n";
    } else if (!flag.is_switch) {
      (flag.is_file ? files : others).push_back("--" + flag.name);
    }
  }
  if (!files.empty()) {
    cases += "    " + Joined(files, "|") +
             ")\n"
             "      compopt -o filenames 2>/dev/null\n"
             "      mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n";
  }
  if (!others.empty()) cases += "    " + Joined(others, "|") + ") return ;;\n";
  std::string first;
  if (!help.actions.empty()) {
    first = "  if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W '" + Joined(help.actions, " ") +
            "' -- \"$word\")); return; fi\n";
  }
  return "# Completes the flags of " + help.name + " in bash; made by " + help.name +
         " --completion=bash.\n" + function +
         "() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} flag=\n"
         "  COMPREPLY=()\n"
         "  # Bash takes the = of --flag=value for a word.\n"
         "  if [[ $word == '=' ]]; then\n"
         "    flag=$before word=\n"
         "  elif [[ $before == '=' ]]; then\n"
         "    flag=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "  elif [[ $before == -* ]]; then\n"
         "    flag=$before\n"
         "  fi\n"
         "  case $flag in\n" +
         cases +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         Joined(words, " ") +
         "' -- \"$word\"))\n"
         "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n"
         "    return 0\n"
         "  fi\n" +
         first +
         "  compopt -o filenames 2>/dev/null\n"
         "  mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
         "}\n"
         "complete -F " +
         function + " " + help.name + "\n";
}

std::string ForZsh(const CommandHelp& help) {
  std::string text =
      "#compdef " + help.name + "\n# Made by " + help.name + " --completion=zsh.\n_arguments";
  for (const Flag& flag : FlagsFor(help)) {
    std::string spec = (flag.is_repeatable ? "*--" : "--") + flag.name;
    if (!flag.is_switch) spec += "=";
    spec += "[" + WithBackslashes(flag.description, "[]:\\") + "]";
    if (!flag.choices.empty()) {
      spec += ":value:(" + Joined(flag.choices, " ") + ")";
    } else if (!flag.is_switch) {
      spec += flag.is_file ? ":value:_files" : ":number: ";
    }
    text += " \\\n  " + InQuotes(spec);
  }
  if (!help.actions.empty()) {
    text += " \\\n  " + InQuotes("1:what to do:(" + Joined(help.actions, " ") + ")");
  }
  return text + " \\\n  '*:file:_files'\n";
}

std::string ForFish(const CommandHelp& help) {
  std::string text = "# Completes the flags of " + help.name + " in fish; made by " + help.name +
                     " --completion=fish.\n";
  const auto in_quotes = [](const std::string& words) {
    return "'" + WithBackslashes(words, "\\'") + "'";
  };
  for (const Flag& flag : FlagsFor(help)) {
    text += "complete -c " + help.name + " -l " + flag.name;
    if (!flag.choices.empty()) {
      text += " -x -a " + in_quotes(Joined(flag.choices, " "));
    } else if (!flag.is_switch) {
      text += flag.is_file ? " -r" : " -x";
    }
    text += " -d " + in_quotes(flag.description) + "\n";
  }
  if (!help.actions.empty()) {
    text += "complete -c " + help.name + " -n __fish_use_subcommand -f -a " +
            in_quotes(Joined(help.actions, " ")) + "\n";
  }
  return text;
}

}  // namespace

std::string Completion(const CommandHelp& help, const std::string& shell) {
  if (shell == "bash") return ForBash(help);
  if (shell == "zsh") return ForZsh(help);
  Require(shell == "fish", "--completion=", shell, ": it is bash, zsh or fish");
  return ForFish(help);
}

}  // namespace millhopper
