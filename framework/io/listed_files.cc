// SPDX-License-Identifier: Apache-2.0
#include "framework/io/listed_files.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "framework/io/file_system.h"

namespace millhopper {
namespace {

std::atomic<bool> local_entries_allowed{false};

// Whether a relative name stays in its folder.
bool IsWithin(std::string_view name) {
  if (name.empty() || name[0] == '/' || name.find("://") != std::string_view::npos) return false;
  int depth = 0;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == "..") --depth;
    if (part != ".." && part != "." && !part.empty()) ++depth;
    if (depth < 0) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

void AllowLocalEntries(bool allowed) { local_entries_allowed.store(allowed); }

bool LocalEntriesAreAllowed() { return local_entries_allowed.load(); }

ListedFiles::ListedFiles(const std::string& list, const std::string& root)
    : allows_all_(!IsOnServer(list) || LocalEntriesAreAllowed()),
      has_local_root_(!root.empty() && IsLocal(root)) {}

bool ListedFiles::Allows(std::string_view name, const std::string& path) const {
  return allows_all_ || IsOnServer(path) || (has_local_root_ && IsWithin(name));
}

const char* ListedFiles::Advice() {
  return "a list from a server names files beside it or on servers. If you trust whoever has "
         "written it, allow others by --allow_local_entries, or in Python by "
         "millhopper.allow_local_entries()";
}

}  // namespace millhopper
