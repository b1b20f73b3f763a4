// SPDX-License-Identifier: Apache-2.0
// Formats whose records are whole files, such as images: one record a file, its bytes as they are.
#ifndef MILLHOPPER_READERS_FORMATS_IMAGES_WHOLE_FILE_H_
#define MILLHOPPER_READERS_FORMATS_IMAGES_WHOLE_FILE_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "framework/reader/file_format.h"

namespace millhopper {

inline constexpr std::string_view kJpegImage = "a JPEG image";
inline constexpr std::string_view kPngImage = "a PNG image";
inline constexpr std::string_view kWebpImage = "a WebP image";
inline constexpr std::string_view kBmpImage = "a BMP image";
inline constexpr std::string_view kGifImage = "a GIF image";
inline constexpr std::string_view kPnmImage = "a PNM image";
inline constexpr std::string_view kTiffImage = "a TIFF image";
// Any of these.
inline constexpr std::string_view kAnyImage = "an image that can be decoded";

// What a file is by its first bytes: one of the above, or another name of this kind; "" if it is
// nothing that is known.
std::string_view KindOfFile(std::string_view head);

// The format of files of a kind; a file of another kind is an error.
std::unique_ptr<FileFormat> MakeWholeFileFormat(const FormatArguments& arguments,
                                                std::string_view kind);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_IMAGES_WHOLE_FILE_H_
