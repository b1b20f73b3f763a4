// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/inferred_fields.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "framework/io/one_pass.h"
#include "framework/reader/file_reader.h"
#include "readers/fields/chosen_fields.h"
#include "readers/fields/fields.h"

namespace millhopper {
namespace {

std::vector<std::string> ListIn(const AttributeMap& given, const char* attribute) {
  if (!given.Has(attribute)) return {};
  return given.Get<std::vector<std::string>>(attribute);
}

// Whether each of the entries `found` has its name among the chosen ones.
bool HaveAllNames(const std::vector<std::string>& chosen, const std::vector<std::string>& found) {
  std::set<std::string> names;
  for (const std::string& entry : chosen) names.insert(HeadOf(entry).name);
  return std::all_of(found.begin(), found.end(),
                     [&](const std::string& entry) { return names.count(HeadOf(entry).name) > 0; });
}

}  // namespace

FittingFields FieldsThatFit(const FormatSchema& schema, const FormatArguments& arguments) {
  try {
    const AttributeMap attributes = schema.WithDefaults(arguments.attributes);
    if (schema.infer_fields_of_all == nullptr) {
      return schema.guess_fields(arguments.files.front().path, attributes);
    }
    std::vector<std::string> paths;
    for (const FileEntry& file : arguments.files) {
      if (!CanBeReadOnceOnly(file.path)) paths.push_back(file.path);
    }
    return schema.infer_fields_of_all(paths, attributes);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    const std::string& first = arguments.files.front().path;
    const Error located = error.file().empty() ? error.InFile(first, 0) : error;
    throw located.WithContext("while looking for fields that fit it, since none are given");
  }
}

bool GivesNoFields(const FormatArguments& arguments) {
  return arguments.declared.empty() && ListIn(arguments.attributes, "fields").empty();
}

void SetChosenFields(const FormatSchema& schema, const FittingFields& found,
                     AttributeMap* attributes) {
  constexpr char kOthers[] = "others";
  const std::vector<std::string> exclude = ListIn(*attributes, "exclude");
  std::vector<std::string> chosen = ChooseFields(ListIn(*attributes, "fields"), exclude, found);
  for (const auto& [name, value] : found.attributes.values()) attributes->Set(name, value);
  const bool sees_others =
      std::any_of(schema.attributes.begin(), schema.attributes.end(),
                  [&](const AttributeSchema& attribute) { return attribute.name == kOthers; });
  if (sees_others && exclude.empty() && HaveAllNames(chosen, found.entries) &&
      (!attributes->Has(kOthers) || attributes->Get<std::string>(kOthers).empty())) {
    attributes->Set(kOthers, std::string("error"));
  }
  attributes->Set("fields", std::move(chosen));
  attributes->Set("exclude", std::vector<std::string>());
}

void InferFields(const FormatSchema& schema, FormatArguments* arguments) {
  if (schema.guess_fields == nullptr || arguments->files.empty()) return;
  const std::vector<std::string> entries = ListIn(arguments->attributes, "fields");
  if (!AreChosenByName(entries) || (entries.empty() && !arguments->declared.empty())) {
    Require(ListIn(arguments->attributes, "exclude").empty(),
            "exclude is for readers without fields, or with \"*\" among them");
    return;
  }
  FileReader::CheckExist(arguments->files, schema.reads_folders);
  const std::string& path = arguments->files.front().path;
  if (CanBeReadOnceOnly(path)) return;
  const FittingFields found = FieldsThatFit(schema, *arguments);
  if (found.entries.empty() && found.left_out.empty()) return;  // records of bytes
  try {
    SetChosenFields(schema, found, &arguments->attributes);
  } catch (const Error& error) {
    throw error.InFile(path, 0);
  }
}

}  // namespace millhopper
