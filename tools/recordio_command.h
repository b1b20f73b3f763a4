// SPDX-License-Identifier: Apache-2.0
// What the recordio command does, a function for each of its words. All take patterns of file names
// and the command's flags, print to stdout and return its exit code.
#ifndef MILLHOPPER_TOOLS_RECORDIO_COMMAND_H_
#define MILLHOPPER_TOOLS_RECORDIO_COMMAND_H_

#include <string>
#include <vector>

namespace millhopper {

int WriteRecordIO(const std::vector<std::string>& patterns);
int InspectRecordIO(const std::vector<std::string>& patterns);
int VerifyRecordIO(const std::vector<std::string>& patterns);
int HeadOfRecordIO(const std::vector<std::string>& patterns);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_RECORDIO_COMMAND_H_
