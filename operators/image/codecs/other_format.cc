// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/other_format.h"

#include <algorithm>

namespace millhopper {
namespace {

using std::string_view_literals::operator""sv;

struct Beginning {
  std::string_view bytes, format;
};

// Sources: the formats' specifications, and the media types registered for them.
constexpr Beginning kBeginnings[] = {
    {"\xFF\x0A"sv, "JPEG XL"sv},
    {"\0\0\0\x0CJXL \r\n\x87\n"sv, "JPEG XL"sv},
    {"\xFF\x4F\xFF\x51"sv, "JPEG 2000"sv},
    {"\0\0\0\x0CjP  \r\n\x87\n"sv, "JPEG 2000"sv},
    {"II\xBC"sv, "JPEG XR"sv},
    {"P7\n"sv, "PAM"sv},
    {"PF\n"sv, "PFM"sv},
    {"Pf\n"sv, "PFM"sv},
    {"qoif"sv, "QOI"sv},
    {"\0\0\1\0"sv, "ICO"sv},
    {"8BPS"sv, "Photoshop (PSD)"sv},
    {"\x76\x2F\x31\x01"sv, "OpenEXR"sv},
    {"#?RADIANCE"sv, "Radiance HDR"sv},
    {"DDS "sv, "DDS"sv},
    {"icns"sv, "ICNS"sv},
    {"\0\0\2\0"sv, "CUR"sv},
    {"%PDF-"sv, "PDF"sv},
    {"%!PS"sv, "PostScript"sv},
    {"\xC5\xD0\xD3\xC6"sv, "PostScript"sv},  // with a preview
};

bool BeginsWith(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

// "<svg" may come after a byte order mark, a declaration of XML, comments and white space. Of a
// document that begins so, the first 1,024 bytes are looked through for it.
bool IsSvg(std::string_view image) {
  constexpr size_t kLookedThrough = 1024;
  std::string_view text = image.substr(0, kLookedThrough);
  if (BeginsWith(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return BeginsWith(text, "<svg") || ((BeginsWith(text, "<?xml") || BeginsWith(text, "<!")) &&
                                      text.find("<svg") != std::string_view::npos);
}

// What the brands of a file of ISO's base media format say. Its first box begins with a length, of
// less than 256 bytes, and "ftyp"; then follow the major brand, a version, and brands that the file
// is compatible with.
std::string_view FormatOfBrands(std::string_view image) {
  constexpr size_t kBytes = 4, kMajor = 2, kVersion = 3;
  if (!BeginsWith(image, "\0\0\0"sv) || image.size() < kMajor * kBytes ||
      image.substr(kBytes, kBytes) != "ftyp") {
    return {};
  }
  const size_t box = std::min<size_t>(static_cast<uint8_t>(image[3]), image.size()) / kBytes;
  std::string_view format;
  for (size_t i = kMajor; i < box; ++i) {
    const std::string_view brand = image.substr(i * kBytes, kBytes);
    if (i == kVersion) continue;
    if (brand == "avif" || brand == "avis") return "AVIF";
    for (const std::string_view known :
         {"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"}) {
      if (brand == known) format = "HEIC";
    }
  }
  return format;
}

}  // namespace

std::string_view OtherFormatOf(const uint8_t* bytes, size_t size) {
  const std::string_view image(reinterpret_cast<const char*>(bytes), size);
  for (const Beginning& one : kBeginnings) {
    if (BeginsWith(image, one.bytes)) return one.format;
  }
  if (IsSvg(image)) return "SVG";
  return FormatOfBrands(image);
}

}  // namespace millhopper
