// SPDX-License-Identifier: Apache-2.0
// The actions of the recordio command, one function for each. All take patterns of file names and
// use the command's flags, print to standard output and return the exit code.
#ifndef MILLHOPPER_TOOLS_COMMANDS_RECORDIO_RECORDIO_COMMAND_H_
#define MILLHOPPER_TOOLS_COMMANDS_RECORDIO_RECORDIO_COMMAND_H_

#include <string>
#include <vector>

namespace millhopper {

// `fields` are the entries of --field, `attributes` those of --attribute.
int WriteRecordIO(const std::vector<std::string>& patterns, const std::vector<std::string>& fields,
                  const std::vector<std::string>& attributes);
int IndexFiles(const std::vector<std::string>& patterns, const std::vector<std::string>& fields,
               const std::vector<std::string>& attributes);
int ConvertFiles(const std::vector<std::string>& patterns, const std::vector<std::string>& fields,
                 const std::vector<std::string>& attributes);
// Of files of any format; VerifyRecordIO of RecordIO alone.
int VerifyFiles(const std::vector<std::string>& patterns, const std::vector<std::string>& fields,
                const std::vector<std::string>& attributes);
int InspectRecordIO(const std::vector<std::string>& patterns);
int VerifyRecordIO(const std::vector<std::string>& patterns);
int HeadOfRecordIO(const std::vector<std::string>& patterns);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_RECORDIO_RECORDIO_COMMAND_H_
