// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/jpeg_encoder.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "operators/image/codecs/jpeg_session.h"

namespace millhopper {

struct JpegEncoder::Session : JpegSession<Session, jpeg_compress_struct> {
  Session();

  // Calls function(), which calls libjpeg and owns nothing; throws what libjpeg or its memory
  // reports.
  template <typename Function>
  void Guarded(const Function& function);
  // Has libjpeg write after the first `count` bytes. Does not return if there is no memory.
  void WriteAfter(size_t count);

  jpeg_destination_mgr destination = {};
  std::exception_ptr error;  // of `bytes` that did not grow
  std::vector<uint8_t> bytes;
};

JpegEncoder::Session::Session() {
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

template <typename Function>
void JpegEncoder::Session::Guarded(const Function& function) {
  if (ComesToItsEnd(function)) return;
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
  ThrowMessage();
}

void JpegEncoder::Session::WriteAfter(size_t count) {
  constexpr size_t kFirstBytes = size_t{64} << 10;
  try {
    bytes.resize(std::max(2 * count, std::max(kFirstBytes, bytes.capacity())));
  } catch (...) {
    error = std::current_exception();
  }
  // Outside of the handler, because this call does not return.
  if (error) Leave();
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
