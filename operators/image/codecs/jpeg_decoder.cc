// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/jpeg_decoder.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "framework/base/error.h"
#include "operators/image/codecs/exif.h"
#include "operators/image/codecs/jpeg_session.h"
#include "operators/image/pixels/channels.h"
// After jpeglib.h, which the session includes.
#include <jerror.h>

namespace millhopper {
namespace {

// A progressive image of a few KB can ask for thousands of passes over all of its pixels. Sensible
// ones have about ten. Source: "Two Issues with the JPEG Standard", libjpeg-turbo.
constexpr int kMostScans = 100;

// Rows that are asked for at once.
constexpr int kRowsAtOnce = 16;

// Warnings after which the pixels are still those that were stored.
bool IsHarmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_ADOBE_XFORM ||
         warning == JWRN_JFIF_MAJOR || warning == JWRN_NOT_SEQUENTIAL;
}

// Turns pixels of CMYK, as Adobe stores them (255 is no ink), into colours, in place. The values
// are those of Pillow's conversion: the product of ink and black, rounded.
void CmykToColors(uint8_t* pixels, int64_t width) {
  const auto product = [](unsigned int a, unsigned int b) {
    const unsigned int scaled = a * b + 128;
    return static_cast<uint8_t>((scaled + (scaled >> 8)) >> 8);  // a * b / 255, rounded
  };
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t* const cmyk = pixels + 4 * x;
    uint8_t* const colors = pixels + 3 * x;
    const unsigned int black = cmyk[3];
    for (int i = 0; i < 3; ++i) colors[i] = product(cmyk[i], black);
  }
}

}  // namespace

struct JpegDecoder::Session : JpegSession<Session, jpeg_decompress_struct> {
  Session();

  // Calls function(), which calls libjpeg and owns nothing; throws what libjpeg or its memory
  // reports.
  template <typename Function>
  void Guarded(const Function& function);
  [[noreturn]] void ThrowFailure();
  // The byte that libjpeg has come to.
  size_t Position() const;
  // Whether an end marker follows somewhere after the header.
  bool HasEnd() const;

  void Decode(const DecodePart& part, const PixelsOf<uint8_t>& out);
  void BeginOutput(const DecodePart& part, int64_t channels);
  void ReadPart(const DecodePart& part, const PixelsOf<uint8_t>& out);
  void ReadRows(const Box& box, int64_t left, const PixelsOf<uint8_t>& out);
  // Reads rows straight into `out`.
  void ReadWholeRows(const PixelsOf<uint8_t>& out);

  // Notes where libjpeg has failed; does not return.
  void Leave();

  static void TakeMessage(j_common_ptr cinfo, int level);
  static void CountScans(j_common_ptr cinfo);
  static boolean GiveEnd(j_decompress_ptr cinfo);
  static void Skip(j_decompress_ptr cinfo, long count);
  static boolean ReadApp1(j_decompress_ptr cinfo);

  jpeg_source_mgr source = {};
  jpeg_progress_mgr progress = {};

  const uint8_t* bytes = nullptr;
  size_t size = 0;
  int orientation = 1;
  bool may_be_damaged = false;  // warnings are no errors
  bool is_damaged = false;      // there were such warnings
  bool too_many_scans = false;
  size_t cut_segment = 0;  // where a segment begins whose end is lacking; `size` if there is none
  size_t failed_at = 0;
  std::vector<uint8_t> row;  // one row, where the codec gives more or other values than are wanted
};

JpegDecoder::Session::Session() {
  errors.emit_message = TakeMessage;
  source.init_source = [](j_decompress_ptr) {};
  source.fill_input_buffer = GiveEnd;
  source.skip_input_data = Skip;
  source.resync_to_restart = jpeg_resync_to_restart;
  source.term_source = [](j_decompress_ptr) {};
  cinfo.src = &source;
  progress.progress_monitor = CountScans;
  cinfo.progress = &progress;
  jpeg_set_marker_processor(&cinfo, JPEG_APP0 + 1, ReadApp1);
}

template <typename Function>
void JpegDecoder::Session::Guarded(const Function& function) {
  if (!ComesToItsEnd(function)) ThrowFailure();
}

void JpegDecoder::Session::ThrowFailure() {
  if (too_many_scans) {
    Throw(ErrorCode::kResourceLimit, "JPEG image, byte ", failed_at, " of ", size, ": more than ",
          kMostScans, " scans");
  }
  Throw(ErrorCode::kDataLoss, "JPEG image, byte ", failed_at, " of ", size, ": ", message);
}

size_t JpegDecoder::Session::Position() const {
  const bool inside = source.next_input_byte >= bytes && source.next_input_byte <= bytes + size;
  return inside ? static_cast<size_t>(source.next_input_byte - bytes) : size;
}

void JpegDecoder::Session::Leave() {
  failed_at = Position();
  JpegSession::Leave();
}

