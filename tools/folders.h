// SPDX-License-Identifier: Apache-2.0
// Folders where files are wanted.
#ifndef MILLHOPPER_TOOLS_FOLDERS_H_
#define MILLHOPPER_TOOLS_FOLDERS_H_

#include <string>

namespace millhopper {

// Throws kIo, with what can be typed instead, if the path of a file whose format is not known is
// that of a folder.
void RefuseFolder(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_FOLDERS_H_
