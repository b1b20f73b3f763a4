// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/png_decoder.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <memory>
#include <new>

#include "framework/base/error.h"
#include "operators/image/codecs/exif.h"
#include "operators/image/codecs/long_jump.h"

namespace millhopper {
namespace {

constexpr size_t kSignatureBytes = 8;

// What the chunks of an image say without libpng.
struct Chunks {
  int orientation = 1;  // in the chunk eXIf, which may lie anywhere
  // The bytes that libpng may read. libpng takes the memory that a chunk declares before it reads
  // the chunk, so the image ends for it before a chunk that is longer than what is left. Pixels
  // (IDAT) are read piece by piece.
  size_t readable;
};

Chunks ReadChunks(const uint8_t* bytes, size_t size) {
  constexpr size_t kLengthBytes = 4, kTypeBytes = 4, kChecksumBytes = 4;
  Chunks chunks;
  chunks.readable = size;
  size_t at = kSignatureBytes;
  while (size - at >= kLengthBytes + kTypeBytes) {
    const size_t length = png_get_uint_32(bytes + at);
    const uint8_t* const type = bytes + at + kLengthBytes;
    const uint8_t* const content = type + kTypeBytes;
    if (length + kChecksumBytes > size - at - kLengthBytes - kTypeBytes) {
      if (std::memcmp(type, "IDAT", kTypeBytes) != 0) chunks.readable = at;
      break;
    }
    if (std::memcmp(type, "eXIf", kTypeBytes) == 0) {
      chunks.orientation = OrientationOfExif(content, length);
    }
    at += kLengthBytes + kTypeBytes + length + kChecksumBytes;
  }
  return chunks;
}

}  // namespace

struct PngDecoder::Session {
  Session(const uint8_t* image, size_t image_size, size_t readable_size);
  ~Session() { png_destroy_read_struct(&png, &info, nullptr); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Calls function(), which calls libpng and owns nothing; throws what libpng reports.
  template <typename Function>
  void Guarded(const Function& function) {
    if (!ComesToItsEnd(&failed, function)) ThrowFailure();
  }
  // Throws unless the image whose header was read holds numbers of the mode.
  void CheckMode() const;
  int64_t Channels() const;
  [[noreturn]] void ThrowFailure() const {
    Throw(ErrorCode::kDataLoss, "PNG image, byte ", position, " of ", size, ": ", message);
  }
  void ReadPixels(const PixelsOf<uint8_t>& out);
  void Read16Bits(const PixelsOf<uint16_t>& out);
  // Reads all rows, of `row_bytes` bytes each, to where row(y) says.
  template <typename Row>
  void ReadRows(int64_t height, int64_t row_bytes, const Row& row);
  // Turns the indices at the ends of the rows into the colours of the palette.
  void FillInColors(const PixelsOf<uint8_t>& out);

  static void Read(png_structp png, png_bytep to, size_t count);
  static void Fail(png_structp png, png_const_charp text);

  const uint8_t* const bytes;
  const size_t size;
  const size_t readable;
  size_t position = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf failed = {};
  DecodeMode mode = DecodeMode::kPixels;
  bool has_indices = false;  // in the rows, instead of colours
  char message[200] = {};
};

PngDecoder::Session::Session(const uint8_t* image, size_t image_size, size_t readable_size)
    : bytes(image), size(image_size), readable(readable_size) {
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, Fail,
                               [](png_structp, png_const_charp) {});
  info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    png_destroy_read_struct(&png, nullptr, nullptr);
    throw std::bad_alloc();
  }
  png_set_read_fn(png, this, Read);
  // Chunks that are not needed are skipped: libpng would keep all texts. Each name ends with a zero
  // byte.
  static constexpr png_byte kSkipped[] = "eXIf\0tEXt\0zTXt\0iTXt\0sPLT";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, kSkipped, sizeof(kSkipped) / 5);
  // The number of pixels is limited before any is read.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
}

void PngDecoder::Session::CheckMode() const {
  const int type = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
  const auto refuse = [&](const char* wanted) {
    Throw(ErrorCode::kDataLoss, "PNG image of ", size, " bytes: it holds ",
          type == PNG_COLOR_TYPE_PALETTE       ? "a palette"
          : (type & PNG_COLOR_MASK_COLOR) != 0 ? "colours"
          : type == PNG_COLOR_TYPE_GRAY        ? "gray"
                                               : "gray and alpha",
          " of ", depth, " bits; ", wanted);
  };
  if (mode == DecodeMode::kIndices && type != PNG_COLOR_TYPE_PALETTE &&
      (type != PNG_COLOR_TYPE_GRAY || depth > 8)) {
    refuse("mode P is for images with a palette, and for gray ones of at most 8 bits");
  }
  if (mode == DecodeMode::k16Bits && depth != 16) refuse("mode I;16 is for images of 16 bits");
}

int64_t PngDecoder::Session::Channels() const {
  if (mode == DecodeMode::kIndices) return 1;
  const int type = png_get_color_type(png, info);
  const bool has_colors = (type & PNG_COLOR_MASK_COLOR) != 0;
  const bool has_transparent_color =
      mode == DecodeMode::kPixels && png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  const bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || has_transparent_color;
  return (has_colors ? 3 : 1) + (has_alpha ? 1 : 0);
}

