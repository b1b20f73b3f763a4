// SPDX-License-Identifier: Apache-2.0
// relu and relu_grad.
#include <gtest/gtest.h>

#include "tests/operators/nn/activation_checks.h"

namespace millhopper {
namespace {

TEST(ReluOp, ActivatesValueByValueAndHasItsGradient) {
  CheckActivation("relu", [](double x) { return x > 0 ? x : x * 0; });
}

}  // namespace
}  // namespace millhopper
