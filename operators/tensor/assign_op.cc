// SPDX-License-Identifier: Apache-2.0
// assign: a copy of X.
#include <vector>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/program/scope.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("Copies X, a tensor or a list of tensors. Does nothing without X.")
      .OptionalInput("X", "a tensor or a list of tensors")
      .AnyKind()
      .Output("Out", "the copy")
      .AnyKind()
      .Infer([](InferContext& context) {
        if (context.InCount("X") > 0) context.SetOutVar("Out", context.InVar("X"));
      });
}

// X and Out share the values until one of them is written.
void Run(OpContext& context) {
  if (context.InCount("X") == 0) return;
  const Variable& from = context.InVar("X");
  Variable& to = context.OutVar("Out");
  if (&from == &to) return;
  using TensorList = std::vector<LoDTensor>;
  if (from.Holds<TensorList>()) {
    *to.GetMutable<TensorList>() = from.Get<TensorList>();
  } else {
    const LoDTensor& tensor = context.In("X");
    *to.GetMutable<LoDTensor>() = tensor;
  }
}

REGISTER_OPERATOR(assign, Schema, Run);

}  // namespace
}  // namespace millhopper
