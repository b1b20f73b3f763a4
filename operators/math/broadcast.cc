// SPDX-License-Identifier: Apache-2.0
#include "operators/math/broadcast.h"

#include "framework/program/infer_context.h"

namespace millhopper {
namespace {

// Throws if Y does not fit X, whatever the unknown dims turn out to be.
void RequireBroadcast(const InferContext& context) {
  context.RequireSameType("Y", "X");
  const TensorSpec& x_spec = context.In("X");
  const TensorSpec& y_spec = context.In("Y");
  if (!x_spec.dims || !y_spec.dims || MayBeSame(*x_spec.dims, *y_spec.dims)) return;
  const Dims& x = *x_spec.dims;
  const Dims& y = *y_spec.dims;
  const auto x_rank = static_cast<int64_t>(x.size());
  const auto y_rank = static_cast<int64_t>(y.size());
  int64_t axis = context.Attr<int32_t>("axis");
  if (axis == -1) axis = x_rank - y_rank;
  int64_t ones = 0;  // trailing dims of Y that are, or may be, 1
  while (ones < y_rank && (y[y_rank - 1 - ones] == 1 || y[y_rank - 1 - ones] < 0)) ++ones;
  bool fits = axis >= 0;
  for (int64_t k = 0; fits && k < y_rank - ones; ++k) {
    fits = axis + k < x_rank && (x[axis + k] < 0 || y[k] < 0 || x[axis + k] == y[k]);
  }
  if (fits) return;
  context.ThrowUnfit("Y", StrCat("its dims must be those of ", context.Describe("X"),
                                 ", or a part of them that begins at axis ", axis));
}

}  // namespace

AttributeSchema AxisAttr() {
  return AttributeSchema("axis", int32_t{-1},
                         "the axis of X where Y's dims begin; -1: Y has X's last dims")
      .AtLeast(-1);
}

Broadcast MatchPart(const OpContext& context) {
  const LoDTensor& x = context.In("X");
  const LoDTensor& y = context.In("Y");
  RequireSameType(context, "Y", "X");
  Broadcast broadcast;
  const auto x_rank = static_cast<int64_t>(x.dims().size());
  auto y_rank = static_cast<int64_t>(y.dims().size());
  int64_t axis = context.Attr<int32_t>("axis");
  if (axis == -1) axis = x_rank - y_rank;
  while (y_rank > 0 && y.dims()[y_rank - 1] == 1) --y_rank;
  bool fits = axis >= 0 && axis + y_rank <= x_rank;
  for (int64_t k = 0; fits && k < y_rank; ++k) fits = x.dims()[axis + k] == y.dims()[k];
  if (!fits) {
    ThrowUnfit(context, "Y",
               StrCat("its dims must be those of 'X', ", ToString(x.dims()),
                      ", or a part of them that begins at axis ", axis));
  }
  // The other dims of an X without values may be of any size, and so may their products.
  if (x.numel() == 0) return {0, 0, 0};
  for (int64_t k = 0; k < x_rank; ++k) {
    int64_t& part = k < axis            ? broadcast.outer
                    : k < axis + y_rank ? broadcast.middle
                                        : broadcast.inner;
    part *= x.dims()[k];
  }
  return broadcast;
}

InferRule LikeBroadcast(std::vector<std::pair<std::string, std::string>> outputs,
                        std::optional<DataType> type) {
  return [outputs = std::move(outputs), type](InferContext& context) {
    RequireBroadcast(context);
    for (const auto& [output, input] : outputs) {
      TensorSpec spec = context.In(input);
      if (type) spec.dtype = type;
      context.SetOut(output, spec);
    }
  };
}

}  // namespace millhopper
