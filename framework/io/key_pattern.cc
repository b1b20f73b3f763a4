// SPDX-License-Identifier: Apache-2.0
#include "framework/io/key_pattern.h"

#include <fnmatch.h>

#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

constexpr char kWildcards[] = "*?[";

// The text for which a part of a pattern without wildcards stands.
std::string Unescaped(const std::string& pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    text += pattern[i];
  }
  return text;
}

// The position of the first wildcard that no backslash makes an ordinary character.
size_t FirstWildcard(const std::string& pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (std::string(kWildcards).find(pattern[i]) != std::string::npos) {
      return i;
    }
  }
  return std::string::npos;
}

}  // namespace

void ListAmount::Add(const std::string& path, size_t bytes) {
  ++names_;
  bytes_ += bytes;
  if (names_ <= kMaxListLength && bytes_ <= kMaxListBytes) return;
  throw Error(ErrorCode::kResourceLimit, StrCat("the bucket has more than ", kMaxListLength,
                                                " names here, or they are longer than ",
                                                kMaxListBytes, " bytes; the pattern is too wide"))
      .InFile(path, -1);
}

std::vector<std::string> MatchNames(
    const std::string& path, const std::string& pattern,
    const std::function<NamesUnder(const std::string&, bool)>& list) {
  // Names with a slash at the end of what is found so far, and the pattern of what comes after.
  std::vector<std::string> folders = {""};
  std::string left = pattern;
  for (;;) {
    // The part of the pattern up to the slash after its first wildcard is matched by one list.
    const size_t wildcard = FirstWildcard(left);
    const size_t slash = wildcard == std::string::npos ? wildcard : left.find('/', wildcard);
    const bool is_last = slash == std::string::npos;
    const std::string part = left.substr(0, slash);
    const std::string begin = Unescaped(part.substr(0, wildcard));
    std::vector<std::string> found;
    ListAmount amount;
    for (const std::string& folder : folders) {
      NamesUnder names = list(folder + begin, !is_last);
      for (std::string& name : is_last ? names.keys : names.prefixes) {
        std::string behind = name.substr(folder.size());
        if (!is_last) behind.pop_back();
        const bool matches =
            !behind.empty() && behind.back() != '/' &&
            ::fnmatch(part.c_str(), behind.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
        if (!matches) continue;
        amount.Add(path, name.size());
        found.push_back(std::move(name));
      }
    }
    if (is_last) return found;
    folders = std::move(found);
    left.erase(0, slash + 1);
  }
}

std::vector<FolderEntry> EntriesOf(const NamesUnder& names, const std::string& prefix) {
  std::vector<FolderEntry> entries;
  const auto add = [&](const std::string& name, size_t size, FileStatus::Kind kind) {
    if (size > 0) entries.push_back({name.substr(prefix.size(), size), kind});
  };
  for (const std::string& key : names.keys) {
    add(key, key.size() - prefix.size(), FileStatus::Kind::kFile);
  }
  // A key with two slashes in a row makes a folder without a name.
  for (const std::string& folder : names.prefixes) {
    add(folder, folder.size() - prefix.size() - 1, FileStatus::Kind::kDirectory);
  }
  return entries;
}

}  // namespace millhopper
