// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/slot_names.h"

#include <utility>

#include "framework/reader/file_format.h"
#include "readers/fields/fields.h"
#include "readers/sources/file_list.h"
#include "readers/sources/open_files.h"

namespace millhopper {

std::vector<std::string> SlotNamesOfFiles(const std::vector<std::string>& files,
                                          const std::map<std::string, Attribute>& attributes) {
  const FormatSchema* format = FormatOf(files);
  if (format == nullptr) {
    const std::string first = ChooseFormat(ExpandFileNames(files).front()).path;
    if (CanBeReadOnceOnly(first)) return {};
    format = &FormatByContent(first);
  }
  if (format->guess_fields == nullptr) return format->slot_names;
  FormatArguments arguments;
  for (const AttributeSchema& schema : format->attributes) {
    const auto given = attributes.find(schema.name);
    if (given != attributes.end()) {
      arguments.attributes.Set(schema.name, schema.Check(given->second));
    }
  }
  return NamesOf(InferredFields(files, std::move(arguments)).entries);
}

}  // namespace millhopper
