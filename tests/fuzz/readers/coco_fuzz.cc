// SPDX-License-Identifier: Apache-2.0
// Fuzzes JSON of COCO's form. Images are not read: the JSON may name any file of the machine.
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

FileContent Read(const std::string& path, size_t size) {
  FormatArguments arguments;
  const FormatSchema& schema = *FindFileFormat("coco");
  arguments.attributes = schema.WithDefaults({});
  arguments.attributes.Set(
      "fields", std::vector<std::string>{
                    "image_id int64[]", "file_name str", "boxes float32[-1, 4]", "labels int64[-1]",
                    "area float32[-1]", "ids int64[-1]", "polygons float64[-1, -1, -1, 2]",
                    "runs uint32[-1, -1]", "keypoints float32[-1, -1, 3]"});
  const auto format = schema.Make(arguments);
  constexpr size_t kMostRecords = 10000;
  FileContent content;
  const std::string error = Outcome([&] {
    content = ReadThrough(format.get(), {path, ""}, kMostRecords, (size_t{64} << 20) + 1100 * size);
  });
  content.errors += error;
  return content;
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* file = new millhopper::InputFile;
  file->Write(data, size);
  const millhopper::FileContent content = millhopper::Read(file->path(), size);
  const millhopper::FileContent again = millhopper::Read(file->path(), size);
  CHECK(content.loaded == again.loaded);
  CHECK_EQ(content.errors, again.errors);
  return 0;
}
