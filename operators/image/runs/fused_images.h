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

#include <optional>
#include <string>
#include <vector>

#include "framework/program/operator_run.h"

namespace millhopper {

class Program;

// The rewrite (OpSchema::Rewrite) of decode_image. Several images in one tensor are left to the
// operators.
std::optional<OperatorRun> FuseImages(const Program& program, int block, int op,
                                      const std::vector<std::string>& sinks);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_RUNS_FUSED_IMAGES_H_
