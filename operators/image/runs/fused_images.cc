// SPDX-License-Identifier: Apache-2.0
#include "operators/image/runs/fused_images.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/base/record_id.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"
#include "operators/image/codecs/image_decoder.h"
#include "operators/image/pixels/framing.h"
#include "operators/image/pixels/image_finish.h"
#include "operators/image/pixels/orientation.h"
#include "operators/image/pixels/resample.h"
#include "operators/image/runs/image_run.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

// A step that changes which pixels are seen, and the key of its draws.
struct FramingStep {
  std::variant<CropStep, CenterCropStep, RandomCropStep, ResizeStep, RandomResizedCropStep,
               RandomShortestSizeStep, ScaleJitterStep, ResizeKeepRatioStep, FlipStep>
      step;
  RandomKey key;
};

// The key that ImageKey gives an operator, without the element.
RandomKey KeyOf(const ImageRun::Step& step, const RunState& state) {
  const bool draws = step.attributes.Has("seed");
  const auto seed = static_cast<uint64_t>(draws ? step.attributes.Get<int32_t>("seed") : 0);
  return {state.seed, seed, step.out};
}

std::optional<FramingStep> FramingStepOf(const ImageRun::Step& step, const RunState& state) {
  const RandomKey key = KeyOf(step, state);
  if (step.type == "crop") return FramingStep{CropStep(step.attributes), key};
  if (step.type == "center_crop") return FramingStep{CenterCropStep(step.attributes), key};
  if (step.type == "random_crop") return FramingStep{RandomCropStep(step.attributes), key};
  if (step.type == "resize") return FramingStep{ResizeStep(step.attributes), key};
  if (step.type == "flip") return FramingStep{FlipStep(step.attributes), key};
  if (step.type == "random_resized_crop") {
    return FramingStep{RandomResizedCropStep(step.attributes), key};
  }
  if (step.type == "random_shortest_size") {
    return FramingStep{RandomShortestSizeStep(step.attributes), key};
  }
  if (step.type == "scale_jitter") return FramingStep{ScaleJitterStep(step.attributes), key};
  if (step.type == "resize_keep_ratio") {
    return FramingStep{ResizeKeepRatioStep(step.attributes), key};
  }
  return std::nullopt;
}

// The scale at which an image is decoded so that both sides of the part stay at least twice as long
// as what becomes of them.
int ScaleFor(const Box& part, const Resize& resize) {
  constexpr int kLargest = 8;
  constexpr int64_t kMargin = 2;
  int scale = 1;
  while (scale < kLargest && part.height >= 2 * kMargin * scale * resize.height &&
         part.width >= 2 * kMargin * scale * resize.width) {
    scale *= 2;
  }
  return scale;
}

// The operators of one run.
class FusedImages final : public FusedOperators {
 public:
  FusedImages(const ImageRun& run, Scope* scope, const RunState* state)
      : state_(state),
        source_(scope->Find(run.source)),
        decoded_(scope->Find(run.steps.front().out)),
        result_(scope->Find(run.result())),
        decode_(run.steps.front().attributes) {
    for (auto step = run.steps.begin() + 1; step != run.steps.end(); ++step) {
      if (std::optional<FramingStep> framing = FramingStepOf(*step, *state)) {
        framing_.push_back(*std::move(framing));
      } else if (step->type == "normalize") {
        normalize_.emplace(step->attributes);
      } else {
        finish_.planes = true;
      }
    }
    finish_.normalized = normalize_.has_value();
  }

  void AppendTo(Rows* rows, size_t slot) override {
    rows_ = rows;
    slot_ = slot;
  }

  bool Outline() override {
    return Try([this](const LoDTensor& encoded) {
      const Ref<ImageDecoder> decoder = ImageDecoder::Take();
      const ImageShape shape = decode_.ShapeOf(Open(decoder.get(), encoded));
      decoded_->GetMutable<LoDTensor>()->Outline(DataType::kUint8,
                                                 {1, shape.height, shape.width, shape.channels});
    });
  }

  bool Run() override {
    return Try([this](const LoDTensor& encoded) { Make(encoded); });
  }

  void Clear() override {
    stored_.Clear();
    upright_.Clear();
    resampler_ = Resampler();
  }

