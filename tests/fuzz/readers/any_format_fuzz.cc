// SPDX-License-Identifier: Apache-2.0
// Fuzzes every format whose files are read by themselves, with its defaults and the same bytes, so
// that a new format is fuzzed before it has a target of its own.
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* file = new millhopper::InputFile;
  file->Write(data, size);
  constexpr size_t kMostRecords = 1000;
  // A chunk is a block, and what is compressed is at most 1032 times as large.
  const size_t most_bytes = 4 * ((size_t{1} << 20) + 1100 * size);
  for (const std::string& tag : millhopper::FileFormatTags()) {
    const millhopper::FormatSchema& schema = *millhopper::FindFileFormat(tag);
    // What is read beside the bytes can be missing, which is no fault of theirs.
    if (schema.reads_folders || schema.names_files_beside || schema.names_files_anywhere) continue;
    millhopper::Outcome([&] {
      millhopper::FormatArguments arguments;
      arguments.attributes = schema.WithDefaults({});
      if (schema.guess_fields != nullptr) {
        arguments.attributes.Set("fields",
                                 schema.guess_fields(file->path(), arguments.attributes).entries);
      }
      const auto format = schema.Make(arguments);
      millhopper::ReadThrough(format.get(), {file->path(), ""}, kMostRecords, most_bytes);
    });
  }
  return 0;
}
