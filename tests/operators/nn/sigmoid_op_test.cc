// SPDX-License-Identifier: Apache-2.0
// sigmoid and sigmoid_grad.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/operators/nn/activation_checks.h"

namespace millhopper {
namespace {

TEST(SigmoidOp, ActivatesValueByValueAndHasItsGradient) {
  CheckActivation("sigmoid", [](double x) { return 1 - 1 / (1 + std::exp(x)); });
}

}  // namespace
}  // namespace millhopper
