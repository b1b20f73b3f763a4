// SPDX-License-Identifier: Apache-2.0
#include "tests/framework/program/malformed_programs.h"

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "framework/base/error.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

// The case of a head, which is written without "== ", and of the lines below it.
MalformedProgram CaseOf(const std::string& head, const std::vector<std::string>& lines) {
  MalformedProgram program;
  bool whole = false;
  std::istringstream words(head);
  words >> program.name;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (word == "whole") {
      whole = true;
    } else if (word == "startup") {
      program.role = ProgramRole::kStartup;
    } else if (word == "after_startup") {
      program.after_startup = true;
    } else {
      Require(equals != std::string::npos, "case ", program.name, ": no such option: ", word);
      program.settings[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  if (!whole) program.text = "blocks { idx: 0 parent_idx: -1\n";
  int line = whole ? 0 : 1;  // of the program
  const std::string file = program.name + ".pbtxt";
  std::vector<std::string> problems;
  std::map<std::string, std::string> marks;  // places by their marks
  for (const std::string& content : lines) {
    const size_t at = content.find_first_not_of(" \t");
    if (at == std::string::npos) continue;
    if (content[at] == '^') {
      const size_t space = content.find(' ', at);
      Require(space != std::string::npos, "case ", program.name, ": a '^' without words");
      const std::string where = content.substr(at + 1, space - at - 1);
      Require(where.empty() || where == "end" || where == "file", "case ", program.name,
              ": no such place: ^", where);
      std::string place;
      if (where.empty()) place = StrCat(":", line, ":", at + 1);
      if (where == "end") place = StrCat(":", line + (whole ? 1 : 2), ":1");
      problems.push_back(StrCat(file, place, ":", content.substr(space)));
    } else if (content[at] == '|') {
      Require(!problems.empty(), "case ", program.name, ": no words that '|' could continue");
      problems.back() += content.substr(at + 1);
    } else {
      ++line;
      program.text += content + "\n";
      const size_t mark = content.rfind("  # ");
      if (mark != std::string::npos) {
        marks[StrCat("<", content.substr(mark + 4), ">")] = StrCat(file, ":", line);
      }
    }
  }
  if (!whole) program.text += "}\n";
  Require(!problems.empty(), "case ", program.name, " has no problem");
  for (std::string& problem : problems) {
    for (const auto& [mark, place] : marks) {
      const size_t at = problem.find(mark);
      if (at != std::string::npos) problem.replace(at, mark.size(), place);
    }
    program.problems += problem + "\n";
  }
  return program;
}

}  // namespace

std::vector<MalformedProgram> MalformedPrograms() {
  std::set<fs::path> tables;
  for (const fs::directory_entry& entry : fs::directory_iterator("tests/programs/malformed")) {
    if (entry.path().extension() == ".txt") tables.insert(entry.path());
  }
  std::vector<MalformedProgram> programs;
  for (const fs::path& table : tables) {
    std::string head;  // "" above the first case
    std::vector<std::string> lines;
    std::istringstream text(ReadFile(table) + "== ");
    for (std::string line; std::getline(text, line);) {
      if (line.rfind("== ", 0) != 0) {
        lines.push_back(line);
        continue;
      }
      if (!head.empty()) programs.push_back(CaseOf(head, lines));
      head = line.substr(3);
      lines.clear();
    }
  }
  return programs;
}

}  // namespace millhopper
