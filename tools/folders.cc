// SPDX-License-Identifier: Apache-2.0
#include "tools/folders.h"

#include "framework/base/error.h"
#include "framework/io/file_system.h"
#include "framework/reader/file_format.h"

namespace millhopper {

void RefuseFolder(const std::string& path) {
  if (FileSystemOf(path).Stat(path).kind != FileStatus::Kind::kDirectory) return;
  const std::string folder = Escaped(path);
  std::string hint = StrCat("is a directory; '", folder, "/*' names the files in it");
  for (const std::string& tag : FileFormatTags()) {
    const FormatSchema& format = *FindFileFormat(tag);
    if (format.reads_folders) hint += StrCat(", and ", tag, ":", folder, " reads it: ", format.doc);
  }
  throw Error(ErrorCode::kIo, hint).InFile(path, -1);
}

}  // namespace millhopper
