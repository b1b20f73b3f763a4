// SPDX-License-Identifier: Apache-2.0
// Runs operators on images that follow one another (image_run.h) as one: decodes only the pixels
// that the crop needs, resizes, mirrors, normalises and turns them into planes in one pass,
// straight into the place of the result, without a whole image in between and without allocations.
//
// The result is that of the operators one after another, bit for bit, except where a large JPEG
// image becomes much smaller and decode_image's attribute `exact` is false: then it is decoded at
// 1/2, 1/4 or 1/8 of its size, at least twice the size of the result (operators/image/README.md
// says what that changes).
#ifndef MILLHOPPER_OPERATORS_IMAGE_RUNS_FUSED_IMAGES_H_
#define MILLHOPPER_OPERATORS_IMAGE_RUNS_FUSED_IMAGES_H_

#include <cstddef>
#include <memory>

#include "operators/image/runs/image_run.h"

namespace millhopper {

class Rows;
class Scope;
struct RunState;

// One thread at a time.
class FusedImages {
 public:
  // For a block that is prepared with these variables. Both must outlive this.
  FusedImages(const ImageRun& run, Scope* scope, const RunState* state);
  ~FusedImages();
  FusedImages(const FusedImages&) = delete;
  FusedImages& operator=(const FusedImages&) = delete;

  // From now on Run appends the result to a slot of these rows, of which every element is one step
  // of the result's type and dims, instead of giving it to its variable. Null ends that.
  void AppendTo(Rows* rows, size_t slot);

  // Makes the result of the encoded image that the source variable holds. Returns false and changes
  // nothing if the operators have to be run one after another: for several images, or if one of the
  // operators will fail, so that the error names that operator.
  bool Run();

  // Frees memory that is kept for the next image.
  void Clear();

 private:
  class Work;
  const std::unique_ptr<Work> work_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_RUNS_FUSED_IMAGES_H_
