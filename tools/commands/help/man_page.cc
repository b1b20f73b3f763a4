// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/help/man_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "framework/base/version.h"

namespace millhopper {
namespace {

// Text that man shows as it is.
std::string Plain(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    const bool at_begin = plain.empty() || plain.back() == '\n';
    if (at_begin && (c == '.' || c == '\'')) plain += "\\&";
    if (c == '\\') {
      plain += "\\e";
    } else if (c == '-') {
      plain += "\\-";
    } else {
      plain += c;
    }
  }
  return plain;
}

// Lines whose breaks and columns are kept.
std::string Kept(const std::string& lines) { return ".nf\n" + Plain(lines) + ".fi\n"; }

std::string Text(const CommandHelp& help) {
  std::string text;
  std::string kept;
  const auto finish = [&] {
    if (!kept.empty()) text += Kept(kept);
    kept.clear();
  };
  for (const std::string& paragraph : Paragraphs(help.text)) {
    if (paragraph.empty()) {
      finish();
      text += ".PP\n";
    } else if (paragraph[0] == ' ') {
      kept += paragraph + "\n";
    } else {
      finish();
      text += Plain(paragraph) + "\n";
    }
  }
  finish();
  return text;
}

std::string Option(const FlagText& flag) {
  std::string text = ".TP\n\\fB\\-\\-" + Plain(flag.name) + "\\fR";
  if (!flag.value.empty()) {
    text += "=\\fI" + (flag.value == "..." ? "VALUE" : Plain(flag.value)) + "\\fR";
  }
  if (!flag.default_value.empty()) text += " (" + Plain(flag.default_value) + ")";
  return text + "\n" + Plain(flag.description) + "\n";
}

}  // namespace

std::string ManPage(const CommandHelp& help) {
  std::string title = help.name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string page = ".TH " + Plain(title) + " 1 \"\" \"Millhopper " + kVersion + "\"\n";
  const std::string summary = Paragraphs(help.text).front();
  page += ".SH NAME\n" + Plain(help.name) + " \\- " +
          Plain(summary.substr(0, std::min(summary.find(". "), summary.find(": ")))) + "\n";
  page += ".SH SYNOPSIS\n" + Kept(help.usage);
  page += ".SH DESCRIPTION\n" + Text(help);
  page += ".SH OPTIONS\n";
  for (const FlagGroup& group : help.groups) {
    page += ".SS " + Plain(group.title) + "\n";
    for (const FlagText& flag : FlagsOf(group)) page += Option(flag);
  }
  page += ".SS Everywhere\n";
  for (const FlagText& flag : FlagsEverywhere()) page += Option(flag);
  if (!help.examples.empty()) page += ".SH EXAMPLES\n" + Kept(help.examples);
  page += ".SH EXIT STATUS\n";
  for (const ExitCodeText& code : ExitCodeTexts()) {
    page += ".TP\n" + code.code + "\n" + code.meaning + "\n";
  }
  return page;
}

}  // namespace millhopper
