// SPDX-License-Identifier: Apache-2.0
// reset: begins the next pass of a reader.
#include "framework/program/operator.h"
#include "operators/readers/support/reader_variable.h"

namespace millhopper {
namespace {

OpSchema ResetSchema() {
  return OpSchema("Begins the next pass of a reader, wherever it is in the current one.")
      .Input("Reader", "a reader; readers that decorate it begin their next pass, too")
      .Reader()
      .SideEffects();
}

void Reset(OpContext& context) { ReaderOf(context, "Reader").ReInit(); }

REGISTER_OPERATOR(reset, ResetSchema, Reset);

}  // namespace
}  // namespace millhopper
