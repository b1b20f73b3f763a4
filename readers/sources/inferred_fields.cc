// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/inferred_fields.h"

#include <utility>
#include <vector>

#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/reader/file_reader.h"
#include "readers/fields/chosen_fields.h"
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

std::vector<std::string> ListIn(const FormatArguments& arguments, const char* attribute) {
  const AttributeMap& given = arguments.attributes;
  if (!given.Has(attribute)) return {};
  return given.Get<std::vector<std::string>>(attribute);
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
  return arguments.declared.empty() && ListIn(arguments, "fields").empty();
}

void InferFields(const FormatSchema& schema, FormatArguments* arguments) {
  const std::vector<std::string> entries = ListIn(*arguments, "fields");
  const std::vector<std::string> exclude = ListIn(*arguments, "exclude");
  if (!schema.infers_fields || arguments->files.empty()) return;
  if (!AreChosenByName(entries) || (entries.empty() && !arguments->declared.empty())) {
    Require(exclude.empty(), "exclude is for readers without fields, or with \"*\" among them");
    return;
  }
  FileReader::CheckExist(arguments->files, schema.reads_folders);
  const std::string& path = arguments->files.front().path;
  if (CanBeReadOnceOnly(path)) return;
  const FittingFields found = FieldsThatFit(schema, *arguments, path);
  if (found.entries.empty() && found.left_out.empty()) return;  // records of bytes
  try {
    std::vector<std::string> chosen = ChooseFields(entries, exclude, found);
    const bool are_all = chosen.size() >= found.entries.size();
    arguments->attributes.Set("fields", std::move(chosen));
    for (const AttributeMap* attributes : {&found.attributes, &found.attributes_of_all}) {
      if (attributes == &found.attributes_of_all && !are_all) continue;
      for (const auto& [name, value] : attributes->values()) {
        arguments->attributes.Set(name, value);
      }
    }
  } catch (const Error& error) {
    throw error.InFile(path, 0);
  }
  arguments->attributes.Set("exclude", std::vector<std::string>());
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
