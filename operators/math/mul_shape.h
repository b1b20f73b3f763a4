// SPDX-License-Identifier: Apache-2.0
// How mul and its gradient see tensors of any rank as matrices.
#ifndef MILLHOPPER_OPERATORS_MATH_MUL_SHAPE_H_
#define MILLHOPPER_OPERATORS_MATH_MUL_SHAPE_H_

#include <cstdint>
#include <optional>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// X is [rows, inner] and Y [inner, columns].
struct MulShape {
  int64_t rows, inner, columns;
  Dims out;  // of Out: the axes that form the rows of X, then those that form the columns of Y
};

// The inputs X and Y as matrices, by the attributes x_num_col_dims and y_num_col_dims. Throws if
// one has too few axes, the types differ, or the columns of X are not as many as the rows of Y.
MulShape MatchMul(const OpContext& context);

// The dims of Out, if the known dims of the inputs determine them. Throws as MatchMul does if the
// inputs cannot fit, whatever their unknown dims are.
std::optional<Dims> MulOutDims(const InferContext& context);

// Adds both attributes.
OpSchema WithMulAttrs(OpSchema schema);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATH_MUL_SHAPE_H_
