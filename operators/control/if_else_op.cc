// SPDX-License-Identifier: Apache-2.0
// if_else: runs one of two blocks.
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/run_state.h"

namespace millhopper {
namespace {

OpSchema IfElseSchema() {
  return OpSchema("Runs one block if a condition is true, another one if it is not.")
      .Input("Cond", "bool [1]")
      .Attr({"true_block", BlockIndex{}, "run if the condition is true; none by default"})
      .Attr({"false_block", BlockIndex{}, "run if it is not; none by default"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        Require(attributes.Get<BlockIndex>("true_block").value >= 0 ||
                    attributes.Get<BlockIndex>("false_block").value >= 0,
                "neither true_block nor false_block is given");
      });
}

void IfElse(OpContext& context) {
  const std::vector<OperatorNumber>& resume_at = context.run().resume_at;
  // A resumed run is within a block; the condition may have changed since it was looked at.
  const bool condition =
      resume_at.empty() ? context.In("Cond").OnHost().scalar<bool>()
                        : resume_at.back().block == context.Attr<BlockIndex>("true_block").value;
  const char* const block = condition ? "true_block" : "false_block";
  if (context.IsGiven(block)) context.Block(block).Run();
}

REGISTER_OPERATOR(if_else, IfElseSchema, IfElse);

}  // namespace
}  // namespace millhopper
