// SPDX-License-Identifier: Apache-2.0
// has_next: whether a reader has a next element.
#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"
#include "operators/readers/support/reader_variable.h"

namespace millhopper {
namespace {

OpSchema HasNextSchema() {
  return OpSchema("Tells whether a reader has a next element; reads nothing.")
      .Input("Reader", "the top-most reader of a chain")
      .Reader()
      .Output("Out", "bool [1] on the CPU")
      .Infer([](InferContext& context) {
        context.SetOut("Out", {DataType::kBool, Dims{1}, 0});
      })
      .SideEffects();
}

void HasNext(OpContext& context) {
  const bool has_next = ReaderOf(context, "Reader").HasNext();
  *context.Out("Out")->Allocate<bool>({1}) = has_next;
}

REGISTER_OPERATOR(has_next, HasNextSchema, HasNext);

}  // namespace
}  // namespace millhopper
