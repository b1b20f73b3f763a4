// SPDX-License-Identifier: Apache-2.0
#include "tests/files/encoded_images.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// After stdio.h.
#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include "tests/bytes.h"

namespace millhopper {

std::vector<uint8_t> SomePixels(const ImageShape& shape, uint32_t seed) {
  std::vector<uint8_t> pixels;
  uint32_t noise = seed;
  for (int64_t y = 0; y < shape.height; ++y) {
    for (int64_t x = 0; x < shape.width; ++x) {
      for (int64_t c = 0; c < shape.channels; ++c) {
        noise = noise * 1664525 + 1013904223;
        const int64_t slope = (c + 1) * (c % 2 == 0 ? 3 * x + y : x + 4 * y) + 90 * c;
        pixels.push_back(static_cast<uint8_t>((slope / 2 + (noise >> 26)) % 256));
      }
    }
  }
  return pixels;
}

std::string ExifWith(int orientation, bool little_endian) {
  const auto number = [&](uint64_t value, size_t size) {
    const std::string bytes = BigEndian(value, size);
    return little_endian ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
  };
  constexpr int kOrientation = 0x0112, kShort = 3;
  return (little_endian ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) +
         number(kOrientation, 2) + number(kShort, 2) + number(1, 4) +
         number(static_cast<uint64_t>(orientation), 2) + number(0, 2) + number(0, 4);
}

namespace {

// How libjpeg is told about the pixels, and how it is to store them.
void SetColors(jpeg_compress_struct* cinfo, int64_t channels, bool as_rgb) {
  cinfo->input_components = static_cast<int>(channels);
  cinfo->in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(cinfo);
  if (channels == 3 && as_rgb) jpeg_set_colorspace(cinfo, JCS_RGB);
  if (channels == 4) jpeg_set_colorspace(cinfo, as_rgb ? JCS_CMYK : JCS_YCCK);
}

// One scan for each component, of all its coefficients.
std::vector<jpeg_scan_info> ScanOfEach(int components) {
  std::vector<jpeg_scan_info> scans(static_cast<size_t>(components), {1, {0}, 0, 63, 0, 0});
  for (int i = 0; i < components; ++i) scans[static_cast<size_t>(i)].component_index[0] = i;
  return scans;
}

}  // namespace

std::string EncodeJpeg(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                       const JpegOptions& options) {
  EXPECT_EQ(static_cast<int64_t>(pixels.size()), shape.values());
  jpeg_compress_struct cinfo = {};
  jpeg_error_mgr errors = {};
  cinfo.err = jpeg_std_error(&errors);  // an error ends the process
  jpeg_create_compress(&cinfo);
  unsigned char* encoded = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &encoded, &size);
  cinfo.image_width = static_cast<JDIMENSION>(shape.width);
  cinfo.image_height = static_cast<JDIMENSION>(shape.height);
  SetColors(&cinfo, shape.channels, options.as_rgb);
  jpeg_set_quality(&cinfo, options.quality, TRUE);
  for (size_t i = 0; i < options.sampling.size(); ++i) {
    cinfo.comp_info[i].h_samp_factor = options.sampling[i].first;
    cinfo.comp_info[i].v_samp_factor = options.sampling[i].second;
  }
  const std::vector<jpeg_scan_info> scans = ScanOfEach(cinfo.num_components);
  if (options.progressive) jpeg_simple_progression(&cinfo);
  if (options.one_scan_each) {
    cinfo.scan_info = scans.data();
    cinfo.num_scans = static_cast<int>(scans.size());
  }
  cinfo.arith_code = options.arithmetic ? TRUE : FALSE;
  cinfo.restart_in_rows = options.restart_rows;
  jpeg_start_compress(&cinfo, TRUE);
  if (!options.exif.empty()) {
    const std::string segment = std::string("Exif\0\0", 6) + options.exif;
    jpeg_write_marker(&cinfo, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(segment.data()),
                      static_cast<unsigned int>(segment.size()));
  }
  for (int64_t y = 0; y < shape.height; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(pixels.data()) + y * shape.width * shape.channels;
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  std::string bytes(reinterpret_cast<char*>(encoded), size);
  std::free(encoded);
  return bytes;
}

std::string ReadCmyk(const std::string& bytes) {
  jpeg_decompress_struct cinfo = {};
  jpeg_error_mgr errors = {};
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.out_color_space = JCS_CMYK;
  jpeg_start_decompress(&cinfo);
  const size_t row_bytes = size_t{4} * cinfo.output_width;
  std::string values(row_bytes * cinfo.output_height, '\0');
  while (cinfo.output_scanline < cinfo.output_height) {
    auto* row = reinterpret_cast<JSAMPROW>(&values[cinfo.output_scanline * row_bytes]);
    jpeg_read_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
  return values;
}

std::string EncodePng(const PngImage& image) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_check_for_invalid_index(png, 0);  // tests also make images with such pixels
  std::string bytes;
  png_set_write_fn(
      png, &bytes,
      [](png_structp writer, png_bytep data, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(writer))
            ->append(reinterpret_cast<const char*>(data), size);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), image.depth, image.colors,
               image.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette(image.palette.size() / 3);
  if (!palette.empty()) {
    std::memcpy(palette.data(), image.palette.data(), image.palette.size());
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  png_write_info(png, info);
  const auto write_chunk = [&](const char* name, const std::string& content) {
    if (content.empty()) return;
    png_write_chunk(png, reinterpret_cast<png_const_bytep>(name),
                    reinterpret_cast<png_const_bytep>(content.data()), content.size());
  };
  write_chunk("tRNS", image.transparency);
  write_chunk("eXIf", image.exif);
  std::string rows = image.rows;
  const size_t row_bytes = rows.size() / static_cast<size_t>(image.height);
  std::vector<png_bytep> pointers(static_cast<size_t>(image.height));
  for (size_t y = 0; y < pointers.size(); ++y) {
    pointers[y] = reinterpret_cast<png_bytep>(rows.data()) + y * row_bytes;
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

PngImage ReadPng(const std::string& bytes) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr,
                                           [](png_structp, png_const_charp) {});
  png_infop info = png_create_info_struct(png);
  const char* next = bytes.data();  // libpng stops at the end of the image
  png_set_read_fn(png, &next, [](png_structp reader, png_bytep to, size_t size) {
    auto* const from = static_cast<const char**>(png_get_io_ptr(reader));
    std::memcpy(to, *from, size);
    *from += size;
  });
  png_read_info(png, info);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  PngImage image;
  image.height = png_get_image_height(png, info);
  image.width = png_get_image_width(png, info);
  image.depth = png_get_bit_depth(png, info);
  image.colors = png_get_color_type(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  image.rows.resize(row_bytes * static_cast<size_t>(image.height));  // unused bits are 0
  std::vector<png_bytep> rows(static_cast<size_t>(image.height));
  for (size_t y = 0; y < rows.size(); ++y) {
    rows[y] = reinterpret_cast<png_bytep>(image.rows.data()) + y * row_bytes;
  }
  png_read_image(png, rows.data());
  png_colorp palette = nullptr;
  int colors = 0;
  if (png_get_PLTE(png, info, &palette, &colors) != 0) {
    image.palette.assign(reinterpret_cast<const char*>(palette), static_cast<size_t>(colors) * 3);
  }
  png_bytep alphas = nullptr;
  int count = 0;
  png_color_16p key = nullptr;
  if (png_get_tRNS(png, info, &alphas, &count, &key) != 0) {
    if (image.colors == PNG_COLOR_TYPE_PALETTE) {
      image.transparency.assign(reinterpret_cast<const char*>(alphas), static_cast<size_t>(count));
    } else if (image.colors == PNG_COLOR_TYPE_GRAY) {
      image.transparency = BigEndian(key->gray, 2);
    } else {
      image.transparency =
          BigEndian(key->red, 2) + BigEndian(key->green, 2) + BigEndian(key->blue, 2);
    }
  }
  png_destroy_read_struct(&png, &info, nullptr);
  return image;
}

namespace {

std::string LittleEndian(uint64_t number, size_t size) {
  const std::string bytes = BigEndian(number, size);
  return {bytes.rbegin(), bytes.rend()};
}

std::string RiffChunk(const std::string& tag, const std::string& content) {
  return tag + LittleEndian(content.size(), 4) + content + std::string(content.size() % 2, '\0');
}

}  // namespace

std::string EncodeWebp(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                       const WebpOptions& options) {
  constexpr float kQuality = 75;
  const int width = static_cast<int>(shape.width), height = static_cast<int>(shape.height);
  const int stride = static_cast<int>(shape.width * shape.channels);
  uint8_t* encoded = nullptr;
  size_t size = 0;
  if (shape.channels == 4) {
    size = options.lossless
               ? WebPEncodeLosslessRGBA(pixels.data(), width, height, stride, &encoded)
               : WebPEncodeRGBA(pixels.data(), width, height, stride, kQuality, &encoded);
  } else {
    size = options.lossless
               ? WebPEncodeLosslessRGB(pixels.data(), width, height, stride, &encoded)
               : WebPEncodeRGB(pixels.data(), width, height, stride, kQuality, &encoded);
  }
  std::string bytes(reinterpret_cast<const char*>(encoded), size);
  WebPFree(encoded);
  if (options.exif.empty() && !options.animated) return bytes;
  // The extended format: flags and the size of the canvas, then the other chunks.
  constexpr int kExif = 8, kAnimation = 2, kAlpha = 16;
  const int flags = (options.exif.empty() ? 0 : kExif) + (options.animated ? kAnimation : 0) +
                    (shape.channels == 4 ? kAlpha : 0);
  const std::string extension = LittleEndian(static_cast<uint64_t>(flags), 4) +
                                LittleEndian(static_cast<uint64_t>(shape.width - 1), 3) +
                                LittleEndian(static_cast<uint64_t>(shape.height - 1), 3);
  constexpr size_t kHeadBytes = 12;
  const bool is_extended = bytes.compare(kHeadBytes, 4, "VP8X") == 0;
  constexpr size_t kExtensionBytes = 18;
  return RiffChunk("RIFF", "WEBP" + RiffChunk("VP8X", extension) +
                               bytes.substr(kHeadBytes + (is_extended ? kExtensionBytes : 0)) +
                               (options.exif.empty() ? "" : RiffChunk("EXIF", options.exif)));
}

}  // namespace millhopper
