// SPDX-License-Identifier: Apache-2.0
// decode_image: JPEG, PNG, WebP, TIFF, GIF, BMP and PNM images become pixels.
#include <cstdint>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/memory/buffer.h"
#include "framework/memory/memory.h"
#include "framework/memory/place.h"
#include "framework/program/infer_context.h"
#include "operators/image/codecs/image_decoder.h"
#include "operators/image/pixels/orientation.h"
#include "operators/image/runs/fused_images.h"
#include "operators/image/runs/image_steps.h"
#include "operators/support/arguments.h"
#include "operators/support/sequences.h"

namespace millhopper {
namespace {

constexpr char kWanted[] =
    "encoded images are uint8 [n], the bytes of one or, with one level of detail, of several";

bool MayBeEncoded(const TensorSpec& spec) {
  return spec.dtype.value_or(DataType::kUint8) == DataType::kUint8 &&
         (!spec.dims || spec.dims->size() == 1) && spec.lod_level.value_or(0) <= 1;
}

void Infer(InferContext& context) {
  const TensorSpec& x = context.In("X");
  if (!MayBeEncoded(x)) context.ThrowUnfit("X", kWanted);
  const int64_t images = x.lod_level && *x.lod_level == 0 ? 1 : -1;
  const DecodeStep step(context.attributes());
  const int64_t channels = step.mode == DecodeMode::kIndices ? 1
                           : step.channels == 0              ? -1
                                                             : step.channels;
  const bool has_16_bits = step.mode == DecodeMode::k16Bits;
  context.SetOut("Out", {has_16_bits ? DataType::kUint16 : DataType::kUint8,
                         Dims{images, -1, -1, channels}, 0});
  context.SetOut("Truncated", {DataType::kBool, Dims{images}, 0});
}

OpSchema Schema() {
  OpSchema schema(
      "Decodes images: JPEG (baseline, progressive and arithmetic; gray, colours and CMYK), "
      "PNG (every depth and type), WebP (no animations), TIFF (the first page: gray, colours, "
      "CMYK and palettes of up to 16 bits), GIF (the first frame), BMP and PBM, PGM and PPM, told "
      "apart by their bytes. JPEG "
      "has the pixels of libjpeg-turbo's default (accurate integer DCT, smooth chroma), "
      "CMYK becomes colours as with Pillow (ink times black / 255). 16 bits become the "
      "upper 8, a palette its colours, a transparent colour (tRNS) an alpha of 0; gamma and "
      "colour profiles are ignored. For the numbers of a palette, and for values of 16 bits, see "
      "mode.");
  schema
      .Input("X",
             "uint8 [n]: the bytes of one image, or, with one level of detail, of N images, which "
             "must have one size after decoding")
      .Output("Out", "uint8 [N, H, W, C]; uint16 with mode I;16")
      .OptionalOutput("Truncated", "bool [N]: whether a part of the image was lost (see partial)")
      .Attr(AttributeSchema(
                "channels", int32_t{0},
                "0: those of the image, which are 1 gray, 2 gray and alpha, 3 colours or 4 colours "
                "and alpha; 1, 3 or 4: these. Gray of JPEG is its luminance, of others (19595 r + "
                "38470 g + 7471 b + 32768) / 65536 as with Pillow; new alpha is 255")
                .AtLeast(0));
  AddModeAttribute(&schema);
  return schema.Attr({"orientation", true, "turn and mirror images as their EXIF data asks"})
      .Attr({"partial", false,
             "false: a damaged or truncated image is an error; true: what could be read of it, the "
             "rest being made up by the codec (mostly gray) or 0. A damaged header is always an "
             "error"})
      .Attr(AttributeSchema("max_pixels", int64_t{1} << 26,
                            "more pixels are an error, before memory is taken for them")
                .AtLeast(1))
      .Attr({"exact", false,
             "true: decode JPEG images at full size, even where the same run of operators makes "
             "them at most a quarter as long and wide. false: such an image is decoded at 1/2, 1/4 "
             "or 1/8 of its size, which changes values: of photographs by 0.4 of 255 on average, "
             "at hard edges by 50 at most, as far as has been measured "
             "(operators/image/README.md); with "
             "interpolation area by 1.6 and 120, and with nearest they are means of pixels. Alone "
             "the operator always decodes at full size"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto channels = attributes.Get<int32_t>("channels");
        Require(channels <= 4 && channels != 2, "attribute 'channels' is ", channels,
                "; it must be 0, 1, 3 or 4");
        Require(channels <= 1 || DecodeStep(attributes).mode != DecodeMode::kIndices,
                "attribute 'channels' is ", channels, "; with mode P images have 1 channel");
      })
      .Infer(Infer)
      .Rewrite(FuseImages);
}

bool DecodeStored(ImageDecoder* decoder, bool partial, const PixelsOf<uint8_t>& out) {
  return decoder->Decode(WholeImage(decoder->header().stored), partial, out);
}

bool DecodeStored(ImageDecoder* decoder, bool partial, const PixelsOf<uint16_t>& out) {
  return decoder->Decode16(partial, out);
}

// Decodes the image that is open; returns whether nothing of it was lost.
template <typename T>
bool DecodeOpen(ImageDecoder* decoder, const DecodeStep& step, T* values) {
  const ImageHeader& header = decoder->header();
  ImageShape stored = header.stored;
  stored.channels = step.ChannelsOf(header);
  const int orientation = step.OrientationOf(header);
  if (orientation == 1) return DecodeStored(decoder, step.partial, Contiguous(values, stored));
  const size_t bytes = static_cast<size_t>(stored.values()) * sizeof(T);
  const Ref<Buffer> buffer = BufferPool::At(Place()).Take(bytes);
  auto* const scratch = reinterpret_cast<T*>(buffer->data());
  const bool is_whole = DecodeStored(decoder, step.partial, Contiguous(scratch, stored));
  Orient(Contiguous<const T>(scratch, stored), orientation,
         Contiguous(values, Upright(stored, orientation)));
  return is_whole;
}

// Decodes images of one size, one after another, to values of type T.
template <typename T>
class Images {
 public:
  Images(OpContext* context, const DecodeStep& step, int64_t count)
      : step_(step), count_(count), out_(context->Out("Out")) {}