 private:
  // Calls function(encoded) if there is one image. Returns false if not, or if an operator is going
  // to fail.
  template <typename Function>
  bool Try(Function function) {
    const LoDTensor& encoded = source_->Get<LoDTensor>();
    const bool is_one_image = encoded.dtype() == DataType::kUint8 && encoded.dims().size() == 1 &&
                              encoded.on_host() && encoded.bytes() > 0 &&
                              (encoded.lod().empty() || encoded.instances() == 1);
    if (!is_one_image) return false;
    try {
      function(encoded);
    } catch (const Error& error) {
      const bool is_for_the_operator =
          error.code() == ErrorCode::kDataLoss || error.code() == ErrorCode::kInvalidArgument;
      if (!is_for_the_operator) throw;
      return false;
    }
    return true;
  }

  const ImageHeader& Open(ImageDecoder* decoder, const LoDTensor& encoded) const {
    return decoder->Open(encoded.raw_data(), encoded.bytes(), decode_.max_pixels, decode_.mode);
  }

  void Make(const LoDTensor& encoded) {
    const Ref<ImageDecoder> decoder = ImageDecoder::Take();
    const ImageHeader& header = Open(decoder.get(), encoded);
    const int orientation = decode_.OrientationOf(header);
    const ImageShape shape = decode_.ShapeOf(header);
    PrepareFinish(shape.channels);
    const Framing framing = Frame(shape);

    DecodePart part;
    part.box = framing.window();
    if (framing.is_resized()) {
      const bool may_scale = !decode_.exact && header.format == ImageFormat::kJpeg;
      part.scale = may_scale ? ScaleFor(framing.source(), resize_) : 1;
      part.box = PlanResize(framing, part.scale, shape.channels);
    }
    const PixelsOf<const uint8_t> pixels = Decode(decoder.get(), part, orientation, shape.channels);

    const ImageShape made{framing.height(), framing.width(), shape.channels};
    void* const result = ResultOf(made);
    if (framing.is_resized()) {
      resampler_.Run(pixels,
                     [&](int64_t y, const uint8_t* row) { finish_.PutRow(made, y, row, result); });
    } else {
      for (int64_t y = 0; y < made.height; ++y) finish_.PutRow(made, y, pixels.row(y), result);
    }
  }

  void PrepareFinish(int64_t channels) {
    if (!normalize_) return;
    normalize_->Check(channels);
    for (int64_t c = 0; c < channels; ++c) {
      finish_.factor[c] = normalize_->factor(c);
      finish_.offset[c] = normalize_->offset(c);
    }
  }

  // What the crops, the resize and the flips leave of an image of this shape.
  Framing Frame(const ImageShape& whole) {
    Framing framing(whole);
    for (const FramingStep& next : framing_) {
      const RandomKey key = state_->record == nullptr ? next.key : next.key.Of(*state_->record);
      const ImageShape shape{framing.height(), framing.width(), whole.channels};
      if (const auto* crop = std::get_if<CropStep>(&next.step)) {
        framing.Crop(crop->Of(shape));
      } else if (const auto* center_crop = std::get_if<CenterCropStep>(&next.step)) {
        framing.Crop(center_crop->Of(shape));
      } else if (const auto* random_crop = std::get_if<RandomCropStep>(&next.step)) {
        framing.Crop(random_crop->Of(shape, key, 0));
      } else if (const auto* flip = std::get_if<FlipStep>(&next.step)) {
        if (flip->Draw(key, 0)) framing.Flip(flip->horizontal);
      } else if (const auto* random = std::get_if<RandomResizedCropStep>(&next.step)) {
        framing.Crop(random->Of(shape, key, 0));
        SetSize(random->resize, {random->resize.height, random->resize.width}, &framing);
      } else if (const auto* shortest = std::get_if<RandomShortestSizeStep>(&next.step)) {
        SetSize(shortest->resize, shortest->Of(shape, key, 0), &framing);
      } else if (const auto* jitter = std::get_if<ScaleJitterStep>(&next.step)) {
        SetSize(jitter->resize, jitter->Of(shape, key, 0), &framing);
      } else if (const auto* keeping = std::get_if<ResizeKeepRatioStep>(&next.step)) {
        SetSize(keeping->resize, keeping->Of(shape, key, 0), &framing);
      } else {
        const Resize resize = std::get<ResizeStep>(next.step).Of(shape);
        SetSize(resize, {resize.height, resize.width}, &framing);
      }
    }
    finish_.mirrored = framing.mirrored();
    finish_.upside_down = framing.upside_down();
    return framing;
  }

