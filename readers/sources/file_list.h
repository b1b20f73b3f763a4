// SPDX-License-Identifier: Apache-2.0
// Lists of files as programs write them: patterns in, names out.
#ifndef MILLHOPPER_READERS_SOURCES_FILE_LIST_H_
#define MILLHOPPER_READERS_SOURCES_FILE_LIST_H_

#include <string>
#include <vector>

namespace millhopper {

// The files that the entries name, entry by entry; those of one entry sorted by their bytes and
// each once. An entry may begin with the prefix of a format ("recordio:"), which all of its files
// get, then with a scheme ("scheme://", file_system.h), and may have
//   {a,b,}           one of these, each of which may have braces {00000..00127}   one of these
//   numbers, filled up with zeros if one of the ends has a zero first
//   * ? [a-z]        as in the shell: existing files; never a leading dot, never a slash, and
//                    never what lies beside files of a format (FormatSchema::Beside), such as a
//                    manifest, unless the pattern has its extension (".json"),
//                    never an index (chunk_index.h) unless it ends in ".mhi", or one that is
//                    being written unless it ends in ".partial"
//   **               in place of a folder: any folders within folders, or none
// A folder stands for the files of columns in it and in folders within it (NamesColumns), but for
// those whose names, or whose folders' names, begin with a dot or "_", as those of programs that
// write such folders do.
// A file that exists under exactly the name that is written is taken as it is. Throws
// kInvalidArgument for a pattern that matches nothing, kIo for a directory that cannot be read, and
// kResourceLimit for more than kMaxListLength names or kMaxListBytes bytes of them, or if they take
// more than half of a memory limit.
std::vector<std::string> ExpandFileNames(const std::vector<std::string>& entries);

// The patterns with * ? or [ among the entries, with prefixes removed and braces expanded. For
// entries that ExpandFileNames accepted.
std::vector<std::string> WildcardsOf(const std::vector<std::string>& entries);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_FILE_LIST_H_
