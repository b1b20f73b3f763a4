// SPDX-License-Identifier: Apache-2.0
// Patterns of keys in a store whose keys have slashes but which has no folders, or which lists
// one folder at a time.
#ifndef MILLHOPPER_FRAMEWORK_IO_KEY_PATTERN_H_
#define MILLHOPPER_FRAMEWORK_IO_KEY_PATTERN_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "framework/io/file_system.h"

namespace millhopper {

// What lies directly under a prefix, as if slashes made folders.
struct NamesUnder {
  std::vector<std::string> keys;      // that have no slash after the prefix
  std::vector<std::string> prefixes;  // of the others, up to the slash and with it
};

// How much a list holds so far.
class ListAmount {
 public:
  // Throws kResourceLimit with the path if a name more, of so many bytes, is too much.
  void Add(const std::string& path, size_t bytes);

 private:
  size_t names_ = 0, bytes_ = 0;
};

// The keys that match a pattern with * ? or [a-z], which match neither a leading dot nor a slash.
// list(prefix, with_prefixes) gives what lies under a prefix; without prefixes only keys are
// needed. Throws what `list` throws, and kResourceLimit with `path` if more matches than a list of
// files may hold.
std::vector<std::string> MatchNames(
    const std::string& path, const std::string& pattern,
    const std::function<NamesUnder(const std::string&, bool)>& list);

// The same as files and folders of the folder whose name, with a slash at its end, is the prefix.
// Left out is a key that is the prefix, as which some programs make folders.
std::vector<FolderEntry> EntriesOf(const NamesUnder& names, const std::string& prefix);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_KEY_PATTERN_H_