  void SetSize(const Resize& resize, const ImageSize& size, Framing* framing) {
    resize_ = resize;
    resize_.height = size.height;
    resize_.width = size.width;
    framing->Resize(size.height, size.width);
  }

  // Returns which pixels of the image at this scale are needed.
  Box PlanResize(const Framing& framing, int scale, int64_t channels) {
    const Box& source = framing.source();
    // All pixels that the source touches. Nothing around them is seen, as if it had been cropped.
    Box touched;
    touched.x = source.x / scale;
    touched.y = source.y / scale;
    touched.width = (source.x + source.width + scale - 1) / scale - touched.x;
    touched.height = (source.y + source.height + scale - 1) / scale - touched.y;
    const auto scaled = [scale](int64_t length) { return static_cast<double>(length) / scale; };
    const FractionalBox from{scaled(source.x) - static_cast<double>(touched.x),
                             scaled(source.y) - static_cast<double>(touched.y),
                             scaled(source.width), scaled(source.height)};
    resampler_.Plan({touched.height, touched.width, channels}, from, resize_, framing.window());
    Box needed = resampler_.needed();
    needed.x += touched.x;
    needed.y += touched.y;
    return needed;
  }

  // Decodes the part that the box shows of the upright image.
  PixelsOf<const uint8_t> Decode(ImageDecoder* decoder, DecodePart part, int orientation,
                                 int64_t channels) {
    const Box upright_box = part.box;
    part.box = ToStored(upright_box, orientation, Scaled(decoder->header().stored, part.scale));
    const ImageShape stored{part.box.height, part.box.width, channels};
    uint8_t* const values = stored_.Allocate<uint8_t>({stored.values()});
    decoder->Decode(part, decode_.partial, Contiguous(values, stored));
    const PixelsOf<const uint8_t> pixels = Contiguous<const uint8_t>(values, stored);
    if (orientation == 1) return pixels;
    const ImageShape upright{upright_box.height, upright_box.width, channels};
    uint8_t* const turned = upright_.Allocate<uint8_t>({upright.values()});
    Orient(pixels, orientation, Contiguous(turned, upright));
    return Contiguous<const uint8_t>(turned, upright);
  }

  // The place for the result.
  void* ResultOf(const ImageShape& made) {
    const DataType dtype = finish_.normalized ? DataType::kFp32 : DataType::kUint8;
    const Dims dims = finish_.planes ? Dims{1, made.channels, made.height, made.width}
                                     : Dims{1, made.height, made.width, made.channels};
    if (rows_ != nullptr) return rows_->Append(slot_, dtype, dims);
    auto* const result = result_->GetMutable<LoDTensor>();
    result->Allocate(dtype, dims);
    return result->mutable_raw_data();
  }

  const RunState* const state_;
  Variable* const source_;
  Variable* const decoded_;
  Variable* const result_;
  const DecodeStep decode_;
  std::vector<FramingStep> framing_;
  std::optional<NormalizeStep> normalize_;
  ImageFinish finish_;

  Rows* rows_ = nullptr;
  size_t slot_ = 0;

  Resize resize_;
  Resampler resampler_;
  LoDTensor stored_, upright_;  // decoded pixels
};

}  // namespace

std::optional<OperatorRun> FuseImages(const Program& program, int block, int op,
                                      const std::vector<std::string>& sinks) {
  std::optional<ImageRun> run = FindImageRun(program, block, op, sinks);
  if (!run) return std::nullopt;
  OperatorRun fused;
  for (const ImageRun::Step& step : run->steps) fused.ops.push_back(step.op);
  fused.source = run->source;
  fused.result = run->result();
  fused.only_sink = run->only_sink;
  fused.outlined = run->outlined;
  fused.prepare = [images = *std::move(run)](Scope* scope, const RunState* state) {
    return std::make_unique<FusedImages>(images, scope, state);
  };
  return fused;
}

}  // namespace millhopper
