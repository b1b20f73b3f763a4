// SPDX-License-Identifier: Apache-2.0
// Files of text that are read before any record: indexes and vocabularies.
#ifndef MILLHOPPER_FRAMEWORK_IO_TEXT_FILE_H_
#define MILLHOPPER_FRAMEWORK_IO_TEXT_FILE_H_

#include <string>

namespace millhopper {

// The whole content, decompressed. `what` is what an error calls the file, such as "index". Throws
// kResourceLimit with the file's name for more than kMaxUnsizedBytes, and what reading throws.
std::string ReadTextFile(const std::string& path, const char* what);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_TEXT_FILE_H_
