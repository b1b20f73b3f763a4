// SPDX-License-Identifier: Apache-2.0
// For operators on images. An image tensor has dims [N, H, W, C], N images of one size with 1 to 4
// channels, and holds uint8 from 0 to 255, float32, or uint16 from a file of 16 bits. In a block
// that is run for every element N is 1, so that a batch reader makes [N, H, W, C] of the elements.
//
// Random draw number k of image i is Bits(i, k) of a key (framework/base/random.h), which is made
// of the run's --seed, the operator's `seed` and the name of its output, and, in a block that is
// run for every element of a reader, of the element's pass and sample. A main program has no such
// element; there the optional input Step tells one run of the operator from the next.
#ifndef MILLHOPPER_OPERATORS_IMAGE_IMAGE_ARGUMENT_H_
#define MILLHOPPER_OPERATORS_IMAGE_IMAGE_ARGUMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "framework/base/random.h"
#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "operators/image/pixels/image.h"
#include "operators/support/arguments.h"

namespace millhopper {

using ImageTypes = Types<uint8_t, uint16_t, float>;

// The schema of X -> Out, both images; `out` describes Out.
OpSchema ImageSchema(std::string doc, std::string out);
// The same for an operator that draws random numbers.
OpSchema RandomImageSchema(std::string doc, std::string out);
// Declares the attribute `seed` and the input Step, which such an operator has.
OpSchema WithDraws(OpSchema schema);

// ---- For OpSchema::Infer. ----

// The dims [N, H, W, C] of an input of images, -1 where unknown. Throws kInvalidArgument if the
// input cannot hold images.
Dims InferImages(const InferContext& context, std::string_view parameter = "X", size_t i = 0);
// Says that an output holds images of these dims and of the type of X.
void SetOutImages(InferContext& context, const Dims& dims);
// The rule of an operator whose Out has the dims and the type of X.
void InferSameImages(InferContext& context);
// As InferImages, of an input that may be [N, C, H, W], too. `channels` becomes how many there are,
// -1 if that is not known.
Dims InferEitherLayout(const InferContext& context, int64_t* channels);

// ---- For the function that runs an operator. ----

// The shape of every image of an input. Throws kInvalidArgument if the input holds no images.
ImageShape ShapeOfImages(const OpContext& context, std::string_view parameter = "X", size_t i = 0);
// Images of either layout: [N, H, W, C], or [N, C, H, W] where only the second axis has 1 to 4.
struct ImagePlanes {
  int64_t channels() const { return count * shape.channels; }
  int64_t values() const { return count * shape.values(); }  // of an image

  int64_t count;     // of an image, one after another: 1, or C
  ImageShape shape;  // of a plane
};
// The planes of every image of X. Throws kInvalidArgument if it holds no images of either layout.
ImagePlanes PlanesOfImages(const OpContext& context);
// The key of the draws of an operator with RandomImageSchema.
RandomKey ImageKey(OpContext& context);
// Image i of a tensor of images of type T.
template <typename T>
PixelsOf<const T> ImageOf(const LoDTensor& images, int64_t i) {
  const Dims& dims = images.dims();
  const ImageShape shape{dims[1], dims[2], dims[3]};
  return Contiguous(images.data<T>() + i * shape.values(), shape);
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_IMAGE_ARGUMENT_H_
