// SPDX-License-Identifier: Apache-2.0
// Tensors seen as rows along their last axis, and the labels that classify such rows.
#ifndef MILLHOPPER_OPERATORS_NN_LAST_AXIS_H_
#define MILLHOPPER_OPERATORS_NN_LAST_AXIS_H_

#include <cstdint>
#include <string_view>

#include "framework/base/attribute.h"
#include "framework/program/infer_context.h"
#include "operators/support/arguments.h"

namespace millhopper {

struct LastAxis {
  int64_t rows;    // all other axes together
  int64_t length;  // at least 1
};

// The rows of the input `parameter`. Throws if it has no axis or its rows have no values.
LastAxis RowsOf(const OpContext& context, std::string_view parameter);

// The dims with `length` as the last axis.
Dims WithLastAxis(Dims dims, int64_t length);

// The values of the input Label: for each row of the input `of` an int64 class, from 0 to the row's
// length minus 1. Throws if Label has another type, other dims than WithLastAxis(dims of `of`, 1),
// or a label that is no class.
const int64_t* ClassLabels(const OpContext& context, std::string_view of);

// WithLastAxis for what is known of a tensor. Its levels of detail stay unless they divide the last
// axis and its length changes.
TensorSpec WithLastAxis(TensorSpec spec, int64_t length);
// Throws if what is known of Label shows that it cannot label the rows of `of`, with classes as for
// ClassLabels or, if soft_label is true, with the dims and type of `of`.
void RequireLabels(const InferContext& context, std::string_view of);

// The value of `soft_label`. Throws if it is true and Label does not have the dims and type of
// `of`.
bool HasSoftLabels(const OpContext& context, std::string_view of);

// Throws unless the input `parameter` has the type of the input `of` and one value for each of its
// `rows` rows.
void RequireValuePerRow(const OpContext& context, std::string_view parameter, std::string_view of,
                        int64_t rows);

// The attribute `soft_label`: whether Label holds a weight for each class.
AttributeSchema SoftLabelAttr();

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_NN_LAST_AXIS_H_
