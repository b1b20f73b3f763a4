// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/file_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/base/url.h"
#include "framework/io/file_system.h"
#include "framework/io/output_file.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/file_format.h"
#include "readers/index/chunk_index.h"

namespace millhopper {
namespace {

constexpr size_t kMaxPatternBytes = 4096;  // PATH_MAX of Linux
constexpr size_t kMaxDigits = 18;          // of a number in a range: fits in 63 bits

void CheckCount(size_t names, const std::string& pattern) {
  if (names > static_cast<size_t>(kMaxListLength)) {
    Throw(ErrorCode::kResourceLimit, "'", Escaped(pattern), "' makes more than ", kMaxListLength,
          " file names");
  }
}

// Names are in memory before any data, so they may take at most half of the memory limit.
void CheckBytes(size_t names, size_t bytes, const std::string& pattern) {
  constexpr size_t kBytesBeside = 100;  // memory of a name besides its letters
  if (bytes > kMaxListBytes) {
    Throw(ErrorCode::kResourceLimit, "'", Escaped(pattern), "' makes more than ", kMaxListBytes,
          " bytes of file names");
  }
  if (names * kBytesBeside + bytes > MemoryLimit::bytes() / 2) {
    Throw(
        ErrorCode::kResourceLimit, "'", Escaped(pattern), "' makes more than ", names - 1,
        " file names, which take more than half of the memory limit; raise it or name fewer files");
  }
}

bool Exists(const std::string& path) { return FileSystemOf(path).Exists(path); }

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The two numbers of a range "00000..00127".
struct Range {
  std::string left, right;
};

std::optional<Range> RangeOf(const std::string& text) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  Range range{text.substr(0, dots), text.substr(dots + 2)};
  if (!IsNumber(range.left) || !IsNumber(range.right)) return std::nullopt;
  return range;
}

std::vector<std::string> NumbersOf(const Range& range, const std::string& pattern) {
  const auto& [left, right] = range;
  const bool filled = (left.size() > 1 && left[0] == '0') || (right.size() > 1 && right[0] == '0');
  const size_t width = filled ? std::max(left.size(), right.size()) : 0;
  const auto [first, last] = std::minmax({std::stoull(left), std::stoull(right)});
  CheckCount(last - first + 1, pattern);
  std::vector<std::string> numbers;
  for (uint64_t number = first; number <= last; ++number) {
    std::string digits = std::to_string(number);
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    numbers.push_back(std::move(digits));
  }
  return numbers;
}

// Splits a list at its commas, except those in inner braces.
std::vector<std::string> WordsOf(const std::string& list) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (c == ',' && depth == 0) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// The words for one pair of braces, and the text around it.
struct Choice {
  std::string before, after;
  std::vector<std::string> words;
  size_t next = 0;  // index of the next word
};

// Finds the first braces after the first `done` bytes of the text that are a list or a range; false
// if there are none.
bool FindChoice(const std::string& text, size_t done, const std::string& pattern, Choice* choice) {
  constexpr size_t kLongestRange = 2 * kMaxDigits + 2;
  struct Braces {
    size_t open;
    bool list;  // has a comma
  };
  std::vector<Braces> around;
  size_t first = std::string::npos;
  size_t close = 0;
  bool list = false;
  for (size_t i = text.find('{', done); i < text.size(); ++i) {
    if (text[i] == '{') around.push_back({i, false});
    if (around.empty()) continue;
    if (text[i] == ',') around.back().list = true;
    if (text[i] != '}') continue;
    const Braces braces = around.back();
    around.pop_back();
    if (braces.open > first) continue;
    if (!braces.list && (i - braces.open - 1 > kLongestRange ||
                         !RangeOf(text.substr(braces.open + 1, i - braces.open - 1)))) {
      continue;
    }
    first = braces.open;
    close = i;
    list = braces.list;
  }
  if (first == std::string::npos) return false;
  const std::string body = text.substr(first + 1, close - first - 1);
  choice->words = list ? WordsOf(body) : NumbersOf(*RangeOf(body), pattern);
  choice->before = text.substr(0, first);
  choice->after = text.substr(close + 1);
  return true;
}

// Calls take(name) for each name that the braces of a pattern make, one after another; only the
// choices that lead to the current name are in memory.
template <typename Take>
void ExpandBraces(const std::string& pattern, const Take& take) {
  std::vector<Choice> choices;
  size_t made = 0;
  size_t bytes = 0;
  size_t pending = 0;  // words not taken yet
  std::string text = pattern;
  size_t done = 0;
  for (;;) {
    Choice choice;
    if (FindChoice(text, done, pattern, &choice)) {
      pending += choice.words.size();
      choices.push_back(std::move(choice));
    } else {
      ++made;
      bytes += text.size();
      CheckBytes(made, bytes, pattern);
      take(text);
    }
    CheckCount(made + pending, pattern);
    while (!choices.empty() && choices.back().next == choices.back().words.size()) {
      choices.pop_back();
    }
    if (choices.empty()) return;
    Choice& last = choices.back();
    text = last.before + last.words[last.next++] + last.after;
    done = last.before.size();
    --pending;
  }
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The question mark before the query of a URL is none.
bool HasWildcard(const std::string& name) {
  return PatternIn(name).find_first_of("*?[") != std::string_view::npos;
}

bool IsUnfinishedIndex(const std::string& name) {
  if (!EndsWith(name, kPartialSuffix)) return false;
  const std::string whole = name.substr(0, name.size() - std::strlen(kPartialSuffix));
  const size_t number = whole.find_last_not_of("0123456789");  // of a second one, after a dot
  return EndsWith(whole, kIndexSuffix) || EndsWith(whole.substr(0, number), kIndexSuffix);
}

// Calls visit(path, name) for the files in a folder and in those within it, by their names from the
// folder on. Left out are names that begin with one of some characters. All files and folders are
// counted in *seen, so that links back to a folder above have an end.
template <typename Visit>
void VisitFilesIn(const std::string& folder, const std::string& name, const char* hidden,
                  size_t* seen, const Visit& visit, int depth = 0) {
  constexpr int kMostFolders = 64;  // within one another, where a link may lead back
  CheckStop();
  if (depth > kMostFolders) {
    throw Error(ErrorCode::kResourceLimit, "folders that are nested too deep").InFile(folder, -1);
  }
  for (const FolderEntry& entry : FileSystemOf(folder).ListFolder(folder)) {
    CheckCount(++*seen, folder);
    if (entry.name.find_first_of(hidden) == 0) continue;
    const std::string path = folder + (EndsWith(folder, "/") ? "" : "/") + entry.name;
    const std::string relative = name.empty() ? entry.name : StrCat(name, "/", entry.name);
    if (entry.kind == FileStatus::Kind::kUnknown) {  // else its files would be there many times
      throw Error(ErrorCode::kIo,
                  "cannot tell whether it is a file or a folder (a symbolic link to a folder above "
                  "it?)")
          .InFile(path, -1);
    }
    if (entry.kind == FileStatus::Kind::kDirectory) {
      VisitFilesIn(path, relative, hidden, seen, visit, depth + 1);
    } else {
      visit(path, relative);
    }
  }
}

// Where a part "**" of a pattern begins; npos if it has none.
size_t FindAnyFolders(const std::string& pattern) {
  for (size_t at = pattern.find("**"); at != std::string::npos; at = pattern.find("**", at + 1)) {
    const bool begins = at == 0 || pattern[at - 1] == '/';
    if (begins && (at + 2 == pattern.size() || pattern[at + 2] == '/')) return at;
  }
  return std::string::npos;
}

// The files that match a pattern with "**" at a place.
std::vector<std::string> FilesInAnyFolders(const std::string& pattern, size_t at) {
  const std::string folder = at == 0 ? "." : pattern.substr(0, at);
  const std::string rest = at + 2 == pattern.size() ? "*" : pattern.substr(at + 3);
  Require(!HasWildcard(folder) && FindAnyFolders(rest) == std::string::npos, "'", Escaped(pattern),
          "': one ** can be in a pattern, and no other wildcard before it");
  const auto folders = std::count(rest.begin(), rest.end(), '/');
  std::vector<std::string> names;
  size_t seen = 0;
  VisitFilesIn(folder, "", ".", &seen, [&](const std::string& path, const std::string& name) {
    std::string tail = name;  // that has as many folders as the rest
    for (auto more = std::count(name.begin(), name.end(), '/'); more > folders; --more) {
      tail.erase(0, tail.find('/') + 1);
    }
    if (::fnmatch(rest.c_str(), tail.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0) return;
    names.push_back(at == 0 ? name : path);
  });
  return names;
}

// Names of existing files that match; throws if there are none.
std::vector<std::string> Glob(const std::string& pattern) {
  const size_t any_folders = FindAnyFolders(pattern);
  std::vector<std::string> names = any_folders == std::string::npos
                                       ? FileSystemOf(pattern).List(pattern)
                                       : FilesInAnyFolders(pattern, any_folders);
  const auto drop = [&names](const std::string& suffix) {
    names.erase(std::remove_if(names.begin(), names.end(),
                               [&](const std::string& name) { return EndsWith(name, suffix); }),
                names.end());
  };
  for (const std::string& tag : FileFormatTags()) {
    for (const std::string& suffix : FindFileFormat(tag)->beside) {
      if (!EndsWith(pattern, suffix.substr(suffix.rfind('.')))) drop(suffix);
    }
  }
  if (!EndsWith(pattern, kIndexSuffix)) drop(kIndexSuffix);
  if (!EndsWith(pattern, kPartialSuffix)) {
    // Another process may be writing the index of a file just now, or was killed while it did.
    names.erase(std::remove_if(names.begin(), names.end(), IsUnfinishedIndex), names.end());
  }
  Require(!names.empty(), "no file matches '", Escaped(pattern), "'");
  return names;
}

// Whether the name may be that of a folder of files of columns. A server is not asked for a name
// without a slash at its end.
bool MayBeFolder(const std::string& path) {
  if (!IsLocal(path)) return IsOnServer(path) && EndsWith(path, "/");
  if (NamesColumns(path)) return true;
  return ChooseFormat(path).schema == nullptr;
}

// Adds the files of columns in a folder; false if it is none or has none.
bool AddFolder(const std::string& path, std::set<std::string>* names) {
  if (!MayBeFolder(path)) return false;
  if (IsLocal(path) && FileSystemOf(path).Stat(path).kind != FileStatus::Kind::kDirectory) {
    return false;
  }
  const size_t before = names->size();
  size_t seen = 0;
  VisitFilesIn(path, "", "._", &seen, [&](const std::string& file, const std::string&) {
    if (NamesColumns(file)) names->insert(file);
  });
  return names->size() > before;
}

// `is_file`: it is not taken for a folder of files.
void Expand(const std::string& path, bool is_file, std::set<std::string>* names) {
  if ((!HasWildcard(path) && path.find('{') == std::string::npos) || Exists(path)) {
    if (is_file || !AddFolder(path, names)) names->insert(path);
    return;
  }
  Require(path.find('\0') == std::string::npos, "the file name '", Escaped(path),
          "' has a zero byte");
  Require(path.size() <= kMaxPatternBytes, "a file name of ", path.size(), " bytes; the limit is ",
          kMaxPatternBytes);
  const bool wildcard = HasWildcard(path);
  ExpandBraces(path, [&](const std::string& name) {
    CheckStop();
    if (wildcard && HasWildcard(name) && !Exists(name)) {
      for (std::string& match : Glob(name)) names->insert(std::move(match));
    } else {
      names->insert(name);
    }
    CheckCount(names->size(), path);
  });
}

}  // namespace

std::vector<std::string> ExpandFileNames(const std::vector<std::string>& entries) {
  std::vector<std::string> names;
  size_t bytes = 0;
  for (const std::string& entry : entries) {
    const auto [path, format] = SplitFormatPrefix(entry);
    const std::string prefix = entry.substr(0, entry.size() - path.size());
    std::set<std::string> expanded;
    Expand(path, format != nullptr && format->reads_folders, &expanded);
    CheckCount(names.size() + expanded.size(), entry);
    while (!expanded.empty()) {  // moved out one by one, so that each name is in memory only once
      names.push_back(prefix + std::move(expanded.extract(expanded.begin()).value()));
      bytes += names.back().size();
      CheckBytes(names.size(), bytes, entry);
    }
  }
  return names;
}

std::vector<std::string> WildcardsOf(const std::vector<std::string>& entries) {
  std::vector<std::string> patterns;
  for (const std::string& entry : entries) {
    const std::string path = SplitFormatPrefix(entry).path;
    if (!HasWildcard(path) || Exists(path)) continue;
    ExpandBraces(path, [&](const std::string& name) {
      if (HasWildcard(name) && !Exists(name)) patterns.push_back(name);
    });
  }
  return patterns;
}

}  // namespace millhopper
