// SPDX-License-Identifier: Apache-2.0
// What a compressor and a decompressor of libjpeg have in common.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_SESSION_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_SESSION_H_

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it

// In this order.
#include <jpeglib.h>

#include <exception>

#include "framework/base/error.h"
#include "operators/image/codecs/jpeg_memory.h"
#include "operators/image/codecs/long_jump.h"

namespace millhopper {

// A jpeg_compress_struct or jpeg_decompress_struct in memory of ours, whose errors are left by a
// jump. `Session` is the class that is made of it; its Leave, if it has one, is called then.
template <typename Session, typename Codec>
class JpegSession {
 public:
  JpegSession(const JpegSession&) = delete;
  JpegSession& operator=(const JpegSession&) = delete;

  static Session& Of(j_common_ptr common) { return *static_cast<Session*>(common->client_data); }
  static Session& Of(Codec* codec) { return Of(reinterpret_cast<j_common_ptr>(codec)); }

  Codec cinfo = {};
  jpeg_error_mgr errors = {};
  JpegMemory memory;
  char message[JMSG_LENGTH_MAX] = {};

 protected:
  JpegSession() {
    cinfo.err = jpeg_std_error(&errors);
    // A session that is not yet made does not leave in its own way.
    errors.error_exit = [](j_common_ptr common) {
      JpegSession& session = Of(common);
      common->err->format_message(common, session.message);
      session.Leave();
    };
    errors.emit_message = [](j_common_ptr, int) {};
    cinfo.client_data = static_cast<Session*>(this);
    if (!ComesToItsEnd([this] { Create(&cinfo); })) ThrowMessage();
    errors.error_exit = Fail;
    memory.Install(reinterpret_cast<j_common_ptr>(&cinfo));
  }
  ~JpegSession() {
    memory.Uninstall(reinterpret_cast<j_common_ptr>(&cinfo));
    jpeg_destroy(reinterpret_cast<j_common_ptr>(&cinfo));
  }

  // Calls function(), which calls libjpeg and owns nothing. If libjpeg fails, the image is aborted
  // and the result is false, or the error of the memory is thrown.
  template <typename Function>
  bool ComesToItsEnd(const Function& function) {
    if (millhopper::ComesToItsEnd(&failed_, function)) return true;
    jpeg_abort(reinterpret_cast<j_common_ptr>(&cinfo));
    if (const std::exception_ptr error = memory.TakeError()) std::rethrow_exception(error);
    return false;
  }
  [[noreturn]] void ThrowMessage() const { Throw(ErrorCode::kInternal, "libjpeg: ", message); }
  // What libjpeg does not return from.
  static void Fail(j_common_ptr common) {
    Session& session = Of(common);
    common->err->format_message(common, session.message);
    session.Leave();
  }
  [[noreturn]] void Leave() { std::longjmp(failed_, 1); }

 private:
  static void Create(jpeg_compress_struct* cinfo) { jpeg_create_compress(cinfo); }
  static void Create(jpeg_decompress_struct* cinfo) { jpeg_create_decompress(cinfo); }

  std::jmp_buf failed_ = {};
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_SESSION_H_
