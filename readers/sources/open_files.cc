// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/open_files.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/reader/file_reader.h"
#include "readers/sources/file_lanes.h"
#include "readers/sources/file_list.h"
#include "readers/sources/inferred_fields.h"
#include "readers/sources/random_chunks_reader.h"
#include "readers/sources/random_order_reader.h"

namespace millhopper {
namespace {

std::string Named(const FormatSchema* schema) {
  return schema == nullptr ? "not named" : schema->tag;
}

const FormatSchema* ImagesOfAnyFormat() { return FindFileFormat("image"); }

// Whether files of a format are images, whose records are alike whatever format each of them has.
bool IsOfImages(const FormatSchema* schema) {
  const FormatSchema* const images = ImagesOfAnyFormat();
  return schema != nullptr && images != nullptr && schema->slot_names == images->slot_names;
}

void CheckCompanions(const FormatSchema& schema) {
  Require(!schema.companion_name.empty(), "files of the format ", schema.tag,
          " take no second file each");
}

// The error of a format that needs fields, and why the first file tells none: it has no record.
Error FoundEmpty(const FormatSchema& schema, const FormatArguments& arguments, const Error& error) {
  if (!FoundNoRecord(schema, arguments, error)) return error;
  const std::string& path = arguments.files.front().path;
  return error.WithMessage(
      StrCat(error.message(), "; ", Escaped(path),
             FileSystemOf(path).Stat(path).size == 0 ? " is empty" : " has no record in it"));
}

// Makes the format, with the fields that the files tell if none are given. If it cannot be made, a
// file that is missing is what the error is about.
std::unique_ptr<FileFormat> FormatFor(const FormatSchema* schema, FormatArguments arguments) {
  try {
    if (schema == nullptr) return MakeFormatByContent(arguments);
    InferFields(*schema, &arguments);
    return schema->Make(arguments);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    FileReader::CheckExist(arguments.files, schema != nullptr && schema->reads_folders);
    if (schema == nullptr || !error.file().empty()) throw;
    throw FoundEmpty(*schema, arguments, error);
  }
}

// The files that names stand for, and the format that reads them; null if the first bytes of a file
// are to tell it when reading begins.
struct FoundFiles {
  const FormatSchema* schema;
  FormatArguments arguments;
};

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
    if (schema == first) continue;
    if (IsOfImages(first) && IsOfImages(schema)) {
      first = ImagesOfAnyFormat();
      continue;
    }
    Throw(ErrorCode::kInvalidArgument, "the files of one reader must have one format, but that of ",
          "'", Escaped(names[0]), "' is ", Named(first), " and that of '", Escaped(names[i]),
          "' is ", Named(schema),
          IsOfImages(first) || IsOfImages(schema)
              ? "; a pattern such as images/**/*.jpg finds those of one, and the prefix 'image:' "
                "takes all that it finds for images"
              : "; a prefix such as 'recordio:' names it");
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

// Refuses a file of columns whose name says that it is another one, which no text is.
void RefuseColumns(const std::string& name, const std::string& path) {
  if (SplitFormatPrefix(name).schema != nullptr || NamesColumns(path) || !HoldsColumns(path)) {
    return;
  }
  const std::string& tag = FormatByContent(path).tag;
  throw Error(ErrorCode::kDataLoss, StrCat("its first bytes are those of the format ", tag, "; '",
                                           tag, ":", Escaped(path), "' reads it"))
      .InFile(path, 0);
}

FoundFiles FindFiles(const std::vector<std::string>& names,
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
  arguments.files = std::move(entries);
  if (schema == nullptr && arguments.declared.empty()) {
    FileReader::CheckExist(arguments.files, false);
    const std::string& first = arguments.files.front().path;
    if (!CanBeReadOnceOnly(first)) schema = &FormatByContent(first);
  } else if (schema != nullptr && schema->guess_fields != nullptr && GivesNoFields(arguments)) {
    RefuseColumns(files.front(), arguments.files.front().path);
  }
  if (schema != nullptr && arguments.has_companions) CheckCompanions(*schema);
  return {schema, std::move(arguments)};
}

OpenedFiles Expand(const std::vector<std::string>& names,
                   const std::vector<std::string>& companions, FormatArguments arguments) {
  FoundFiles found = FindFiles(names, companions, std::move(arguments));
  std::unique_ptr<FileFormat> format = FormatFor(found.schema, found.arguments);
  return {std::move(format), std::move(found.arguments.files)};
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

FittingFields InferredFields(const std::vector<std::string>& names, FormatArguments arguments) {
  const AttributeMap given = arguments.attributes;
  FoundFiles found = FindFiles(names, {}, std::move(arguments));
  if (found.schema == nullptr || found.schema->guess_fields == nullptr) return {};
  InferFields(*found.schema, &found.arguments);
  FittingFields fields;
  for (const auto& [name, value] : found.arguments.attributes.values()) {
    const bool is_list_of_fields = name == "fields" || name == "exclude";
    if (!is_list_of_fields && !given.Has(name)) fields.attributes.Set(name, value);
  }
  fields.entries = found.schema->WithDefaults(found.arguments.attributes)
                       .Get<std::vector<std::string>>("fields");
  return fields;
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
