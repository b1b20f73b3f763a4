// SPDX-License-Identifier: Apache-2.0
// The format `png`: PNG images, a record a file, as the bytes that it has.
#include <cstddef>
#include <memory>

#include "framework/reader/file_format.h"
#include "readers/formats/images/whole_file.h"

namespace millhopper {
namespace {

bool Matches(const char* head, size_t size) { return KindOfFile({head, size}) == kPngImage; }

FormatSchema Schema() {
  FormatSchema schema("PNG images, a record a file: its bytes, not decoded");
  schema.Extension(".png").Magic(Matches).SlotNames({"image"});
  return schema;
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return MakeWholeFileFormat(arguments, kPngImage);
}

REGISTER_FILE_FORMAT(png, Schema, Make);

}  // namespace
}  // namespace millhopper
