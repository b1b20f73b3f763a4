// SPDX-License-Identifier: Apache-2.0
// Resizes images: along the rows first, then along the columns, with weights that depend on the
// filter. The arithmetic for uint8 is that of Pillow 9.4 (src/libImaging/Resample.c): weights of 22
// bits after the point, and values rounded to uint8 after each direction. So the values are those
// of Pillow up to 12, on every processor. (Pillow 13 resizes some images along the columns first,
// which rounds other values.)
#ifndef MILLHOPPER_OPERATORS_IMAGE_PIXELS_RESAMPLE_H_
#define MILLHOPPER_OPERATORS_IMAGE_PIXELS_RESAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/image/pixels/image.h"

namespace millhopper {

// The filters of Pillow; kArea is its BOX.
enum class Interpolation { kNearest, kBilinear, kBicubic, kArea, kLanczos };

// How an image is resized.
struct Resize {
  int64_t height = 0, width = 0;  // of the result
  Interpolation interpolation = Interpolation::kBilinear;
  // Whether the filter becomes wider when the image becomes smaller, so that every pixel counts, as
  // Pillow always does. Without it, a result is made of the pixels next to its place, whatever lies
  // between. Nearest and area do not depend on it.
  bool antialias = true;
};

// A rectangle of pixels whose sides may lie within pixels.
struct FractionalBox {
  double x = 0, y = 0, width = 0, height = 0;
};

// All of an image.
inline FractionalBox WholeOf(const ImageShape& shape) {
  return {0, 0, static_cast<double>(shape.width), static_cast<double>(shape.height)};
}

// What each of some neighbouring results is made of, along one direction.
class ResampleWeights {
 public:
  // For the results `first` to `first + count` of `size`, which stand for the part from `begin` to
  // `end` of `in_size` pixels, 0 <= begin < end <= in_size.
  void Compute(int64_t in_size, double begin, double end, int64_t size, int64_t first,
               int64_t count, Interpolation interpolation, bool antialias);

  int64_t count() const { return static_cast<int64_t>(starts_.size()); }
  // The pixels that any result uses are from begin() to end().
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  // The first of the pixels that make result i; that of the next result is no smaller.
  int64_t start(int64_t i) const { return starts_[static_cast<size_t>(i)]; }
  const int64_t* starts() const { return starts_.data(); }
  // The weights of these pixels, in units of 2^-22; their number is taps(), a multiple of 4. The
  // last ones may be 0, for pixels that are not used and need not exist.
  const int32_t* weights(int64_t i) const { return &weights_[static_cast<size_t>(i * taps_)]; }
  // The same for instructions that multiply numbers of 16 bits: for each four weights their lower
  // bits (kLowBits of them), which are not negative, then their upper bits.
  const int16_t* halves(int64_t i) const { return &halves_[static_cast<size_t>(2 * i * taps_)]; }
  // The same as fractions.
  const double* fractions(int64_t i) const { return &fractions_[static_cast<size_t>(i * taps_)]; }
  int64_t taps() const { return taps_; }
  // How many of them are used.
  int64_t used(int64_t i) const { return used_[static_cast<size_t>(i)]; }

 private:
  // Makes weights_ and halves_ of fractions_.
  void RoundFractions();

  int64_t begin_ = 0, end_ = 0, taps_ = 0;
  std::vector<int64_t> starts_, used_;
  std::vector<int32_t> weights_;
  std::vector<int16_t> halves_;
  std::vector<double> fractions_;
};

// Resizes images, one after another, and uses its memory again. One thread at a time.
class Resampler {
 public:
  // Says what is wanted: the part `window` of the result of resizing the part `from` of an image of
  // `whole` pixels. Throws kInvalidArgument if a size is 0 or the filter would need too many
  // pixels.
  void Plan(const ImageShape& whole, const FractionalBox& from, const Resize& resize,
            const Box& window);
  // The pixels of the image that are used.
  Box needed() const;

  // Calls row(y, values) for each row of the window from top to bottom; the values are
  // window.width x channels, and valid until the next row. `pixels` are those of needed(). Colours
  // and gray with alpha are weighed by it (alpha.h), as Pillow does, where the filter mixes pixels:
  // not by kNearest, and not if the whole image keeps its size.
  template <typename Row>
  void Run(const PixelsOf<const uint8_t>& pixels, Row row) {
    BeginColumns(pixels);
    for (int64_t y = 0; y < down_.count(); ++y) row(y, MakeRow(y));
  }
  // The same for float32, and for uint16 as Pillow does of its mode I;16: computed in double and
  // rounded once for each direction, to whole numbers from 0 to 65535 if they are such. Each
  // channel is one like any other.
  template <typename T>
  void RunInDouble(const PixelsOf<const T>& pixels, const PixelsOf<T>& out);

 private:
  // Resizes along the rows.
  void BeginColumns(const PixelsOf<const uint8_t>& pixels);
  // Makes row y of the window.
  const uint8_t* MakeRow(int64_t y);

  ResampleWeights across_, down_;
  bool weighs_by_alpha_ = false;
  int64_t channels_ = 0;
  int64_t row_values_ = 0;
  std::vector<uint8_t> weighed_;  // the pixels, multiplied by alpha
  std::vector<uint8_t> rows_;     // resized along the rows
  std::vector<uint8_t> row_;      // one row of the result
  std::vector<float> float_rows_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_PIXELS_RESAMPLE_H_