  bool Add(const uint8_t* bytes, size_t size) {
    const ImageShape shape =
        step_.ShapeOf(decoder_->Open(bytes, size, step_.max_pixels, step_.mode));
    if (values_ == nullptr) {
      shape_ = shape;
      values_ = out_->template Allocate<T>({count_, shape.height, shape.width, shape.channels});
      out_->set_lod({});
    }
    Require(shape == shape_, "it has ", shape.height, " x ", shape.width, " pixels of ",
            shape.channels, " channels, the first one ", shape_.height, " x ", shape_.width, " of ",
            shape_.channels, "; images of one tensor have one size: resize them one by one, in a ",
            "block for the elements of a reader");
    const bool is_whole = DecodeOpen(decoder_.get(), step_, values_);
    values_ += shape.values();
    return is_whole;
  }

 private:
  const DecodeStep& step_;
  const int64_t count_;
  LoDTensor* const out_;
  const Ref<ImageDecoder> decoder_ = ImageDecoder::Take();
  ImageShape shape_;
  T* values_ = nullptr;  // of the next image
};

// Returns which images were truncated.
template <typename T>
std::vector<bool> DecodeAll(OpContext& context, const DecodeStep& step, const LoDTensor& x) {
  const Sequences encoded(x);
  const auto count = static_cast<int64_t>(encoded.size());
  RequireInput(count > 0, context, "X", "there must be an image");
  const auto* const bytes = x.data<uint8_t>();
  std::vector<bool> truncated;
  Images<T> images(&context, step, count);
  for (size_t i = 0; i < encoded.size(); ++i) {
    try {
      truncated.push_back(!images.Add(bytes + encoded.begin(i), encoded.length(i)));
    } catch (...) {
      if (count == 1) throw;
      throw CurrentError().WithContext(StrCat("while decoding image ", i, " of ", count));
    }
  }
  return truncated;
}

void Run(OpContext& context) {
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  RequireInput(MayBeEncoded(SpecOf(x)), context, "X", kWanted);
  const DecodeStep step(context.attributes());
  const std::vector<bool> truncated = step.mode == DecodeMode::k16Bits
                                          ? DecodeAll<uint16_t>(context, step, x)
                                          : DecodeAll<uint8_t>(context, step, x);
  if (IsWanted(context, "Truncated")) {
    LoDTensor* const out = context.Out("Truncated");
    const auto count = static_cast<int64_t>(truncated.size());
    std::copy(truncated.begin(), truncated.end(), out->Allocate<bool>({count}));
    out->set_lod({});
  }
}

REGISTER_OPERATOR(decode_image, Schema, Run);

}  // namespace
}  // namespace millhopper
