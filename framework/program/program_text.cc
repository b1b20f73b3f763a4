// SPDX-License-Identifier: Apache-2.0
// Replaces ${name} in a program's text and remembers which bytes came from where in the file.
#include "framework/program/program_text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/spelling.h"
#include "framework/program/problems.h"

namespace millhopper {
namespace {

constexpr uint32_t kTabWidth = 8;  // as in protobuf's tokenizer

std::vector<size_t> LineBeginnings(const std::string& text) {
  std::vector<size_t> lines = {0};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines.push_back(i + 1);
  }
  return lines;
}

bool IsNameByte(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); }

// The value, escaped for a string in quotes.
std::string Quotable(const std::string& value) {
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\'' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char octal[5];
      std::snprintf(octal, sizeof(octal), "\\%03o", byte);
      text += octal;
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

bool IsText(const std::string& content) {
  return std::none_of(content.begin(), content.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7f || (byte < 0x20 && !std::isspace(byte));
  });
}

ProgramText::ProgramText(const std::string& written, const std::string& name,
                         const Settings& settings, Problems* problems)
    : name_(name), written_lines_(LineBeginnings(written)), problems_(problems) {
  const std::string kByteOrderMark = "\xef\xbb\xbf";
  size_t i = written.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0 ? 3 : 0;
  stretches_.push_back({0, i, false});
  char quote = 0;  // the quote that ends the string around byte i; 0 outside strings
  bool comment = false;
  while (i < written.size() && items_ <= kMaxProgramItems) {
    const char c = written[i];
    if (!comment && c == '$' && i + 1 < written.size() && written[i + 1] == '{') {
      i = Replace(written, i, quote != 0, settings);
      if (expanded_.size() > kMaxProgramBytes) {
        Report(i, StrCat("with the values of ${...} the text is longer than ", kMaxProgramBytes,
                         " bytes"));
        break;
      }
      continue;
    }
    if (c == '\n') {
      comment = false;
      quote = 0;  // a string ends with its line; the parser reports the missing quote
    } else if (quote != 0) {
      if (c == '\\' && i + 1 < written.size() && written[i + 1] != '\n' && written[i + 1] != '$') {
        expanded_ += written[i++];  // the byte after a backslash does not end the string
      } else if (c == quote) {
        quote = 0;
      }
    } else if (!comment) {
      comment = c == '#';
      if (c == '"' || c == '\'') quote = c;
      Count(c, i);
    }
    expanded_ += written[i++];
  }
  Mark mark{0, 0, 0};
  marks_.push_back(mark);
  for (uint32_t offset = 0; offset < expanded_.size(); ++offset) {
    const char c = expanded_[offset];
    if (c != '\n' && c != '\t') continue;
    const uint32_t column = mark.column + (offset - mark.offset);
    mark = c == '\n' ? Mark{mark.line + 1, 0, offset + 1}
                     : Mark{mark.line, column + kTabWidth - column % kTabWidth, offset + 1};
    marks_.push_back(mark);
  }
}

size_t ProgramText::Replace(const std::string& written, size_t begin, bool quoted,
                            const Settings& settings) {
  size_t end = begin + 2;
  while (end < written.size() && IsNameByte(written[end])) ++end;
  const std::string setting = written.substr(begin + 2, end - begin - 2);
  if (setting.empty() || end == written.size() || written[end] != '}') {
    Report(begin, "'${' must be followed by a name of letters, digits and '_', and '}'");
    return end;
  }
  ++end;
  ++items_;
  const auto found = settings.find(setting);
  if (found == settings.end()) {
    std::vector<std::string> names;
    for (const auto& entry : settings) names.push_back(entry.first);
    Report(begin, StrCat("no value is given for ${", setting, "}", DidYouMean(setting, names)));
    return end;
  }
  const std::string value = quoted ? Quotable(found->second) : found->second;
  stretches_.push_back({expanded_.size(), begin, true});
  expanded_ += value;
  stretches_.push_back({expanded_.size(), end, false});
  if (!quoted) {
    for (const char c : value) Count(c, begin);
  }
  return end;
}

void ProgramText::Count(char c, size_t written_offset) {
  const bool opens = c == '{' || c == '<' || c == '[';
  if (opens && ++depth_ == kMaxProgramNesting + 1) {
    Report(written_offset, StrCat("more than ", kMaxProgramNesting, " messages within messages"));
  }
  if (c == '[') ++lists_;
  if (c == ']') lists_ = std::max(0, lists_ - 1);
  if (opens && c != '[' && depth_ - lists_ == 1) ++outer_messages_;
  if (c == '}' || c == '>' || c == ']') depth_ = std::max(0, depth_ - 1);
  if (opens || c == '"' || c == '\'') ++items_;
}

void ProgramText::Report(size_t written_offset, const std::string& text) {
  const SourcePlace place = PlaceOf(written_offset);
  problems_->Add({place, StrCat(name_, ":", place.line, ":", place.column, ": ", text)});
}

SourcePlace ProgramText::PlaceOf(size_t written_offset) const {
  const auto line =
      std::upper_bound(written_lines_.begin(), written_lines_.end(), written_offset) - 1;
  SourcePlace place;
  place.line = static_cast<int>(line - written_lines_.begin()) + 1;
  place.column = static_cast<int>(written_offset - *line) + 1;
  return place;
}

SourcePlace ProgramText::Written(int line, int column, const std::string& subject) const {
  if (line < 0 || column < 0) return {};
  const std::pair<uint32_t, uint32_t> place(line, column);
  const auto mark = std::upper_bound(marks_.begin(), marks_.end(), place,
                                     [](const auto& p, const Mark& m) {
                                       return p < std::make_pair(m.line, m.column);
                                     }) -
                    1;
  size_t offset = std::min(expanded_.size(), mark->offset + size_t{place.second - mark->column});
  if (!subject.empty() && offset > 0) {
    const size_t found = expanded_.rfind(subject, offset - 1);
    if (found != std::string::npos) offset = found;
  }
  const auto stretch =
      std::upper_bound(stretches_.begin(), stretches_.end(), offset,
                       [](size_t at, const Stretch& s) { return at < s.expanded; }) -
      1;
  return PlaceOf(stretch->value ? stretch->written
                                : stretch->written + (offset - stretch->expanded));
}

}  // namespace millhopper
