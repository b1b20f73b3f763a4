// SPDX-License-Identifier: Apache-2.0
// Fuzzes lists of images. The images are not read: a list may name any file of the machine.
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

// The number of images, or the error.
std::string ImagesOf(const FileEntry& list) {
  const std::unique_ptr<FileFormat> format = FindFileFormat("image_list")->Make({});
  std::string images;
  const std::string error =
      Outcome([&] { images = std::to_string(format->CountRecords({list}).value()); });
  CHECK_EQ(Outcome([&] { format->Open(list); }), error);
  return images + error;
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* file = new millhopper::InputFile;
  file->Write(data, size);
  const std::string images = millhopper::ImagesOf({file->path(), ""});
  CHECK_EQ(millhopper::ImagesOf({file->path(), ""}), images);
  return 0;
}
