// SPDX-License-Identifier: Apache-2.0
// is_empty: whether X has no values.
#include "framework/tensor/tensor.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("Whether X has no values.")
      .Input("X", "any tensor")
      .Output("Out", "bool [1]")
      .Infer(One({{"Out", DataType::kBool}}));
}

void Run(OpContext& context) {
  const bool empty = context.In("X").numel() == 0;
  *context.Out("Out")->Allocate<bool>({1}) = empty;
}

REGISTER_OPERATOR(is_empty, Schema, Run);

}  // namespace
}  // namespace millhopper
