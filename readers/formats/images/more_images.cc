// SPDX-License-Identifier: Apache-2.0
// The formats `bmp`, `gif`, `pnm` and `tiff`: images, a record a file, as the bytes that it has;
// and `image`, which is any of these, or of `jpg`, `png` and `webp`.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

// No extension and no first bytes are its own: files of several formats of images are of this one.
FormatSchema ImageSchema() {
  return std::move(
      FormatSchema("images of the formats jpg, png, webp, bmp, gif, pnm and tiff in any mixture, a "
                   "record a file: its bytes, not decoded")
          .SlotNames({"image"}));
}

template <const std::string_view& kKind>
std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return MakeWholeFileFormat(arguments, kKind);
}

REGISTER_FILE_FORMAT(bmp, BmpSchema, Make<kBmpImage>);
REGISTER_FILE_FORMAT(gif, GifSchema, Make<kGifImage>);
REGISTER_FILE_FORMAT(pnm, PnmSchema, Make<kPnmImage>);
REGISTER_FILE_FORMAT(tiff, TiffSchema, Make<kTiffImage>);
REGISTER_FILE_FORMAT(image, ImageSchema, Make<kAnyImage>);

}  // namespace
}  // namespace millhopper
