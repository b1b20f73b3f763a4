// SPDX-License-Identifier: Apache-2.0
#include "operators/broadcast.h"

namespace millhopper {

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
  for (int64_t k = 0; k < x_rank; ++k) {
    int64_t& part = k < axis            ? broadcast.outer
                    : k < axis + y_rank ? broadcast.middle
                                        : broadcast.inner;
    part *= x.dims()[k];
  }
  return broadcast;
}

}  // namespace millhopper
