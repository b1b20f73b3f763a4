// SPDX-License-Identifier: Apache-2.0
// Names of what programs leave beside the files of a data set.
#ifndef MILLHOPPER_READERS_SUPPORT_HIDDEN_NAMES_H_
#define MILLHOPPER_READERS_SUPPORT_HIDDEN_NAMES_H_

#include <string_view>

namespace millhopper {

// Whether the files of a folder of this name are no data: it begins with a dot, as
// .ipynb_checkpoints does, or is __MACOSX, in which macOS packs what its files have beside their
// content.
inline bool IsHiddenFolder(std::string_view name) {
  return name == "__MACOSX" || (name.substr(0, 1) == "." && name != "." && name != "..");
}

// Whether a file is one that macOS keeps for another file or a folder.
inline bool IsLeftByMacOs(std::string_view name) {
  return name.substr(0, 2) == "._" || name == ".DS_Store";
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_HIDDEN_NAMES_H_
