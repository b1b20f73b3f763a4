// SPDX-License-Identifier: Apache-2.0
// Tensors seen as rows along their last axis, and the labels that classify such rows.
#ifndef MILLHOPPER_OPERATORS_LAST_AXIS_H_
#define MILLHOPPER_OPERATORS_LAST_AXIS_H_

#include <cstdint>
#include <string_view>

#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "operators/arguments.h"

namespace millhopper {

struct LastAxis {
  int64_t rows;    // all other axes together
  int64_t length;  // at least 1
};

// How the input `parameter` is made of rows. Throws if it has no axis or its rows no values.
LastAxis RowsOf(const OpContext& context, std::string_view parameter);

// Dims that differ in the last axis.
Dims WithLastAxis(Dims dims, int64_t length);

// The input Label: for each row of the input `of` an int64 class, from 0 to the row's length less
// 1, in the dims of `of` with 1 as the last. Throws for anything else.
const int64_t* ClassLabels(const OpContext& context, std::string_view of);

// The same of what is known of a tensor. Its levels of detail stay if it has another axis.
TensorSpec WithLastAxis(TensorSpec spec, int64_t length);
// Throws unless what is known of Label may be labels of `of`: ClassLabels, or with soft_label the
// dims and type of `of`.
void RequireLabels(const InferContext& context, std::string_view of);

// Whether the operator has `soft_label` set. Throws if it has and Label has not dims and type of
// `of`.
bool HasSoftLabels(const OpContext& context, std::string_view of);

// Throws unless the input `parameter` has one value of the type of `of` for each row of it, of
// which there are `rows`.
void RequireValuePerRow(const OpContext& context, std::string_view parameter, std::string_view of,
                        int64_t rows);

// The attribute `soft_label`: whether Label holds a weight for each class.
AttributeSchema SoftLabelAttr();

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_LAST_AXIS_H_
