// SPDX-License-Identifier: Apache-2.0
// accuracy: the share of rows whose label is among the classes that top_k found.
#include <algorithm>

#include "operators/nn/last_axis.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("The share of rows whose label is among the classes that top_k found.")
      .Input("Out", "the values that top_k wrote; not read")
      .Input("Indices", "the classes that top_k found: int64 [n, k]")
      .Input("Label", "int64 [n, 1]")
      .Output("Accuracy", "float32 [1]; 0 if there are no rows")
      .Output("Correct", "int32 [1], how many rows these are")
      .Output("Total", "int32 [1], number of rows")
      .Infer(One({{"Accuracy", DataType::kFp32},
                  {"Correct", DataType::kInt32},
                  {"Total", DataType::kInt32}}));
}

void Run(OpContext& context) {
  const LoDTensor& indices = context.In("Indices");
  const LoDTensor& label = context.In("Label");
  const LastAxis shape = RowsOf(context, "Indices");
  RequireInput(indices.dtype() == DataType::kInt64, context, "Indices", "int64 is needed");
  const Dims wanted = WithLastAxis(indices.dims(), 1);
  if (label.dtype() != DataType::kInt64 || label.dims() != wanted) {
    ThrowUnfit(
        context, "Label",
        StrCat("int64 ", ToString(wanted), " is needed, one class for each row of 'Indices'"));
  }
  const auto* row = indices.data<int64_t>();
  int32_t correct = 0;
  for (int64_t i = 0; i < shape.rows; ++i, row += shape.length) {
    const int64_t wanted_class = label.data<int64_t>()[i];
    if (std::find(row, row + shape.length, wanted_class) != row + shape.length) ++correct;
  }
  *context.Out("Accuracy")->Allocate<float>({1}) =
      shape.rows == 0 ? 0.0f : static_cast<float>(correct) / static_cast<float>(shape.rows);
  *context.Out("Correct")->Allocate<int32_t>({1}) = correct;
  *context.Out("Total")->Allocate<int32_t>({1}) = static_cast<int32_t>(shape.rows);
}

REGISTER_OPERATOR(accuracy, Schema, Run);

}  // namespace
}  // namespace millhopper
