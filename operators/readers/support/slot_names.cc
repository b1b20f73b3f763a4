// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/slot_names.h"

#include <utility>

#include "framework/reader/file_format.h"
#include "readers/fields/fields.h"
#include "readers/sources/open_files.h"

namespace millhopper {

std::vector<std::string> SlotNamesOfFiles(const std::vector<std::string>& files,
                                          const std::map<std::string, Attribute>& attributes) {
  const FormatSchema* const format = FormatOf(files);
  if (format != nullptr && format->guess_fields == nullptr) return format->slot_names;
  FormatArguments arguments;
  if (format != nullptr) {
    for (const AttributeSchema& schema : format->attributes) {
      const auto given = attributes.find(schema.name);
      if (given != attributes.end()) {
        arguments.attributes.Set(schema.name, schema.Check(given->second));
      }
    }
  }
  return NamesOf(InferredFields(files, std::move(arguments)).entries);
}

}  // namespace millhopper
