// SPDX-License-Identifier: Apache-2.0
// Which content an opened file has, for what is kept elsewhere of it.
#ifndef MILLHOPPER_FRAMEWORK_IO_FILE_VERSION_H_
#define MILLHOPPER_FRAMEWORK_IO_FILE_VERSION_H_

#include <string>

#include "framework/io/file.h"

namespace millhopper {

// What a File also is if its file system tells contents apart.
class VersionedFile {
 public:
  virtual ~VersionedFile() = default;
  // What tells the content that was opened from any other that the path had or will have; "" if
  // nothing does.
  virtual std::string version() const = 0;
};

// The version of any file; "" if its file system does not tell contents apart. Any thread.
inline std::string VersionOf(const File& file) {
  const auto* const versioned = dynamic_cast<const VersionedFile*>(&file);
  return versioned == nullptr ? "" : versioned->version();
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_FILE_VERSION_H_
