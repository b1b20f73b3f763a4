// SPDX-License-Identifier: Apache-2.0
// Where lines of text begin and end.
#ifndef MILLHOPPER_READERS_SUPPORT_LINE_ENDS_H_
#define MILLHOPPER_READERS_SUPPORT_LINE_ENDS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace millhopper {

// The bytes at the beginning of a text that say that it is in UTF-8: 3 or none.
inline size_t Utf8MarkBytes(std::string_view text) {
  return text.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0;
}

// A CR that no LF follows: text like any other byte, or the end of a line, as programs of the
// classic Mac OS wrote it and as Python, Arrow and pandas read it.
enum class LoneCr { kIsText, kEndsLine };

// Finds the line ends of a text, LF, CR LF and, if it ends lines, CR, one after another. Each byte
// is looked at twice at most, however long the lines are. One thread at a time.
class LineEnds {
 public:
  LineEnds(const char* begin, const char* limit, LoneCr lone_cr)
      : limit_(limit),
        cr_ends_line_(lone_cr == LoneCr::kEndsLine),
        lf_(Search(begin, '\n')),
        cr_(cr_ends_line_ ? Search(begin, '\r') : limit) {}

  struct Line {
    const char* end;   // of the line, without its line end
    const char* next;  // where the next line begins; null if more text is needed to know it
  };
  // The line that begins here, or of which this is a part. `ended`: no byte follows the limit.
  // Calls must go forward.
  Line From(const char* here, bool ended) {
    const char* const found = Find(here);
    if (found == limit_) return {limit_, ended ? limit_ : nullptr};
    if (*found == '\n') {
      const bool cr = !cr_ends_line_ && found > here && found[-1] == '\r';
      return {cr ? found - 1 : found, found + 1};
    }
    if (found + 1 == limit_) return {found, ended ? limit_ : nullptr};
    return {found, found[1] == '\n' ? found + 2 : found + 1};
  }
  // The first byte of the first line end from here on; the limit if there is none.
  const char* Find(const char* here) {
    if (lf_ < here) lf_ = Search(here, '\n');
    if (cr_ < here) cr_ = Search(here, '\r');
    return std::min(lf_, cr_);
  }

 private:
  const char* Search(const char* from, char end) const {
    const void* const found = std::memchr(from, end, static_cast<size_t>(limit_ - from));
    return found == nullptr ? limit_ : static_cast<const char*>(found);
  }

  const char* limit_;
  bool cr_ends_line_;
  const char* lf_;
  const char* cr_;
};

// Where the last whole line ends in a block of text that continues beyond it: after its last LF, so
// that lines with CR LF are cut as those with LF are, else after the last CR that no LF can follow;
// 0 if no line ends. `seen` bytes are known to have no end of a whole line.
inline size_t EndOfWholeLines(const char* block, size_t size, size_t seen, LoneCr lone_cr) {
  const void* const lf = ::memrchr(block + seen, '\n', size - seen);
  if (lf != nullptr) return static_cast<size_t>(static_cast<const char*>(lf) - block) + 1;
  if (lone_cr == LoneCr::kIsText || size == 0) return 0;
  const size_t from = seen == 0 ? 0 : seen - 1;
  const void* const cr = ::memrchr(block + from, '\r', size - 1 - from);
  return cr == nullptr ? 0 : static_cast<size_t>(static_cast<const char*>(cr) - block) + 1;
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_LINE_ENDS_H_
