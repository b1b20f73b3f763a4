// SPDX-License-Identifier: Apache-2.0
// tanh and tanh_grad.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/operators/nn/activation_checks.h"

namespace millhopper {
namespace {

TEST(TanhOp, ActivatesValueByValueAndHasItsGradient) {
  CheckActivation("tanh", [](double x) { return 1 - 2 / (std::exp(2 * x) + 1); });
}

}  // namespace
}  // namespace millhopper
