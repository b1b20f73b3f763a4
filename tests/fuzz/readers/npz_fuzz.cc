// SPDX-License-Identifier: Apache-2.0
// Fuzzes npz files: one member, stored or deflated.
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

// A valid file of little more than a header may announce many records of no bytes each.
constexpr size_t kMostRecords = 2000;

// The first member is named "a" in the seeds.
FileContent Read(const std::string& path, size_t most_bytes) {
  FormatArguments arguments;
  arguments.attributes.Set("fields", std::vector<std::string>{"a"});
  const std::unique_ptr<FileFormat> format = FindFileFormat("npz")->make(arguments);
  return ReadThrough(format.get(), {path, ""}, kMostRecords, most_bytes);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* file = new millhopper::InputFile;
  file->Write(data, size);
  // A chunk is 1 MiB or one record, and a record is no longer than what deflate can expand to.
  const size_t most_bytes = 4 * ((size_t{1} << 20) + 1100 * size);
  const millhopper::FileContent content = millhopper::Read(file->path(), most_bytes);
  const millhopper::FileContent again = millhopper::Read(file->path(), most_bytes);
  CHECK(content.records == again.records);
  CHECK(content.loaded == again.loaded);
  CHECK_EQ(content.errors, again.errors);
  return 0;
}