void JpegDecoder::Session::TakeMessage(j_common_ptr cinfo, int level) {
  constexpr int kWarning = -1;
  if (level != kWarning || IsHarmless(cinfo->err->msg_code)) return;
  if (!Of(cinfo).may_be_damaged) Fail(cinfo);
  Of(cinfo).is_damaged = true;
}

void JpegDecoder::Session::CountScans(j_common_ptr cinfo) {
  if (Of(cinfo).cinfo.input_scan_number <= kMostScans) return;
  Of(cinfo).too_many_scans = true;
  Fail(cinfo);
}

// Called where the bytes end too soon.
boolean JpegDecoder::Session::GiveEnd(j_decompress_ptr cinfo) {
  static constexpr JOCTET kEnd[] = {0xFF, JPEG_EOI};
  WARNMS(cinfo, JWRN_JPEG_EOF);
  if (cinfo->unread_marker != 0) {
    // Within a segment, which would be read wrongly. It is left out; see Decode.
    const uint8_t mark[] = {0xFF, static_cast<uint8_t>(cinfo->unread_marker)};
    const uint8_t* const bytes = Of(cinfo).bytes;
    const uint8_t* const end = bytes + Of(cinfo).size;
    Of(cinfo).cut_segment =
        static_cast<size_t>(std::find_end(bytes, end, mark, mark + sizeof(mark)) - bytes);
    Fail(reinterpret_cast<j_common_ptr>(cinfo));
  }
  cinfo->src->next_input_byte = kEnd;
  cinfo->src->bytes_in_buffer = sizeof(kEnd);
  return TRUE;
}

void JpegDecoder::Session::Skip(j_decompress_ptr cinfo, long count) {
  const size_t skipped =
      std::min(static_cast<size_t>(std::max(count, 0L)), cinfo->src->bytes_in_buffer);
  cinfo->src->next_input_byte += skipped;
  cinfo->src->bytes_in_buffer -= skipped;
}

// Reads a segment that may hold EXIF data. All of it is in memory, so nothing is copied.
boolean JpegDecoder::Session::ReadApp1(j_decompress_ptr cinfo) {
  constexpr size_t kLengthBytes = 2;
  constexpr char kMark[] = "Exif\0";  // and a zero byte after it
  const uint8_t* const segment = cinfo->src->next_input_byte;
  const size_t left = cinfo->src->bytes_in_buffer;
  if (left < kLengthBytes) return GiveEnd(cinfo);
  const size_t length = std::max(size_t{segment[0]} << 8 | segment[1], kLengthBytes);
  const uint8_t* const payload = segment + kLengthBytes;
  const size_t bytes = std::min(length, left) - kLengthBytes;
  if (Of(cinfo).orientation == 0 && bytes >= sizeof(kMark) &&
      std::memcmp(payload, kMark, sizeof(kMark)) == 0) {
    Of(cinfo).orientation = OrientationOfExif(payload, bytes);
  }
  Skip(cinfo, static_cast<long>(length));
  return TRUE;
}

bool JpegDecoder::Session::HasEnd() const {
  if (cinfo.unread_marker == JPEG_EOI) return true;
  const uint8_t* const begin = bytes + Position();
  for (const uint8_t* at = bytes + size; at - begin >= 2; --at) {
    if (at[-2] == 0xFF && at[-1] == JPEG_EOI) return true;
  }
  return false;
}

JpegDecoder::JpegDecoder() : session_(std::make_unique<Session>()) {}

JpegDecoder::~JpegDecoder() = default;

bool JpegDecoder::Knows(const uint8_t* bytes, size_t size) {
  return size >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
}

void JpegDecoder::Close() {
  jpeg_abort_decompress(&session_->cinfo);
  session_->memory.Clear(&session_->cinfo);
}

ImageHeader JpegDecoder::Open(const uint8_t* bytes, size_t size) {
  Close();
  Session& session = *session_;
  session.bytes = bytes;
  session.size = size;
  session.source.next_input_byte = bytes;
  session.source.bytes_in_buffer = size;
  session.orientation = 0;  // none yet
  session.may_be_damaged = false;
  session.is_damaged = false;
  session.too_many_scans = false;
  session.cut_segment = size;
  session.Guarded([&] { jpeg_read_header(&session.cinfo, TRUE); });
  const jpeg_decompress_struct& cinfo = session.cinfo;
  if (cinfo.jpeg_color_space == JCS_UNKNOWN) {
    Throw(ErrorCode::kDataLoss, "JPEG image, byte ", session.Position(), " of ", size, ": ",
          cinfo.num_components, " components; 1 (gray), 3 (colours) and 4 (CMYK) can be decoded");
  }
  ImageHeader header;
  header.format = ImageFormat::kJpeg;
  header.stored = {cinfo.image_height, cinfo.image_width,
                   cinfo.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3};
  header.orientation = std::max(session.orientation, 1);
  return header;
}

