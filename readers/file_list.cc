// SPDX-License-Identifier: Apache-2.0
#include "readers/file_list.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include "framework/error.h"
#include "framework/file_format.h"
#include "framework/limits.h"
#include "readers/recordio_manifest.h"

namespace millrace {
namespace {

constexpr size_t kMaxPatternBytes = 4096;  // PATH_MAX of Linux
constexpr size_t kMaxDigits = 18;          // of a number in a range: fits in 63 bits

void CheckCount(size_t names, const std::string& pattern) {
  if (names > static_cast<size_t>(kMaxListLength)) {
    Throw(ErrorCode::kResourceLimit, "'", Escaped(pattern), "' makes more than ", kMaxListLength,
          " file names");
  }
}

bool Exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

// The end of the braces that open here, npos if they do not; `commas` are theirs.
size_t FindClosing(const std::string& text, size_t open, std::vector<size_t>* commas) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == ',' && depth == 1) commas->push_back(i);
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string::npos;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What `body`, which stands between braces, may be; empty if it is neither a list nor a range.
std::vector<std::string> Alternatives(const std::string& body, const std::vector<size_t>& commas,
                                      const std::string& pattern) {
  std::vector<std::string> words;
  if (!commas.empty()) {
    size_t begin = 0;
    for (const size_t comma : commas) {
      words.push_back(body.substr(begin, comma - begin));
      begin = comma + 1;
    }
    words.push_back(body.substr(begin));
    return words;
  }
  const size_t dots = body.find("..");
  if (dots == std::string::npos) return words;
  const std::string left = body.substr(0, dots);
  const std::string right = body.substr(dots + 2);
  if (!IsNumber(left) || !IsNumber(right)) return words;
  const bool filled = (left.size() > 1 && left[0] == '0') || (right.size() > 1 && right[0] == '0');
  const size_t width = filled ? std::max(left.size(), right.size()) : 0;
  const auto [first, last] = std::minmax({std::stoull(left), std::stoull(right)});
  CheckCount(last - first + 1, pattern);
  for (uint64_t number = first; number <= last; ++number) {
    std::string digits = std::to_string(number);
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    words.push_back(std::move(digits));
  }
  return words;
}

// All that the braces of a pattern make of it, in any order.
std::vector<std::string> ExpandBraces(const std::string& pattern) {
  struct Part {
    std::string text;
    size_t done;  // there are no braces before
  };
  std::vector<std::string> names;
  std::vector<Part> parts{{pattern, 0}};
  while (!parts.empty()) {
    const Part part = std::move(parts.back());
    parts.pop_back();
    const size_t open = part.text.find('{', part.done);
    if (open == std::string::npos) {
      names.push_back(part.text);
      continue;
    }
    std::vector<size_t> commas;
    const size_t close = FindClosing(part.text, open, &commas);
    std::vector<std::string> words;
    if (close != std::string::npos) {
      for (size_t& comma : commas) comma -= open + 1;
      words = Alternatives(part.text.substr(open + 1, close - open - 1), commas, pattern);
    }
    if (words.empty()) {
      parts.push_back({part.text, open + 1});
      continue;
    }
    CheckCount(names.size() + parts.size() + words.size(), pattern);
    for (const std::string& word : words) {
      parts.push_back({part.text.substr(0, open) + word + part.text.substr(close + 1), open});
    }
  }
  return names;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool HasWildcard(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

// Names of existing files that match; throws if there are none.
std::vector<std::string> Glob(const std::string& pattern) {
  glob_t found = {};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &found);
  const int reason = errno;
  std::vector<std::string> names(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (result == GLOB_ABORTED) {
    Throw(ErrorCode::kIo, Escaped(pattern), ": cannot look for files: ", std::strerror(reason));
  }
  if (result == GLOB_NOSPACE) Throw(ErrorCode::kResourceLimit, "no memory to look for files");
  if (!EndsWith(pattern, ".json")) {
    names.erase(
        std::remove_if(names.begin(), names.end(),
                       [](const std::string& name) { return EndsWith(name, kManifestSuffix); }),
        names.end());
  }
  Require(!names.empty(), "no file matches '", Escaped(pattern), "'");
  return names;
}

void Expand(const std::string& path, std::set<std::string>* names) {
  if (path.find_first_of("*?[{") == std::string::npos || Exists(path)) {
    names->insert(path);
    return;
  }
  Require(path.find('\0') == std::string::npos, "the file name '", Escaped(path),
          "' has a zero byte");
  Require(path.size() <= kMaxPatternBytes, "a file name of ", path.size(), " bytes; the limit is ",
          kMaxPatternBytes);
  for (const std::string& name : ExpandBraces(path)) {
    if (HasWildcard(name) && !Exists(name)) {
      for (std::string& match : Glob(name)) names->insert(std::move(match));
    } else {
      names->insert(name);
    }
    CheckCount(names->size(), path);
  }
}

}  // namespace

std::vector<std::string> ExpandFileNames(const std::vector<std::string>& entries) {
  std::vector<std::string> names;
  for (const std::string& entry : entries) {
    const std::string path = SplitFormatPrefix(entry).path;
    const std::string prefix = entry.substr(0, entry.size() - path.size());
    std::set<std::string> expanded;
    Expand(path, &expanded);
    for (const std::string& name : expanded) names.push_back(prefix + name);
    CheckCount(names.size(), entry);
  }
  return names;
}

std::vector<std::string> WildcardsOf(const std::vector<std::string>& entries) {
  std::vector<std::string> patterns;
  for (const std::string& entry : entries) {
    const std::string path = SplitFormatPrefix(entry).path;
    if (!HasWildcard(path) || Exists(path)) continue;
    for (std::string& name : ExpandBraces(path)) {
      if (HasWildcard(name) && !Exists(name)) patterns.push_back(std::move(name));
    }
  }
  return patterns;
}

}  // namespace millrace
