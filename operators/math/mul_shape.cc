// SPDX-License-Identifier: Apache-2.0
#include "operators/math/mul_shape.h"

#include "framework/base/attribute.h"
#include "operators/support/arguments.h"

namespace millhopper {

MulShape MatchMul(const OpContext& context) {
  const LoDTensor& x = context.In("X");
  const LoDTensor& y = context.In("Y");
  const auto x_axis = static_cast<size_t>(context.Attr<int32_t>("x_num_col_dims"));
  const auto y_axis = static_cast<size_t>(context.Attr<int32_t>("y_num_col_dims"));
  RequireInput(x.dims().size() > x_axis, context, "X", "more than x_num_col_dims = ", x_axis,
               " axes are needed");
  RequireInput(y.dims().size() > y_axis, context, "Y", "more than y_num_col_dims = ", y_axis,
               " axes are needed");
  RequireSameType(context, "Y", "X");
  MulShape shape{1, 1, 1, {}};
  for (size_t i = 0; i < x_axis; ++i) {
    shape.rows *= x.dims()[i];
    shape.out.push_back(x.dims()[i]);
  }
  for (size_t i = x_axis; i < x.dims().size(); ++i) shape.inner *= x.dims()[i];
  int64_t y_rows = 1;
  for (size_t i = 0; i < y_axis; ++i) y_rows *= y.dims()[i];
  for (size_t i = y_axis; i < y.dims().size(); ++i) {
    shape.columns *= y.dims()[i];
    shape.out.push_back(y.dims()[i]);
  }
  if (y_rows != shape.inner) {
    ThrowUnfit(context, "Y",
               StrCat(shape.inner, " rows are needed, the columns of 'X' of dims ",
                      ToString(x.dims()), "; it has ", y_rows));
  }
  return shape;
}

std::optional<Dims> MulOutDims(const InferContext& context) {
  context.RequireSameType("Y", "X");
  if (!context.In("X").dims || !context.In("Y").dims) return std::nullopt;
  const Dims& x = *context.In("X").dims;
  const Dims& y = *context.In("Y").dims;
  const auto x_axis = static_cast<size_t>(context.Attr<int32_t>("x_num_col_dims"));
  const auto y_axis = static_cast<size_t>(context.Attr<int32_t>("y_num_col_dims"));
  if (x.size() <= x_axis) {
    context.ThrowUnfit("X", StrCat("more than x_num_col_dims = ", x_axis, " axes are needed"));
  }
  if (y.size() <= y_axis) {
    context.ThrowUnfit("Y", StrCat("more than y_num_col_dims = ", y_axis, " axes are needed"));
  }
  const std::optional<int64_t> columns = KnownProduct(x, x_axis, x.size());
  const std::optional<int64_t> rows = KnownProduct(y, 0, y_axis);
  if (columns && rows && *columns != *rows) {
    context.ThrowUnfit("Y", StrCat(context.Describe("X"), ", has ", *columns,
                                   " columns, but 'Y' has ", *rows, " rows"));
  }
  if (x_axis + y.size() - y_axis > kMaxRank) return std::nullopt;
  Dims out;
  for (size_t i = 0; i < x_axis; ++i) out.push_back(x[i]);
  for (size_t i = y_axis; i < y.size(); ++i) out.push_back(y[i]);
  return out;
}

OpSchema WithMulAttrs(OpSchema schema) {
  return schema
      .Attr(AttributeSchema("x_num_col_dims", int32_t{1},
                            "how many axes of X form the rows of its matrix")
                .AtLeast(1))
      .Attr(AttributeSchema("y_num_col_dims", int32_t{1},
                            "how many axes of Y form the rows of its matrix")
                .AtLeast(1));
}

}  // namespace millhopper
