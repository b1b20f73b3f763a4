// SPDX-License-Identifier: Apache-2.0
// conditional_block: runs a block once if a condition holds.
#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/run_state.h"
#include "proto/framework.pb.h"

namespace millhopper {
namespace {

int ArgumentCount(const proto::OpDesc& op, const std::string& parameter) {
  for (const proto::OpDesc::Var& input : op.inputs()) {
    if (input.parameter() == parameter) return input.arguments_size();
  }
  return 0;
}

OpSchema ConditionalBlockSchema() {
  return OpSchema("Runs a block once if no X is empty or, with is_scalar_condition, if X is true.")
      .Inputs("X", "the condition")
      .Inputs("Params", "outer variables that the block reads; may be left out")
      .AnyKind()
      .Outputs("Out", "outer variables that the block writes; may be left out")
      .AnyKind()
      .OptionalOutput("Scope", "accepted but not written: the block's variables do not outlive it")
      .AnyKind()
      .Attr(AttributeSchema("sub_block", BlockIndex{}, "the block to run").Required())
      .Attr({"is_scalar_condition", false,
             "true: X is one bool, whose value decides; false: the block is run unless an X is "
             "empty"})
      .Check([](const proto::OpDesc& op, const AttributeMap& attributes) {
        if (!attributes.Get<bool>("is_scalar_condition")) return;
        Require(ArgumentCount(op, "X") == 1,
                "with is_scalar_condition slot 'X' takes 1 argument, not ", ArgumentCount(op, "X"));
      });
}

bool Holds(const OpContext& context) {
  if (context.Attr<bool>("is_scalar_condition")) return context.In("X").OnHost().scalar<bool>();
  for (size_t i = 0; i < context.InCount("X"); ++i) {
    if (context.In("X", i).numel() == 0) return false;
  }
  return true;
}

void ConditionalBlock(OpContext& context) {
  // A resumed run is within the block; the condition may have changed since it was looked at.
  const bool resumes = !context.run().resume_at.empty();
  if (resumes || Holds(context)) context.Block("sub_block").Run();
}

REGISTER_OPERATOR(conditional_block, ConditionalBlockSchema, ConditionalBlock);

}  // namespace
}  // namespace millhopper
