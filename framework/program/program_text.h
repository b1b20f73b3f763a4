// SPDX-License-Identifier: Apache-2.0
// The text of a program file: ${name} replaced, and every place in what came out traced back to the
// file as it was written. Program::OperatorPlace tells where an operator stands.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_PROGRAM_TEXT_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_PROGRAM_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace millhopper {

class Problems;

// A place in a program file as it was written; lines and bytes of a line count from 1, 0 is unknown
// (a program that was binary).
struct SourcePlace {
  int line = 0;
  int column = 0;
};

// What --set gives: values for ${name} in the text.
using Settings = std::map<std::string, std::string>;

// What programs as text are, as opposed to binary ones: no control characters but white space.
bool IsText(const std::string& content);

class ProgramText {
 public:
  // Replaces each ${name} outside comments; inside quotes the value is escaped, elsewhere it is
  // taken as it is. `name` is how problems call the file.
  // Added to the problems are ${name} without a value or without an end, and too deep nesting.
  ProgramText(const std::string& written, const std::string& name, const Settings& settings,
              Problems* problems);

  // What there is to parse.
  const std::string& expanded() const { return expanded_; }
  // How many messages and strings the text begins and how many ${name} it has, together at most:
  // known before anything is parsed. The text ends where they are more than kMaxProgramItems.
  size_t items() const { return items_; }
  // How many messages the text has that are in no other, at most.
  int outer_messages() const { return outer_messages_; }

  // Maps a place in expanded() back to the file as it was written. `line` and `column` count from
  // 0, and a tab counts as up to eight columns, as protobuf counts it. Text that a value brought in
  // maps to its ${name}. With a `subject`, gives the place of the last such word before.
  SourcePlace Written(int line, int column, const std::string& subject = "") const;

 private:
  // From here on, bytes of expanded() correspond to bytes of the file one to one, or all to one
  // byte of the file.
  struct Stretch {
    size_t expanded;
    size_t written;
    bool value;
  };
  // Replaces the ${name} at `begin` and returns the byte behind it.
  size_t Replace(const std::string& written, size_t begin, bool quoted, const Settings& settings);
  // Counts a byte that is neither in a comment nor in a string.
  void Count(char c, size_t written_offset);
  void Report(size_t written_offset, const std::string& text);
  SourcePlace PlaceOf(size_t written_offset) const;

  // A byte of expanded() whose line and column are known: the first of a line, or one behind a tab.
  struct Mark {
    uint32_t line, column, offset;
  };

  const std::string name_;
  std::string expanded_;
  std::vector<Mark> marks_;
  std::vector<size_t> written_lines_;  // where each begins
  std::vector<Stretch> stretches_;
  Problems* const problems_;
  size_t items_ = 0;
  int outer_messages_ = 0;
  int depth_ = 0;  // of messages and lists
  int lists_ = 0;  // of which so many are lists
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_PROGRAM_TEXT_H_
