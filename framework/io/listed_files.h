// SPDX-License-Identifier: Apache-2.0
// Files that another file names, such as the images of a list. A list that comes from a server may
// name files beside it and on servers, but none of this machine: its author could have files read
// that only the user of this machine may see.
#ifndef MILLHOPPER_FRAMEWORK_IO_LISTED_FILES_H_
#define MILLHOPPER_FRAMEWORK_IO_LISTED_FILES_H_

#include <string>
#include <string_view>

namespace millhopper {

// Whether lists from servers may name files of this machine (--allow_local_entries); at first they
// may not. Any thread.
void AllowLocalEntries(bool allowed = true);
bool LocalEntriesAreAllowed();

// What lists of one place may name. Any thread.
class ListedFiles {
 public:
  // `list` is the path of the list. `root` is the folder that its relative names lie in, if the
  // user has said so, or "".
  ListedFiles(const std::string& list, const std::string& root);

  // Whether a file may be read that the list calls `name` and whose path is `path`: a local folder
  // that the user has said may be left neither by a name from the root on nor by one with "..".
  bool Allows(std::string_view name, const std::string& path) const;

  // What to do about a name that is not allowed, for an error.
  static const char* Advice();

 private:
  const bool allows_all_;
  const bool has_local_root_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_LISTED_FILES_H_
