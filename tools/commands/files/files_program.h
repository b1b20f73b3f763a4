// SPDX-License-Identifier: Apache-2.0
// The program with which commands read files.
#ifndef MILLHOPPER_TOOLS_COMMANDS_FILES_FILES_PROGRAM_H_
#define MILLHOPPER_TOOLS_COMMANDS_FILES_FILES_PROGRAM_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "framework/io/one_pass.h"
#include "framework/program/program.h"
#include "framework/reader/file_format.h"
#include "readers/fields/named_slots.h"

namespace millhopper {

struct FilesProgram {
  std::shared_ptr<const Program> program;
  std::vector<std::string> slot_names;  // empty if nothing tells them
  std::string format;                   // the tag
  std::string first_file;  // what the first one is: "rows.csv.gz: csv, compressed by gzip"
  std::string hint;        // lines that say how JSON that is COCO's is read as such; else ""
};

// A program that reads the files by open_files, as the reader "files". Where neither fields nor
// slots are given and their format takes fields, it has those that fit the first records; of
// recordio it has the slots that are stored beside the files, or else those of the first records.
// They are written to `hints`, ready to be pasted. `attributes` are those of --attribute. Files
// that can be read once only are opened in `once`. Errors call the program as the command is
// called.
FilesProgram ProgramForFiles(const std::vector<std::string>& names,
                             const std::vector<std::string>& given_fields,
                             const NamedSlots& given_slots,
                             const std::vector<std::string>& attributes, OnePassFiles* once,
                             std::ostream* hints, const std::string& command);

// Prints entries as a list that can be pasted into a program ("strings: [...]") and into Python,
// the attributes that they go with, and what they leave out.
void PrintFields(const std::string& title, const FittingFields& fields, std::ostream* out);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_FILES_FILES_PROGRAM_H_
