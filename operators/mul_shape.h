// SPDX-License-Identifier: Apache-2.0
// How mul and its gradient see tensors of any rank as matrices.
#ifndef MILLHOPPER_OPERATORS_MUL_SHAPE_H_
#define MILLHOPPER_OPERATORS_MUL_SHAPE_H_

#include <cstdint>
#include <optional>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// X is [rows, inner] and Y [inner, columns].
struct MulShape {
  int64_t rows, inner, columns;
  Dims out;  // of Out: the axes of X that are rows, then those of Y that are columns
};

// The inputs X and Y by the attributes x_num_col_dims and y_num_col_dims. Throws if one has too few
// axes, the types differ, or X has not as many columns as Y has rows.
MulShape MatchMul(const OpContext& context);

// The dims of Out, where what is known of the inputs tells them. Throws as MatchMul does, if it is
// so whatever is not known.
std::optional<Dims> MulOutDims(const InferContext& context);

// Adds both attributes.
OpSchema WithMulAttrs(OpSchema schema);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MUL_SHAPE_H_
