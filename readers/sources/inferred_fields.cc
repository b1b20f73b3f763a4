// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/inferred_fields.h"

#include <utility>
#include <vector>

#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/reader/file_reader.h"
#include "readers/fields/fields.h"

namespace millhopper {
namespace {

// What the format finds in a file.
FittingFields FieldsThatFit(const FormatSchema& schema, const FormatArguments& arguments,
                            const std::string& path) {
  try {
    return schema.guess_fields(path, schema.WithDefaults(arguments.attributes));
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    const Error located = error.file().empty() ? error.InFile(path, 0) : error;
    throw located.WithContext("while looking for fields that fit it, since none are given");
  }
}

std::string ListOf(const std::vector<std::string>& entries) {
  std::string list;
  for (const std::string& entry : entries) {
    list += StrCat(list.empty() ? "" : ", ", QuotedEntry(entry));
  }
  return StrCat("fields: [", list, "]");
}

}  // namespace

bool GivesNoFields(const FormatArguments& arguments) {
  const AttributeMap& given = arguments.attributes;
  return arguments.declared.empty() &&
         (!given.Has("fields") || given.Get<std::vector<std::string>>("fields").empty());
}

void InferFields(const FormatSchema& schema, FormatArguments* arguments) {
  if (!schema.infers_fields || !GivesNoFields(*arguments) || arguments->files.empty()) return;
  FileReader::CheckExist(arguments->files, schema.reads_folders);
  const std::string& path = arguments->files.front().path;
  if (CanBeReadOnceOnly(path)) return;
  FittingFields fields = FieldsThatFit(schema, *arguments, path);
  if (!fields.left_out.empty()) {
    std::string what;
    for (const std::string& problem : fields.left_out) {
      what += StrCat(what.empty() ? "" : "; ", problem);
    }
    throw Error(ErrorCode::kInvalidArgument,
                StrCat("not all that is in it can be read: ", what,
                       fields.entries.empty() ? "" : "; the rest is read with ",
                       fields.entries.empty() ? "" : ListOf(fields.entries)))
        .InFile(path, 0);
  }
  arguments->attributes.Set("fields", std::move(fields.entries));
}

Error WithFittingFields(const FormatSchema& schema, const FormatArguments& arguments,
                        const Error& error) {
  if (schema.guess_fields == nullptr || !GivesNoFields(arguments) || arguments.files.empty()) {
    return error;
  }
  const std::string& path = arguments.files.front().path;
  if (CanBeReadOnceOnly(path)) return error;
  if (FileSystemOf(path).Stat(path).size == 0) {
    return error.WithMessage(StrCat(error.message(), "; ", Escaped(path), " is empty"));
  }
  const std::vector<std::string> entries = FieldsThatFit(schema, arguments, path).entries;
  if (entries.empty()) return error;
  return error.WithMessage(
      StrCat(error.message(), "; these fit ", Escaped(path), ": ", ListOf(entries)));
}

}  // namespace millhopper