void PngDecoder::Session::Read(png_structp png, png_bytep to, size_t count) {
  Session& session = *static_cast<Session*>(png_get_io_ptr(png));
  if (count > session.readable - session.position) {
    session.position = session.readable;
    png_error(png, "premature end of the image");
  }
  std::memcpy(to, session.bytes + session.position, count);
  session.position += count;
}

void PngDecoder::Session::Fail(png_structp png, png_const_charp text) {
  Session& session = *static_cast<Session*>(png_get_error_ptr(png));
  std::strncpy(session.message, text, sizeof(session.message) - 1);
  std::longjmp(session.failed, 1);
}

template <typename Row>
void PngDecoder::Session::ReadRows(int64_t height, int64_t row_bytes, const Row& row) {
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != static_cast<size_t>(row_bytes)) {
    png_error(png, "the rows are not as the header says");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < height; ++y) png_read_row(png, row(y), nullptr);
  }
}

void PngDecoder::Session::ReadPixels(const PixelsOf<uint8_t>& out) {
  const bool has_palette = png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE;
  if (has_palette || mode == DecodeMode::kIndices) {
    png_set_packing(png);
  } else {
    png_set_expand(png);  // fewer than 8 bits, transparent colours
    png_set_strip_16(png);
  }
  has_indices = has_palette && mode != DecodeMode::kIndices;
  const int64_t row_values = out.shape.width * out.shape.channels;
  // Indices into a palette are read into the end of their row, which their colours fill afterwards.
  const int64_t stored = has_indices ? out.shape.width : row_values;
  ReadRows(out.shape.height, stored, [&](int64_t y) { return out.row(y) + row_values - stored; });
  if (has_indices) FillInColors(out);
  png_read_end(png, nullptr);
}

void PngDecoder::Session::Read16Bits(const PixelsOf<uint16_t>& out) {
  png_set_swap(png);  // the upper byte is stored first
  const int64_t row_values = out.shape.width * out.shape.channels;
  ReadRows(out.shape.height, row_values * static_cast<int64_t>(sizeof(uint16_t)),
           [&](int64_t y) { return reinterpret_cast<png_bytep>(out.row(y)); });
  png_read_end(png, nullptr);
}

// libpng would take an index beyond the palette for black.
void PngDecoder::Session::FillInColors(const PixelsOf<uint8_t>& out) {
  has_indices = false;
  const int64_t channels = out.shape.channels;
  png_colorp palette = nullptr;
  int colors = 0;
  png_get_PLTE(png, info, &palette, &colors);
  png_bytep alphas = nullptr;
  int alpha_count = 0;
  png_get_tRNS(png, info, &alphas, &alpha_count, nullptr);
  for (int64_t y = 0; y < out.shape.height; ++y) {
    uint8_t* to = out.row(y);
    const uint8_t* const indices = to + (channels - 1) * out.shape.width;
    for (int64_t x = 0; x < out.shape.width; ++x, to += channels) {
      const int index = indices[x];
      if (index >= colors) png_error(png, "a pixel has a colour that is not in the palette");
      const png_color& color = palette[index];
      to[0] = color.red;
      to[1] = color.green;
      to[2] = color.blue;
      if (channels == 4) to[3] = index < alpha_count ? alphas[index] : 255;
    }
  }
}

PngDecoder::PngDecoder() = default;

PngDecoder::~PngDecoder() = default;

bool PngDecoder::Knows(const uint8_t* bytes, size_t size) {
  return size >= kSignatureBytes && png_sig_cmp(bytes, 0, kSignatureBytes) == 0;
}

void PngDecoder::Close() { session_.reset(); }

ImageHeader PngDecoder::Open(const uint8_t* bytes, size_t size, DecodeMode mode) {
  const Chunks chunks = ReadChunks(bytes, size);
  session_ = std::make_unique<Session>(bytes, size, chunks.readable);
  Session& session = *session_;
  session.mode = mode;
  session.Guarded([&] { png_read_info(session.png, session.info); });
  session.CheckMode();
  ImageHeader header;
  header.format = ImageFormat::kPng;
  header.stored = {png_get_image_height(session.png, session.info),
                   png_get_image_width(session.png, session.info), session.Channels()};
  header.orientation = chunks.orientation;
  return header;
}

bool PngDecoder::Decode(bool partial, const PixelsOf<uint8_t>& out) {
  Require(session_ != nullptr, "no image is open");
  Session& session = *session_;
  if (ComesToItsEnd(&session.failed, [&] { session.ReadPixels(out); })) return true;
  if (!partial) session.ThrowFailure();
  if (session.has_indices) {
    // Those that were read; the others are 0, and so the first colour.
    ComesToItsEnd(&session.failed, [&] { session.FillInColors(out); });
  }
  return false;
}

bool PngDecoder::Decode16(bool partial, const PixelsOf<uint16_t>& out) {
  Require(session_ != nullptr, "no image is open");
  Session& session = *session_;
  const bool is_whole = ComesToItsEnd(&session.failed, [&] { session.Read16Bits(out); });
  if (!is_whole && !partial) session.ThrowFailure();
  return is_whole;
}

}  // namespace millhopper
