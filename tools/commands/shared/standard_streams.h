// SPDX-License-Identifier: Apache-2.0
// "-" on the command line: standard input and standard output.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_STANDARD_STREAMS_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_STANDARD_STREAMS_H_

#include <string>

namespace millhopper {

// The name by which an output is opened: for "-" that of standard output.
std::string OutputName(const std::string& given);
// The name by which a program is read: for "-" that of standard input. Throws as DataName.
std::string ProgramName(const std::string& given);
// The name by which data is read: for "-" or "format:-" that of standard input if it is a file of
// which nothing was read, which then is a file like any other; what comes from a pipe, or is left
// of a file that was read in part, keeps the name "-" and is read once (framework/io/one_pass.h).
// Throws kInvalidArgument if standard input was read before, and kIo.
std::string DataName(const std::string& given);
// The name of a file that must be readable at any place: for "-" a file with what standard input
// still holds. What comes from a pipe, or is left of a file that was read in part, is first copied,
// to its end, into a file in $TMPDIR (or /tmp) that has no name and ends with the process. Throws
// as DataName.
std::string StateName(const std::string& given);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_STANDARD_STREAMS_H_
