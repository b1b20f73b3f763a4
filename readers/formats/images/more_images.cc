// SPDX-License-Identifier: Apache-2.0
// The formats `bmp`, `gif`, `pnm` and `tiff`: images, a record a file, as the bytes that it has.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/reader/file_format.h"
#include "readers/formats/images/whole_file.h"

namespace millhopper {
namespace {

template <const std::string_view& kKind>
bool Matches(const char* head, size_t size) {
  return KindOfFile({head, size}) == kKind;
}

template <const std::string_view& kKind>
FormatSchema SchemaOf(const std::string& name, const std::vector<std::string>& extensions) {
  FormatSchema schema(name + " images, a record a file: its bytes, not decoded");
  for (const std::string& extension : extensions) schema.Extension(extension);
  schema.Magic(Matches<kKind>).SlotNames({"image"});
  return schema;
}

FormatSchema BmpSchema() { return SchemaOf<kBmpImage>("BMP", {".bmp"}); }
FormatSchema GifSchema() { return SchemaOf<kGifImage>("GIF", {".gif"}); }
FormatSchema PnmSchema() {
  return SchemaOf<kPnmImage>("PBM, PGM and PPM", {".pbm", ".pgm", ".ppm", ".pnm"});
}
FormatSchema TiffSchema() { return SchemaOf<kTiffImage>("TIFF", {".tif", ".tiff"}); }

template <const std::string_view& kKind>
std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return MakeWholeFileFormat(arguments, kKind);
}

REGISTER_FILE_FORMAT(bmp, BmpSchema, Make<kBmpImage>);
REGISTER_FILE_FORMAT(gif, GifSchema, Make<kGifImage>);
REGISTER_FILE_FORMAT(pnm, PnmSchema, Make<kPnmImage>);
REGISTER_FILE_FORMAT(tiff, TiffSchema, Make<kTiffImage>);

}  // namespace
}  // namespace millhopper
