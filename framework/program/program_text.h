// SPDX-License-Identifier: Apache-2.0
// The text of a program file with each ${name} replaced by its value. Places in the replaced text
// can be mapped back to the file as it was written.
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

// The values for ${name} in the text, as --set gives them.
using Settings = std::map<std::string, std::string>;

// Whether a program file is text: it is, unless it contains a control character that is not
// white space. Otherwise it is binary.
bool IsText(const std::string& content);

class ProgramText {
 public:
  // Replaces each ${name} outside comments. Inside quotes the value is escaped; elsewhere it is
  // inserted unchanged. `name` names the file in problems. Adds to `problems`: a ${name} without a
  // value or without an end, too deep nesting, and text that becomes too long.
  ProgramText(const std::string& written, const std::string& name, const Settings& settings,
              Problems* problems);

  // The text to parse.
  const std::string& expanded() const { return expanded_; }
  // An upper bound, known before parsing, on the number of messages, lists, strings and ${name} in
  // the text, together. expanded() ends where the bound exceeds kMaxProgramItems.
  size_t items() const { return items_; }
  // An upper bound on the number of messages that are not inside another message.
  int outer_messages() const { return outer_messages_; }

  // Maps a place in expanded() back to the file as it was written. `line` and `column` count from 0
  // and, as in protobuf, a tab leads to the next multiple of eight columns. Text that came from a
  // value maps to its ${name}. If `subject` is given, maps the place of its last occurrence before
  // that place instead, if there is one. Returns an unknown place if line or column is negative.
  SourcePlace Written(int line, int column, const std::string& subject = "") const;

 private:
  // A part of expanded() that begins at byte `expanded`. It was copied from the file from byte
  // `written` on or, if `value`, it is the value of the ${name} at byte `written`.
  struct Stretch {
    size_t expanded;
    size_t written;
    bool value;
  };
  // Replaces the ${name} at `begin` and returns the offset of the byte after it.
  size_t Replace(const std::string& written, size_t begin, bool quoted, const Settings& settings);
  // Updates items_, outer_messages_ and depth_ for a byte outside comments and strings.
  void Count(char c, size_t written_offset);
  void Report(size_t written_offset, const std::string& text);
  SourcePlace PlaceOf(size_t written_offset) const;

  // The place of a byte of expanded() that is the first of a line or comes after a tab.
  struct Mark {
    uint32_t line, column, offset;
  };

  const std::string name_;
  std::string expanded_;
  std::vector<Mark> marks_;
  std::vector<size_t> written_lines_;  // the offset at which each line of the file begins
  std::vector<Stretch> stretches_;
  Problems* const problems_;
  size_t items_ = 0;
  int outer_messages_ = 0;
  int depth_ = 0;  // messages and lists that are open
  int lists_ = 0;  // lists that are open
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_PROGRAM_TEXT_H_
