// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/jpeg_encoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

// In this order: jpeglib.h needs stdio.h.
#include <jpeglib.h>

#include "framework/base/error.h"
#include "operators/image/codecs/jpeg_memory.h"
#include "operators/image/codecs/long_jump.h"

namespace millhopper {

struct JpegEncoder::Session {
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Calls function(), which calls libjpeg and owns nothing; throws what libjpeg or its memory
  // reports.
  template <typename Function>
  void Guarded(const Function& function);

  static Session& Of(j_compress_ptr cinfo) { return *static_cast<Session*>(cinfo->client_data); }
  // Has libjpeg write after the first `count` bytes. Does not return if there is no memory.
  void WriteAfter(size_t count);

  jpeg_compress_struct cinfo = {};
  jpeg_error_mgr errors = {};
  jpeg_destination_mgr destination = {};
  std::jmp_buf failed = {};
  JpegMemory memory;
  char message[JMSG_LENGTH_MAX] = {};
  std::exception_ptr error;  // of `bytes` that did not grow
  std::vector<uint8_t> bytes;
};

JpegEncoder::Session::Session() {
  cinfo.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr common) {
    Session& session = *static_cast<Session*>(common->client_data);
    common->err->format_message(common, session.message);
    std::longjmp(session.failed, 1);
  };
  errors.emit_message = [](j_common_ptr, int) {};
  cinfo.client_data = this;
  Guarded([this] { jpeg_create_compress(&cinfo); });
  memory.Install(reinterpret_cast<j_common_ptr>(&cinfo));
  destination.init_destination = [](j_compress_ptr compressor) { Of(compressor).WriteAfter(0); };
  destination.empty_output_buffer = [](j_compress_ptr compressor) -> boolean {
    Session& session = Of(compressor);
    session.WriteAfter(session.bytes.size());
    return TRUE;
  };
  destination.term_destination = [](j_compress_ptr compressor) {
    Session& session = Of(compressor);
    session.bytes.resize(session.bytes.size() - session.destination.free_in_buffer);
  };
  cinfo.dest = &destination;
}

JpegEncoder::Session::~Session() {
  memory.Uninstall(reinterpret_cast<j_common_ptr>(&cinfo));
  jpeg_destroy_compress(&cinfo);
}

template <typename Function>
void JpegEncoder::Session::Guarded(const Function& function) {
  if (ComesToItsEnd(&failed, function)) return;
  jpeg_abort_compress(&cinfo);
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
  if (const std::exception_ptr lacking = memory.TakeError()) std::rethrow_exception(lacking);
  Throw(ErrorCode::kInternal, "libjpeg: ", message);
}

void JpegEncoder::Session::WriteAfter(size_t count) {
  constexpr size_t kFirstBytes = size_t{64} << 10;
  try {
    bytes.resize(std::max(2 * count, std::max(kFirstBytes, bytes.capacity())));
  } catch (...) {
    error = std::current_exception();
  }
  // Outside of the handler, because this call does not return.
  if (error) std::longjmp(failed, 1);
  destination.next_output_byte = bytes.data() + count;
  destination.free_in_buffer = bytes.size() - count;
}

JpegEncoder::JpegEncoder() : session_(std::make_unique<Session>()) {}
JpegEncoder::~JpegEncoder() = default;

void JpegEncoder::Dispose() { Pool<JpegEncoder>::Give(this); }

const std::vector<uint8_t>& JpegEncoder::Encode(const PixelsOf<const uint8_t>& image, int quality) {
  Session& session = *session_;
  jpeg_compress_struct& cinfo = session.cinfo;
  session.Guarded([&] {
    const bool is_gray = image.shape.channels == 1;
    cinfo.comp_info = nullptr;  // that of the image before was in memory that is given back
    cinfo.image_width = static_cast<JDIMENSION>(image.shape.width);
    cinfo.image_height = static_cast<JDIMENSION>(image.shape.height);
    cinfo.input_components = is_gray ? 1 : 3;
    cinfo.in_color_space = is_gray ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, quality, TRUE);
    jpeg_start_compress(&cinfo, TRUE);
    while (cinfo.next_scanline < cinfo.image_height) {
      // libjpeg only reads the row.
      auto* row = const_cast<JSAMPLE*>(image.row(int64_t{cinfo.next_scanline}));
      jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
  });
  session.memory.Clear(&cinfo);
  return session.bytes;
}

}  // namespace millhopper
