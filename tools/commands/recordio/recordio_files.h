// SPDX-License-Identifier: Apache-2.0
// How the actions of the recordio command go through the files that they are given.
#ifndef MILLHOPPER_TOOLS_COMMANDS_RECORDIO_RECORDIO_FILES_H_
#define MILLHOPPER_TOOLS_COMMANDS_RECORDIO_RECORDIO_FILES_H_

#include <functional>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"

namespace millhopper {

// Calls visit for each file. If it throws, prints the error and continues with the next file.
// Returns the exit code of the first error, or 0. Throws on a request to stop.
int VisitFiles(const std::vector<std::string>& names,
               const std::function<void(const FormatChoice& file)>& visit);

// Whether a file begins as RecordIO files do. Throws what opening it throws.
bool BeginsAsRecordIO(const std::string& path);

// How many bytes the files have that can be opened.
double BytesOf(const std::vector<std::string>& names);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_RECORDIO_RECORDIO_FILES_H_