// Starts libjpeg so that it gives values of the wanted kind if it can.
void JpegDecoder::Session::BeginOutput(const DecodePart& part, int64_t channels) {
  cinfo.scale_num = 1;
  cinfo.scale_denom = static_cast<unsigned int>(part.scale);
  if (cinfo.jpeg_color_space == JCS_CMYK || cinfo.jpeg_color_space == JCS_YCCK) {
    cinfo.out_color_space = JCS_CMYK;
  } else if (channels == 1) {
    cinfo.out_color_space = JCS_GRAYSCALE;
  } else {
    cinfo.out_color_space = channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
  }
  jpeg_start_decompress(&cinfo);
}

void JpegDecoder::Session::ReadPart(const DecodePart& part, const PixelsOf<uint8_t>& out) {
  const Box& box = part.box;
  const int64_t width = cinfo.output_width, height = cinfo.output_height;
  // Images of several scans are decoded from coefficients that are all in memory, and may be
  // smoothed across blocks; there it is not worth while to leave columns and rows out.
  const bool is_one_pass = jpeg_has_multiple_scans(&cinfo) == FALSE;
  // Where chroma has a quarter of the columns or rows, scaled pixels depend on where libjpeg
  // begins.
  const bool may_crop = is_one_pass && (part.scale == 1 || std::max(cinfo.max_h_samp_factor,
                                                                    cinfo.max_v_samp_factor) <= 2);
  // Chroma is blended across a distance of one sample, which is at most so many pixels.
  const int64_t margin = cinfo.max_h_samp_factor;
  auto left = static_cast<JDIMENSION>(may_crop ? std::max<int64_t>(box.x - margin, 0) : 0);
  const int64_t right = may_crop ? std::min(box.x + box.width + margin, width) : width;
  auto columns = static_cast<JDIMENSION>(right - left);
  if (columns != cinfo.output_width) jpeg_crop_scanline(&cinfo, &left, &columns);
  if (box.y > 0) jpeg_skip_scanlines(&cinfo, static_cast<JDIMENSION>(box.y));
  const int64_t channels = cinfo.out_color_components;
  if (columns == box.width && channels == out.shape.channels && cinfo.out_color_space != JCS_CMYK) {
    ReadWholeRows(out);
  } else {
    ReadRows(box, left, out);
  }
  if (box.y + box.height == height) {
    jpeg_finish_decompress(&cinfo);  // also looks for the end marker
  } else if (is_one_pass && !HasEnd()) {
    WARNMS(&cinfo, JWRN_JPEG_EOF);
  }
}

void JpegDecoder::Session::ReadWholeRows(const PixelsOf<uint8_t>& out) {
  JSAMPROW rows[kRowsAtOnce];
  for (int64_t y = 0; y < out.shape.height;) {
    const int64_t count = std::min<int64_t>(kRowsAtOnce, out.shape.height - y);
    for (int64_t i = 0; i < count; ++i) rows[i] = out.row(y + i);
    y += jpeg_read_scanlines(&cinfo, rows, static_cast<JDIMENSION>(count));
  }
}

void JpegDecoder::Session::ReadRows(const Box& box, int64_t left, const PixelsOf<uint8_t>& out) {
  const int64_t channels = cinfo.out_color_components;
  uint8_t* const values = row.data();
  uint8_t* const wanted = values + (box.x - left) * channels;
  JSAMPROW rows[] = {values};
  for (int64_t y = 0; y < box.height; ++y) {
    jpeg_read_scanlines(&cinfo, rows, 1);
    if (cinfo.out_color_space == JCS_CMYK) {
      CmykToColors(wanted, box.width);
      ConvertChannels(wanted, 3, box.width, out.row(y), out.shape.channels);
    } else {
      ConvertChannels(wanted, channels, box.width, out.row(y), out.shape.channels);
    }
  }
}

void JpegDecoder::Session::Decode(const DecodePart& part, const PixelsOf<uint8_t>& out) {
  Guarded([&] {
    BeginOutput(part, out.shape.channels);
    ReadPart(part, out);
  });
}

bool JpegDecoder::Decode(const DecodePart& part, bool partial, const PixelsOf<uint8_t>& out) {
  Session& session = *session_;
  constexpr size_t kMostChannels = 4;
  session.row.resize(kMostChannels * session.cinfo.image_width);
  session.may_be_damaged = partial;
  try {
    session.Decode(part, out);
  } catch (const Error&) {
    if (session.cut_segment == session.size) throw;
    // The image ends within a segment between two scans, so that it is read without the segment.
    Open(session.bytes, session.cut_segment);
    session.may_be_damaged = true;
    session.Decode(part, out);
  }
  return !session.is_damaged;
}

}  // namespace millhopper
