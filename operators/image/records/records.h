// SPDX-License-Identifier: Apache-2.0
// For operators that make one image of several records: X has the image of each record; Masks,
// Boxes, Points and With have what belongs to the first image, then, in the same order, what
// belongs to the second one, and so on. Each record has one image.
#ifndef MILLHOPPER_OPERATORS_IMAGE_RECORDS_RECORDS_H_
#define MILLHOPPER_OPERATORS_IMAGE_RECORDS_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "operators/image/geometry/boxes.h"
#include "operators/image/image_argument.h"
#include "operators/image/pixels/image.h"

namespace millhopper {

// The schema of X -> Out, Masks -> OutMasks, Boxes -> OutBoxes and With -> OutWith of so many
// records, with draws and the attribute `p`; `out` describes Out and `masks` Masks.
OpSchema RecordsSchema(std::string doc, size_t records, std::string out, std::string masks);

// Throws kInvalidArgument unless the inputs are those of `records` records and each has an output,
// and says that outputs have the types of what the first record has. Out becomes height x width,
// -1 if that is not known. Class masks become as large.
void InferRecords(InferContext& context, size_t records, int64_t height, int64_t width);

// Throws kInvalidArgument unless X has one image of each record, all with the type and channels of
// the first one; the same of masks, which have the size of their image.
void RequireRecords(const OpContext& context, size_t records);
// The same, and unless all images have one size, and masks are those of objects.
void RequireOneSize(const OpContext& context, size_t records);

// Makes the outputs of what the first record has.
void KeepFirst(OpContext& context);

// Argument `i` of record `record` for output argument i of a parameter.
inline size_t ArgumentOf(const OpContext& context, std::string_view output, size_t record,
                         size_t i) {
  return record * context.OutCount(output) + i;
}

// The rows of one image's tensors as those of one image. Throws kInvalidArgument, naming argument
// `i`, unless they have the type, the levels of detail and, but for axis 0, the dims of the first.
LoDTensor Joined(const OpContext& context, std::string_view parameter, size_t i,
                 const std::vector<LoDTensor>& parts);
// The same of argument i of all records.
LoDTensor Joined(const OpContext& context, std::string_view parameter, std::string_view output,
                 size_t records, size_t i);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_RECORDS_RECORDS_H_
