// SPDX-License-Identifier: Apache-2.0
// Makes readers of files from the names, declared slots and attributes in a program.
#ifndef MILLHOPPER_READERS_SOURCES_OPEN_FILES_H_
#define MILLHOPPER_READERS_SOURCES_OPEN_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/reader.h"
#include "readers/sources/multi_file_reader.h"

namespace millhopper {

// The format that prefixes ("recordio:") or extensions give to these names, which may be patterns;
// null if no name tells one; then the first bytes decide. Throws kInvalidArgument, naming two of
// them, if they are not all of one format.
const FormatSchema* FormatOf(const std::vector<std::string>& names);

// What create_<tag>_file_reader makes: a reader of one file, whose name may have that format's
// prefix and is otherwise taken literally. `companion` is "" if there is none.
// `arguments.attributes` are checked by the schema, defaults filled in; `has_companions` and
// `files` are set here. Throws kInvalidArgument and kIo; opens nothing but, where neither slots nor
// fields are given, what may tell them: manifests of RecordIO files, and the first file of a format
// that infers fields (inferred_fields.h), of which it throws what reading them throws.
std::unique_ptr<ReaderBase> OpenFile(const FormatSchema& schema, const std::string& name,
                                     const std::string& companion, FormatArguments arguments);

// What open_files makes. `names` and `companions` (empty, or as many files as `names` say, paired
// by position) are expanded by ExpandFileNames; the format is FormatOf, or found by the first
// bytes, at once if no slots are declared and else when reading begins. `arguments` as above; where
// no name tells the format, attributes may be left out. Throws and opens what OpenFile does.
std::unique_ptr<ReaderBase> OpenFiles(const std::vector<std::string>& names,
                                      const std::vector<std::string>& companions,
                                      FormatArguments arguments, const MultiFileOptions& options);

// The fields that OpenFiles infers for these files with such arguments, one a slot, and the other
// attributes that it finds with them; the fields that are given, if some are; none if the format
// infers none. Throws what OpenFiles throws for it.
FittingFields InferredFields(const std::vector<std::string>& names, FormatArguments arguments);

// The same as lanes (readers/sources/file_lanes.h).
LaneSet OpenFileLanes(const std::vector<std::string>& names,
                      const std::vector<std::string>& companions, FormatArguments arguments,
                      const MultiFileOptions& options, size_t lanes);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_OPEN_FILES_H_
