// SPDX-License-Identifier: Apache-2.0
// The format `jpg`: JPEG images, a record a file, as the bytes that it has.
#include <cstddef>
#include <memory>

#include "framework/reader/file_format.h"
#include "readers/formats/images/whole_file.h"

namespace millhopper {
namespace {

bool Matches(const char* head, size_t size) { return KindOfFile({head, size}) == kJpegImage; }

FormatSchema Schema() {
  FormatSchema schema("JPEG images, a record a file: its bytes, not decoded");
  schema.Extension(".jpg").Extension(".jpeg").Magic(Matches).SlotNames({"image"});
  return schema;
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return MakeWholeFileFormat(arguments, kJpegImage);
}

REGISTER_FILE_FORMAT(jpg, Schema, Make);

}  // namespace
}  // namespace millhopper
