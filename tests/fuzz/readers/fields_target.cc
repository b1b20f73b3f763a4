// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers/fields_target.h"

#include <memory>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kMostRecords = 10000;

FileContent Read(const FormatSchema& schema, const AttributeMap& attributes,
                 const std::string& path, size_t size) {
  FormatArguments arguments;
  arguments.attributes = attributes;
  const std::unique_ptr<FileFormat> format = schema.Make(arguments);
  // A chunk is a block, and a stream doubles its buffer.
  const size_t most_bytes = 4 * ((size_t{1} << 20) + 1100 * size);
  FileContent content;
  const std::string error = Outcome([&] {
    content = ReadThrough(format.get(), {path, ""}, kMostRecords, most_bytes);
  });
  content.errors += error;
  return content;
}

}  // namespace

void FuzzFields(const std::vector<FieldSettings>& settings, const uint8_t* data, size_t size) {
  if (size == 0) return;
  static auto* file = new InputFile;
  file->Write(data + 1, size - 1);
  const FieldSettings& chosen = settings[data[0] % settings.size()];
  const FormatSchema& schema = *FindFileFormat(chosen.format);
  AttributeMap attributes;
  for (const auto& [name, value] : chosen.attributes) attributes.Set(name, value);
  attributes = schema.WithDefaults(attributes);
  attributes.Set("fields", chosen.fields);
  const FileContent content = Read(schema, attributes, file->path(), size);
  const FileContent again = Read(schema, attributes, file->path(), size);
  CHECK(content.records == again.records);
  CHECK(content.loaded == again.loaded);
  CHECK_EQ(content.errors, again.errors);
  if (schema.guess_fields == nullptr) return;
  std::vector<std::string> guessed;
  Outcome([&] { guessed = schema.guess_fields(file->path(), attributes).entries; });
  if (guessed.empty()) return;
  attributes.Set("fields", guessed);
  // A guess may name a column twice, or a name that the notation cannot write.
  Outcome([&] { Read(schema, attributes, file->path(), size); });
}

}  // namespace millhopper
