// SPDX-License-Identifier: Apache-2.0
// while: runs a block again and again as long as a condition is true.
#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

OpSchema WhileSchema() {
  return OpSchema("Runs a block again and again as long as a condition is true.")
      .Inputs("X", "outer variables that the block reads; may be left out")
      .AnyKind()
      .Input("Condition", "bool [1] on the CPU; the block writes it in each step")
      .Outputs("Out", "outer variables that the block writes; may be left out")
      .AnyKind()
      .OptionalOutput("StepScopes",
                      "accepted but not written: the variables of a step do not outlive it")
      .AnyKind()
      .Attr(AttributeSchema("sub_block", BlockIndex{}, "the body of the loop").Required())
      .LoopBlock("sub_block")
      .Attr({"is_test", false, "accepted but ignored: the steps of a loop are never kept"});
}

void While(OpContext& context) {
  const Variable& condition = context.InVar("Condition");
  PreparedBlock& body = context.Block("sub_block");
  RunState& run = context.run();
  const bool is_outermost = run.loops == 0;
  for (;;) {
    if (run.watcher != nullptr && is_outermost) run.watcher->BetweenSteps(context);
    if (!condition.Get<LoDTensor>().scalar<bool>()) break;
    if (run.steps == run.max_steps) {
      Throw(ErrorCode::kResourceLimit, "the loops have run --max_steps=", run.max_steps, " steps");
    }
    ++run.steps;
    CheckStop();  // a body without operators would never check
    ++run.loops;
    body.Run();
    --run.loops;
  }
}

REGISTER_OPERATOR(while, WhileSchema, While);

}  // namespace
}  // namespace millhopper
