// SPDX-License-Identifier: Apache-2.0
// is_empty.
#include <gtest/gtest.h>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(IsEmptyOp, TellsWhetherThereAreNoValues) {
  for (const Dims& dims : {Dims{2, 0}, Dims{0}, Dims{1, 2}}) {
    LoDTensor x;
    x.Allocate(DataType::kBf16, dims);
    for (const RunOpOptions& options : {RunOpOptions(), RunOpOptions{{{"Out", "X"}}, 0}}) {
      const LoDTensor out = RunOp("is_empty", {{"X", x}}, {"Out"}, {}, options).at("Out");
      EXPECT_EQ(out.dims(), (Dims{1}));
      EXPECT_EQ(ValuesOf<bool>(out)[0], dims != (Dims{1, 2})) << ToString(dims);
    }
  }
}

TEST(IsEmptyOp, RefusesAVariableWithoutAValue) {
  ExpectRefused("x_variable", "is_empty", {{"X", LoDTensor()}}, {"Out"});
}

}  // namespace
}  // namespace millhopper
