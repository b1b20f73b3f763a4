// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/help/flags.h"

#include <errno.h>
#include <gflags/gflags.h>
#include <string.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "tools/commands/help/shared_flags.h"

namespace millhopper {
namespace {

constexpr size_t kMaxFlagfileDepth = 8;

void Expand(const std::vector<std::string>& from, size_t depth, std::vector<std::string>* to,
            FilesRead* read) {
  Require(depth <= kMaxFlagfileDepth, "--flagfile: files name each other more than ",
          kMaxFlagfileDepth, " deep");
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == "--") {
      to->insert(to->end(), from.begin() + static_cast<ptrdiff_t>(i), from.end());
      return;
    }
    const std::string bare = WithoutDashes(from[i]);
    const bool separate = bare == "flagfile" && i + 1 < from.size();
    if (!separate && bare.rfind("flagfile=", 0) != 0) {
      to->push_back(from[i]);
      continue;
    }
    const std::string path = separate ? from[++i] : bare.substr(strlen("flagfile="));
    std::ifstream file(path);
    if (!file) Throw(ErrorCode::kIo, "--flagfile=", path, ": ", strerror(errno));
    read->AddLocal(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      const size_t begin = line.find_first_not_of(" \t");
      if (begin == std::string::npos || line[begin] == '#') continue;
      lines.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
    }
    Expand(lines, depth + 1, to, read);
  }
}

bool IsRepeatable(const CommandHelp& help, const std::string& name) {
  return std::count(help.repeatable.begin(), help.repeatable.end(), name) > 0;
}

// A command knows a flag of shared_flags.h only if it names the flag in a group of its help. Every
// command knows the flags that libraries and plugins define.
bool IsFlag(const CommandHelp& help, const std::string& name, gflags::CommandLineFlagInfo* info) {
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), info)) return false;
  if (!IsSharedFlag(info->flag_ptr)) return true;
  return std::any_of(help.groups.begin(), help.groups.end(), [&](const FlagGroup& group) {
    return std::count(group.flags.begin(), group.flags.end(), name) > 0;
  });
}

[[noreturn]] void ThrowUnknownFlag(const CommandHelp& help, const std::string& name) {
  std::vector<std::string> known;
  for (const FlagGroup& group : help.groups) {
    known.insert(known.end(), group.flags.begin(), group.flags.end());
  }
  std::string nearest = NearestWord(name, known);
  if (nearest.empty() && !name.empty()) {  // perhaps the beginning of a flag, such as -o
    const auto begins = [&](const std::string& flag) { return flag.rfind(name, 0) == 0; };
    const auto found = std::find_if(known.begin(), known.end(), begins);
    if (found != known.end()) nearest = *found;
  }
  Throw(ErrorCode::kInvalidArgument, "no flag --", name, DidYouMean(nearest),
        " (--help lists them)");
}

}  // namespace

std::vector<std::string> Arguments::all(const std::string& flag) const {
  const auto found = repeated.find(flag);
  return found == repeated.end() ? std::vector<std::string>() : found->second;
}

std::string WithoutDashes(const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') return "";
  return argument.substr(argument[1] == '-' ? 2 : 1);
}

std::vector<std::string> ExpandFlagfiles(const std::vector<std::string>& from, FilesRead* read) {
  std::vector<std::string> expanded;
  Expand(from, 0, &expanded, read);
  return expanded;
}

Arguments SplitArguments(const CommandHelp& help, const std::vector<std::string>& arguments,
                         std::vector<GivenFlag>* flags) {
  Arguments result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      result.words.insert(result.words.end(), arguments.begin() + static_cast<ptrdiff_t>(i) + 1,
                          arguments.end());
      break;
    }
    const std::string bare = WithoutDashes(argument);
    if (bare.empty()) {
      result.words.push_back(argument);
      continue;
    }
    const size_t equals = bare.find('=');
    GivenFlag flag{bare.substr(0, equals), "", equals != std::string::npos};
    if (flag.has_value) {
      flag.value = bare.substr(equals + 1);
    } else {
      gflags::CommandLineFlagInfo info;
      const auto alone = help.alone.find(flag.name);
      if (alone != help.alone.end()) {
        flag.value = alone->second;
        flag.has_value = true;
      } else if (IsFlag(help, flag.name, &info) && info.type != "bool") {
        Require(i + 1 < arguments.size(), "--", flag.name, " needs a value");
        Require(arguments[i + 1].rfind("--", 0) != 0, "--", flag.name, " needs a value; '",
                Escaped(arguments[i + 1]), "' is a flag (a value that begins so follows '=')");
        flag.value = arguments[++i];
        flag.has_value = true;
      }
    }
    if (IsRepeatable(help, flag.name)) {
      result.repeated[flag.name].push_back(flag.value);
    } else {
      flags->push_back(flag);
    }
  }
  return result;
}

bool IsGiven(const std::string& flag) {
  return !gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).is_default;
}

void SetFlags(const CommandHelp& help, const std::vector<GivenFlag>& flags) {
  for (const GivenFlag& flag : flags) {
    gflags::CommandLineFlagInfo info;
    std::string name = flag.name;
    std::string value = flag.has_value ? flag.value : "true";
    if (!IsFlag(help, name, &info)) {
      const bool negated = !flag.has_value && name.rfind("no", 0) == 0 &&
                           IsFlag(help, name.substr(2), &info) && info.type == "bool";
      if (!negated) ThrowUnknownFlag(help, name);
      name = name.substr(2);
      value = "false";
    }
    Require(info.type == "bool" || flag.has_value, "--", name, " needs a value");
    Require(!gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty(), "--", name, "=",
            value, ": not a valid ", info.type == "string" ? "value" : info.type);
  }
}

}  // namespace millhopper
