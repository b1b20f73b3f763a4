// SPDX-License-Identifier: Apache-2.0
// For operators that move the pixels of images: what belongs to the images moves with them, by the
// same draws. X may be several images of one size; Masks are images whose values are not mixed;
// Boxes and Points are places in the images (boxes.h).
#ifndef MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_GEOMETRIC_H_
#define MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_GEOMETRIC_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "operators/image/image_argument.h"
#include "operators/image/pixels/affine.h"
#include "operators/image/pixels/image.h"
#include "operators/image/pixels/projection.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {

// The schema of X -> Out, Masks -> OutMasks, Boxes -> OutBoxes, Points -> OutPoints, and Matrix;
// `out` describes Out.
OpSchema GeometricSchema(std::string doc, std::string out);

// The rows of Matrix of an operator that keeps parallels parallel, and of one that projects.
constexpr int64_t kAffineRows = 2, kProjectionRows = 3;

// Declares `mask_fill`: the value of pixels of masks that lie outside of them.
OpSchema& WithMaskFill(OpSchema& schema);
// That value. Throws kInvalidArgument unless it is from 0 to 65535.
int32_t MaskFillOf(const AttributeMap& attributes);

// Says that images and masks become height x width, where -1 is unknown, with the types that they
// have, and that boxes and points keep their dims. Throws kInvalidArgument unless each input has an
// output, and can hold what it is for.
void InferMoved(InferContext& context, int64_t height, int64_t width,
                int64_t matrix_rows = kAffineRows);

// The size that images get of which image i gets size_of(i); their own if there are none. Throws
// kInvalidArgument unless it is one.
ImageSize OneSize(const OpContext& context, const std::function<ImageSize(uint64_t i)>& size_of);

// Where things go, both in pixels from the upper left corner.
using PlaceMap = Projection;

// The map of an operator that keeps the part `box` of an image, and makes it height x width.
PlaceMap MapOfPart(const Box& box, int64_t height, int64_t width);
// The map of an operator that takes each pixel of an image of height x width, which is made of one
// of this size, from where `inverse` says.
PlaceMap MapOfWarp(const AffineMap& inverse, const ImageShape& from, int64_t height, int64_t width);
inline PlaceMap MapOfWarp(const Projection& inverse, const ImageShape&, int64_t, int64_t) {
  return InverseOf(inverse);
}

// Makes OutBoxes and OutPoints: move(i, place) is where a place of image i goes, both in pixels
// from the upper left corner. Call it before MoveImages, which may overwrite X.
void MoveBoxesAndPoints(OpContext& context, int64_t height, int64_t width,
                        const std::function<ImagePoint(uint64_t i, const ImagePoint& place)>& move);

// Whether something is asked for that MovePlaces makes.
bool MovesPlaces(const OpContext& context);
// The same by the map of each image, with Matrix.
void MovePlaces(OpContext& context, int64_t height, int64_t width,
                const std::vector<PlaceMap>& maps, int64_t matrix_rows = kAffineRows);
// The same; map_of(i) is the map of image i.
template <typename MapOf>
void MovePlaces(OpContext& context, int64_t height, int64_t width, MapOf map_of,
                int64_t matrix_rows = kAffineRows) {
  if (!MovesPlaces(context)) return;
  std::vector<PlaceMap> maps;
  const auto images = static_cast<uint64_t>(context.In("X").dims()[0]);
  for (uint64_t i = 0; i < images; ++i) maps.push_back(map_of(i));
  MovePlaces(context, height, width, maps, matrix_rows);
}

// All of X, then all of Masks: copies that share the values, since an output may be any of them.
// Throws kInvalidArgument unless they hold as many images of the same size as the first X, or are
// masks whose level of detail divides them among as many.
std::vector<LoDTensor> MovedImages(const OpContext& context);
// Which of the first X a mask belongs to.
uint64_t ImageOfMask(const LoDTensor& masks, uint64_t mask);

// Makes Out of X and OutMasks of Masks, each of height x width: calls function(i, from, to,
// is_mask) for each image with its pixels and a place for the new ones, both of the type of the
// input. Each output may be its input. Of images without values (LoDTensor::Outline), whose pixels
// a fused run makes (operators/image/runs), only the dims are moved.
template <typename Function>
void MoveImages(OpContext& context, int64_t height, int64_t width, Function function) {
  CheckPixels(height, width);
  const std::vector<LoDTensor> inputs = MovedImages(context);
  auto input = inputs.begin();
  const auto move = [&](const char* parameter, const char* output, bool is_mask) {
    for (size_t argument = 0; argument < context.InCount(parameter); ++argument) {
      const LoDTensor& images = *input++;
      LoDTensor* const out = context.Out(output, argument);
      VisitType(ImageTypes(), images.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const ImageShape made{height, width, images.dims()[3]};
        const int64_t n = images.dims()[0];
        if (!images.initialized()) {
          out->Outline(images.dtype(), {n, height, width, made.channels});
          return;
        }
        T* const values = out->Allocate<T>({n, height, width, made.channels});
        if (is_mask && !images.lod().empty()) *out->mutable_lod_unchecked() = images.lod();
        if (made.values() == 0) return;  // nor may time be spent on billions of rows without pixels
        for (int64_t i = 0; i < n; ++i) {
          const auto number = static_cast<uint64_t>(i);
          function(is_mask ? ImageOfMask(images, number) : number, ImageOf<T>(images, i),
                   Contiguous(values + i * made.values(), made), is_mask);
        }
      });
    }
  };
  move("X", "Out", false);
  move("Masks", "OutMasks", true);
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_GEOMETRY_GEOMETRIC_H_
