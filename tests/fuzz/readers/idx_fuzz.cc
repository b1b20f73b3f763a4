// SPDX-License-Identifier: Apache-2.0
// Fuzzes idx files, plain and through gzip: alone, and as their own labels.
#include <memory>
#include <string>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

// A valid file of twelve bytes may announce 2^32 records of no bytes each.
constexpr size_t kMostRecords = 2000;

FileContent ReadIdx(const std::string& path, bool labels, size_t most_bytes) {
  FormatArguments arguments;
  arguments.has_companions = labels;
  const std::unique_ptr<FileFormat> format = FindFileFormat("idx")->Make(arguments);
  return ReadThrough(format.get(), {path, labels ? path : ""}, kMostRecords, most_bytes);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* file = new millhopper::InputFile;
  file->Write(data, size);
  // A chunk is 1 MiB or one record, and a record is no longer than what gzip can expand to.
  const size_t most_bytes = 2 * ((size_t{1} << 20) + 1100 * size);
  const millhopper::FileContent content = millhopper::ReadIdx(file->path(), false, most_bytes);
  const millhopper::FileContent again = millhopper::ReadIdx(file->path(), false, most_bytes);
  CHECK(content.records == again.records);
  CHECK(content.loaded == again.loaded);
  CHECK_EQ(content.loaded.size(), content.records.size());
  CHECK_EQ(content.errors, again.errors);
  const millhopper::FileContent labelled = millhopper::ReadIdx(file->path(), true, 2 * most_bytes);
  CHECK_EQ(labelled.loaded.size(), labelled.records.size());
  return 0;
}
