// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/quickstart/quickstart_jpeg.h"

#include <jpeglib.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// libjpeg leaves by a jump where it cannot go on.
struct Compression {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  std::jmp_buf landing;
  char message[JMSG_LENGTH_MAX];
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): the type that libjpeg demands
};

void Leave(j_common_ptr info) {
  auto* const compression = static_cast<Compression*>(info->client_data);
  info->err->format_message(info, compression->message);
  std::longjmp(compression->landing, 1);
}

// False if libjpeg has left. The jump calls no destructor, so nothing here has one.
bool Compress(const uint8_t* pixels, int width, int height, Compression* compression) {
  jpeg_compress_struct& info = compression->info;
  info.err = jpeg_std_error(&compression->errors);
  info.err->error_exit = &Leave;
  info.client_data = compression;
  if (setjmp(compression->landing) != 0) return false;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &compression->bytes, &compression->size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 1;
  info.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<uint8_t*>(pixels) + size_t{info.next_scanline} * info.image_width;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::string GrayJpeg(const std::vector<uint8_t>& pixels, int width) {
  Compression compression = {};
  const int height = static_cast<int>(pixels.size()) / width;
  const bool done = Compress(pixels.data(), width, height, &compression);
  std::string bytes;
  if (done) bytes.assign(reinterpret_cast<char*>(compression.bytes), compression.size);
  jpeg_destroy_compress(&compression.info);
  std::free(compression.bytes);
  if (!done) Throw(ErrorCode::kInternal, "libjpeg: ", compression.message);
  return bytes;
}

}  // namespace millhopper
