// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/gif_decoder.h"

#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr size_t kSignatureBytes = 6;

}  // namespace

struct GifDecoder::Session {
  Session(const uint8_t* image, size_t image_size) : bytes(image), size(image_size) {}
  ~Session() {
    if (gif != nullptr) DGifCloseFile(gif, nullptr);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static int Read(GifFileType* gif, GifByteType* to, int count);
  [[noreturn]] void Fail(const char* problem) const {
    Throw(ErrorCode::kDataLoss, "GIF image of ", size, " bytes: ", problem);
  }
  [[noreturn]] void ThrowFailure(int error) const;
  void Check(int result) const {
    if (result == GIF_ERROR) ThrowFailure(gif->Error);
  }
  // Goes to the first frame, and sees on the way whether a colour is transparent.
  void FindFrame();
  void SetColors();
  void WriteRow(const std::vector<GifPixelType>& indices, uint8_t* to, int64_t channels) const;

  const uint8_t* const bytes;
  const size_t size;
  size_t position = 0;
  GifFileType* gif = nullptr;
  ImageShape shape;
  const ColorMapObject* colors = nullptr;
  bool is_gray = false;
  int transparent = -1;  // none
};

int GifDecoder::Session::Read(GifFileType* gif, GifByteType* to, int count) {
  Session& session = *static_cast<Session*>(gif->UserData);
  const size_t here = std::min(static_cast<size_t>(count), session.size - session.position);
  if (here > 0) std::memcpy(to, session.bytes + session.position, here);
  session.position += here;
  return static_cast<int>(here);
}

void GifDecoder::Session::ThrowFailure(int error) const {
  if (error == D_GIF_ERR_NOT_ENOUGH_MEM) throw std::bad_alloc();
  const char* const text = GifErrorString(error);
  Fail(position == size ? "premature end of the image" : text == nullptr ? "damaged data" : text);
}

void GifDecoder::Session::FindFrame() {
  int error = 0;
  gif = DGifOpen(this, Read, &error);
  if (gif == nullptr) ThrowFailure(error);
  for (;;) {
    GifRecordType record;
    Check(DGifGetRecordType(gif, &record));
    if (record == TERMINATE_RECORD_TYPE) Fail("it has no frame");
    if (record == IMAGE_DESC_RECORD_TYPE) break;
    int code = 0;
    GifByteType* block = nullptr;  // its length and its bytes
    Check(DGifGetExtension(gif, &code, &block));
    if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] >= 4) {
      constexpr int kHasTransparent = 1;
      transparent = (block[1] & kHasTransparent) != 0 ? block[4] : -1;
    }
    while (block != nullptr) Check(DGifGetExtensionNext(gif, &block));
  }
  Check(DGifGetImageDesc(gif));
}

// Colours that are the gray values of their numbers are gray.
void GifDecoder::Session::SetColors() {
  colors = gif->Image.ColorMap != nullptr ? gif->Image.ColorMap : gif->SColorMap;
  is_gray = true;
  for (int i = 0; colors != nullptr && i < colors->ColorCount; ++i) {
    const GifColorType& color = colors->Colors[i];
    is_gray = is_gray && color.Red == i && color.Green == i && color.Blue == i;
  }
}

void GifDecoder::Session::WriteRow(const std::vector<GifPixelType>& indices, uint8_t* to,
                                   int64_t channels) const {
  for (const GifPixelType index : indices) {
    if (is_gray) {
      to[0] = index;
    } else {
      if (index >= colors->ColorCount) Fail("a pixel has a colour that is not in the palette");
      const GifColorType& color = colors->Colors[index];
      to[0] = color.Red;
      to[1] = color.Green;
      to[2] = color.Blue;
    }
    if (transparent >= 0) to[channels - 1] = index == transparent ? 0 : 255;
    to += channels;
  }
}

GifDecoder::GifDecoder() = default;

GifDecoder::~GifDecoder() = default;

bool GifDecoder::Knows(const uint8_t* bytes, size_t size) {
  return size >= kSignatureBytes && (std::memcmp(bytes, "GIF87a", kSignatureBytes) == 0 ||
                                     std::memcmp(bytes, "GIF89a", kSignatureBytes) == 0);
}

void GifDecoder::Close() { session_.reset(); }

ImageHeader GifDecoder::Open(const uint8_t* bytes, size_t size) {
  session_ = std::make_unique<Session>(bytes, size);
  Session& session = *session_;
  session.FindFrame();
  session.SetColors();
  const GifFileType& gif = *session.gif;
  const GifImageDesc& frame = gif.Image;
  if (frame.Width <= 0 || frame.Height <= 0) session.Fail("it has no pixels");
  session.shape = {std::max(gif.SHeight, frame.Top + frame.Height),
                   std::max(gif.SWidth, frame.Left + frame.Width),
                   (session.is_gray ? 1 : 3) + (session.transparent >= 0 ? 1 : 0)};
  ImageHeader header;
  header.format = ImageFormat::kGif;
  header.stored = session.shape;
  return header;
}

void GifDecoder::Decode(const PixelsOf<uint8_t>& out) {
  Require(session_ != nullptr, "no image is open");
  Session& session = *session_;
  const GifImageDesc& frame = session.gif->Image;
  const int64_t channels = out.shape.channels;
  const bool fills = frame.Width < out.shape.width || frame.Height < out.shape.height;
  if (fills) {
    const std::vector<GifPixelType> free(
        static_cast<size_t>(out.shape.width),
        static_cast<GifPixelType>(std::max(session.transparent, 0)));
    for (int64_t y = 0; y < out.shape.height; ++y) session.WriteRow(free, out.row(y), channels);
  }
  std::vector<GifPixelType> row(static_cast<size_t>(frame.Width));
  struct Pass {
    int first, step;
  };
  constexpr Pass kInterlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  constexpr Pass kPlain[] = {{0, 1}};
  const Pass* const passes = frame.Interlace ? kInterlaced : kPlain;
  const size_t count = frame.Interlace ? std::size(kInterlaced) : std::size(kPlain);
  for (const Pass* pass = passes; pass < passes + count; ++pass) {
    for (int y = pass->first; y < frame.Height; y += pass->step) {
      session.Check(DGifGetLine(session.gif, row.data(), frame.Width));
      session.WriteRow(row, out.row(frame.Top + y) + frame.Left * channels, channels);
    }
  }
}

}  // namespace millhopper
