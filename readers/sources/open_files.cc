// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/open_files.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/io/file_system.h"
#include "framework/reader/file_reader.h"
#include "readers/fields/fields.h"
#include "readers/sources/file_lanes.h"
#include "readers/sources/file_list.h"
#include "readers/sources/random_chunks_reader.h"
#include "readers/sources/random_order_reader.h"

namespace millhopper {
namespace {

std::string Named(const FormatSchema* schema) {
  return schema == nullptr ? "not named" : schema->tag;
}

void CheckCompanions(const FormatSchema& schema) {
  Require(!schema.companion_name.empty(), "files of the format ", schema.tag,
          " take no second file each");
}

// What to write where a format needs fields, none are given, and some fit the first file; or "".
// Throws what is wrong with the file, which would be wrong with any fields, too.
std::string FittingFields(const FormatSchema* schema, const FormatArguments& arguments) {
  const AttributeMap& given = arguments.attributes;
  if (schema == nullptr || schema->guess_fields == nullptr || !arguments.declared.empty() ||
      arguments.files.empty() ||
      (given.Has("fields") && !given.Get<std::vector<std::string>>("fields").empty())) {
    return "";
  }
  const std::string& path = arguments.files.front().path;
  const FileStatus status = FileSystemOf(path).Stat(path);
  if (status.kind != FileStatus::Kind::kFile) return "";  // read once only
  if (status.size == 0) return StrCat("; ", Escaped(path), " is empty");
  std::string list;
  try {
    for (const std::string& entry : schema->guess_fields(path, schema->WithDefaults(given))) {
      list += StrCat(list.empty() ? "" : ", ", QuotedEntry(entry));
    }
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    const Error located = error.file().empty() ? error.InFile(path, 0) : error;
    throw located.WithContext("while looking for fields that fit it, since none are given");
  }
  return list.empty() ? "" : StrCat("; these fit ", Escaped(path), ": fields: [", list, "]");
}

// If the format cannot be made, a file that is missing is what the error is about.
std::unique_ptr<FileFormat> FormatFor(const FormatSchema* schema,
                                      const FormatArguments& arguments) {
  try {
    return schema == nullptr ? MakeFormatByContent(arguments) : schema->Make(arguments);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    FileReader::CheckExist(arguments.files, schema != nullptr && schema->reads_folders);
    const std::string fields = FittingFields(schema, arguments);
    if (fields.empty()) throw;
    throw error.WithMessage(error.message() + fields);
  }
}

struct OpenedFiles {
  std::unique_ptr<FileFormat> format;
  std::vector<FileEntry> entries;
};

}  // namespace

const FormatSchema* FormatOf(const std::vector<std::string>& names) {
  const FormatSchema* first = nullptr;
  for (size_t i = 0; i < names.size(); ++i) {
    const FormatSchema* schema = ChooseFormat(names[i]).schema;
    if (i == 0) first = schema;
    Require(schema == first, "the files of one reader must have one format, but that of '",
            Escaped(names[0]), "' is ", Named(first), " and that of '", Escaped(names[i]), "' is ",
            Named(schema), "; a prefix such as 'recordio:' names it");
  }
  return first;
}

std::unique_ptr<ReaderBase> OpenFile(const FormatSchema& schema, const std::string& name,
                                     const std::string& companion, FormatArguments arguments) {
  const FormatChoice choice = SplitFormatPrefix(name);
  Require(choice.schema == nullptr || choice.schema == &schema, "'", Escaped(name),
          "' is named a file of the format ", choice.schema == nullptr ? "" : choice.schema->tag,
          ", but read as ", schema.tag);
  arguments.has_companions = !companion.empty();
  if (arguments.has_companions) CheckCompanions(schema);
  const FileEntry entry{choice.path, SplitFormatPrefix(companion).path, arguments.buffer_type};
  arguments.files = {entry};
  return std::make_unique<FileReader>(FormatFor(&schema, arguments), entry);
}

namespace {

// The files that the names stand for, and the format that reads them.
OpenedFiles Expand(const std::vector<std::string>& names,
                   const std::vector<std::string>& companions, FormatArguments arguments) {
  const std::vector<std::string> files = ExpandFileNames(names);
  const std::vector<std::string> seconds = ExpandFileNames(companions);
  Require(seconds.empty() || seconds.size() == files.size(), files.size(), " files, but ",
          seconds.size(), " second files to pair with them");
  std::vector<FileEntry> entries(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    entries[i].path = SplitFormatPrefix(files[i]).path;
    if (!seconds.empty()) entries[i].companion = SplitFormatPrefix(seconds[i]).path;
    entries[i].buffer_type = arguments.buffer_type;
  }
  arguments.has_companions = !seconds.empty();
  arguments.patterns = WildcardsOf(names);
  const FormatSchema* schema = FormatOf(files);
  if (schema != nullptr && arguments.has_companions) CheckCompanions(*schema);
  arguments.files = entries;
  std::unique_ptr<FileFormat> format = FormatFor(schema, arguments);
  return {std::move(format), std::move(entries)};
}

}  // namespace

std::unique_ptr<ReaderBase> OpenFiles(const std::vector<std::string>& names,
                                      const std::vector<std::string>& companions,
                                      FormatArguments arguments, const MultiFileOptions& options) {
  OpenedFiles files = Expand(names, companions, std::move(arguments));
  Require(options.pass_num == 1 || !(options.shuffle_records || options.shuffle_chunks),
          options.shuffle_records ? "shuffle_records" : "shuffle_chunks", " and pass_num ",
          options.pass_num, ": create_multi_pass_reader reads the records several times");
  if (options.shuffle_chunks) {
    Require(!options.shuffle_records, "shuffle_chunks and shuffle_records: give one of them");
    return std::make_unique<RandomChunksReader>(std::move(files.format), std::move(files.entries),
                                                ReadAheadOf(options), options.key);
  }
  if (options.shuffle_records) {
    return std::make_unique<RandomOrderReader>(std::move(files.format), std::move(files.entries),
                                               options.key);
  }
  return std::make_unique<MultiFileReader>(std::move(files.format), std::move(files.entries),
                                           options);
}

LaneSet OpenFileLanes(const std::vector<std::string>& names,
                      const std::vector<std::string>& companions, FormatArguments arguments,
                      const MultiFileOptions& options, size_t lanes) {
  Require(!options.shuffle_chunks && !options.shuffle_records,
          options.shuffle_chunks ? "shuffle_chunks" : "shuffle_records",
          " reads in one random order, which has no lanes; give it lanes: 1");
  OpenedFiles files = Expand(names, companions, std::move(arguments));
  return MakeFileLanes(
      std::make_unique<MultiFileReader>(std::move(files.format), std::move(files.entries), options),
      lanes);
}

}  // namespace millhopper
