// SPDX-License-Identifier: Apache-2.0
// Readers of formats that take `fields`, and their elements as text that tests can compare.
#ifndef MILLHOPPER_TESTS_READERS_FIELD_READERS_H_
#define MILLHOPPER_TESTS_READERS_FIELD_READERS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/reader.h"
#include "readers/sources/open_files.h"
#include "tests/testing.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {

inline std::unique_ptr<ReaderBase> FieldReader(
    const std::string& format, const std::string& path, std::vector<std::string> fields,
    const std::vector<std::pair<std::string, Attribute>>& attributes = {}) {
  FormatArguments arguments;
  arguments.attributes.Set("fields", std::move(fields));
  for (const auto& [name, value] : attributes) arguments.attributes.Set(name, value);
  return OpenFile(*FindFileFormat(format), path, "", std::move(arguments));
}

// "7 | 1 2 3 | 'text'": the values of each slot; bytes with a level of detail as text.
inline std::string TextOf(const std::vector<LoDTensor>& element) {
  std::string text;
  for (const LoDTensor& tensor : element) {
    if (&tensor != &element.front()) text += " | ";
    if (tensor.dtype() == DataType::kUint8 && tensor.lod().size() == 1) {
      const char* const bytes = static_cast<const char*>(tensor.raw_data());
      text += "'" + std::string(bytes, static_cast<size_t>(tensor.numel())) + "'";
      continue;
    }
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      text += (i == 0 ? "" : " ") + ValueText(tensor, i);
    }
  }
  return text;
}

inline std::vector<std::string> TextsOf(ReaderBase* reader) {
  std::vector<std::string> texts;
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    texts.push_back(TextOf(element));
  }
  return texts;
}

// The elements of a file of this content.
inline std::vector<std::string> TextsIn(
    const std::string& format, const std::string& content, std::vector<std::string> fields,
    const std::vector<std::pair<std::string, Attribute>>& attributes = {}) {
  const TempFile file("a." + format, content);
  return TextsOf(FieldReader(format, file.path(), std::move(fields), attributes).get());
}

// The elements of files of these contents, which are read one after another.
inline std::vector<std::string> TextsInFiles(const std::string& format,
                                             const std::vector<std::string>& contents,
                                             std::vector<std::string> fields) {
  std::vector<std::unique_ptr<TempFile>> files;
  std::vector<std::string> paths;
  for (const std::string& content : contents) {
    files.push_back(std::make_unique<TempFile>("part." + format, content));
    paths.push_back(files.back()->path());
  }
  FormatArguments arguments;
  arguments.attributes.Set("fields", std::move(fields));
  MultiFileOptions one_by_one;
  one_by_one.cycle_length = 1;
  return TextsOf(OpenFiles(paths, {}, arguments, one_by_one).get());
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_READERS_FIELD_READERS_H_
