// SPDX-License-Identifier: Apache-2.0
// reshape and reshape_grad.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

Attributes Shape(const std::vector<int32_t>& shape) { return {{"shape", shape}}; }

TEST(ReshapeOp, GivesOtherDims) {
  const LoDTensor x = MakeTensor<int64_t>({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {{0, 2}});
  const auto dims = [&](const std::vector<int32_t>& shape) {
    const LoDTensor out = RunOp("reshape", {{"X", x}}, {"Out"}, Shape(shape)).at("Out");
    EXPECT_EQ(ValuesOf<int64_t>(out), ValuesOf<int64_t>(x));
    EXPECT_EQ(out.lod(), out.dims()[0] == 2 ? x.lod() : Lod());
    return out.dims();
  };
  EXPECT_EQ(dims({3, 4}), (Dims{3, 4}));
  EXPECT_EQ(dims({2, 3, 2}), (Dims{2, 3, 2}));
  EXPECT_EQ(dims({-1}), (Dims{12}));
  EXPECT_EQ(dims({4, -1, 1}), (Dims{4, 3, 1}));
  EXPECT_EQ(dims({0, -1, 2}), (Dims{2, 3, 2}));
  EXPECT_EQ(dims({1, 0, 2}), (Dims{1, 6, 2}));
}

TEST(ReshapeOp, MayTakeThePlaceOfXAndTakesNoRows) {
  const LoDTensor x = MakeTensor<float>({0, 4}, {});
  EXPECT_EQ(RunOp("reshape", {{"X", x}}, {"Out"}, Shape({-1, 2, 2}), {{{"Out", "X"}}, 0})
                .at("Out")
                .dims(),
            (Dims{0, 2, 2}));
}

TEST(ReshapeOp, HasTheGradientOfDifferences) {
  const LoDTensor x = MakeTensor<double>({2, 2}, {1, 2, 3, 4}, {{0, 1, 2}});
  ExpectGradients({"reshape", {{"X", x}}, {"Out"}, "Out", {"X"}, {"X"}, Shape({4})});
  const LoDTensor dout = MakeTensor<double>({4}, {5, 6, 7, 8});
  for (const char* slot : {"X", "Out@GRAD"}) {
    const LoDTensor dx = RunOp("reshape_grad", {{"X", x}, {"Out@GRAD", dout}}, {"X@GRAD"},
                               Shape({4}), {{{"X@GRAD", slot}}, 0})
                             .at("X@GRAD");
    EXPECT_EQ(ValuesOf<double>(dx), ValuesOf<double>(dout));
    EXPECT_EQ(dx.dims(), x.dims());
    EXPECT_EQ(dx.lod(), x.lod());
  }
}

TEST(ReshapeOp, RefusesWhatDoesNotFit) {
  const LoDTensor x = MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto refused = [&](const std::string& words, const std::vector<int32_t>& shape) {
    ExpectRefused(words, "reshape", {{"X", x}}, {"Out"}, Shape(shape));
  };
  refused("input 'X' (variable 'x_variable') is float32 [2, 3]; its values do not fit dims [4]",
          {4});
  refused("its values do not make whole rows of dims [-1, 4]", {-1, 4});
  refused("shape takes axis 2 from it, which it does not have", {2, 3, 0});
  refused("attribute 'shape' holds more than one -1", {-1, -1});
  refused("attribute 'shape' is -2; it must be at least -1", {-2});
  ExpectRefused(
      "input 'Out@GRAD' (variable 'out@grad_variable') is float32 [1]; as many values as in "
      "'X' are needed, 6",
      "reshape_grad", {{"X", x}, {"Out@GRAD", MakeTensor<float>({1}, {1})}}, {"X@GRAD"},
      Shape({6}));
}

}  // namespace
}  // namespace millhopper
