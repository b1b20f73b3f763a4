// SPDX-License-Identifier: Apache-2.0
// Fuzzes the XML of an image of VOC. The image is not read.
#include <string>
#include <vector>

#include "tests/fakes/memory_files.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

// What the image set of one image holds, and its error.
FileContent Read() {
  FormatArguments arguments;
  const FormatSchema& schema = *FindFileFormat("voc");
  arguments.attributes = schema.WithDefaults({});
  arguments.attributes.Set(
      "fields",
      std::vector<std::string>{"height int64[]", "boxes float32[-1, 4]", "labels int64[-1]",
                               "area float32[-1]", "difficult bool[-1]"});
  const auto format = schema.Make(arguments);
  constexpr size_t kMostRecords = 2, kMostBytes = size_t{64} << 20;
  FileContent content;
  const std::string error = Outcome([&] {
    content = ReadThrough(format.get(), {"memory://fuzz/ImageSets/Main/one.txt", ""}, kMostRecords,
                          kMostBytes);
  });
  content.errors += error;
  return content;
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millhopper::MemoryFiles;
  MemoryFiles::Get().Write("memory://fuzz/ImageSets/Main/one.txt", "one\n");
  MemoryFiles::Get().Write("memory://fuzz/Annotations/one.xml",
                           std::string(reinterpret_cast<const char*>(data), size));
  const millhopper::FileContent content = millhopper::Read();
  CHECK_EQ(content.records.size(), content.errors.empty() ? 1u : 0u);
  const millhopper::FileContent again = millhopper::Read();
  CHECK(content.loaded == again.loaded);
  CHECK_EQ(content.errors, again.errors);
  return 0;
}
