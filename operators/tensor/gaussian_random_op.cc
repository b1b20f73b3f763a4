// SPDX-License-Identifier: Apache-2.0
// gaussian_random: random numbers of a normal distribution.
#include <cmath>

#include "framework/base/attribute.h"
#include "operators/tensor/random_tensor.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return RandomSchema("Random numbers of a normal distribution.")
      .Attr({"mean", 0.0f, "the mean of the numbers"})
      .Attr(AttributeSchema("std", 1.0f, "their standard deviation").AtLeast(0));
}

// Box and Muller: the random bits 2p and 2p + 1 give two uniform numbers, and these give the values
// 2p (with the cosine) and 2p + 1 (with the sine).
double StandardNormal(const RandomKey& key, uint64_t i) {
  constexpr double kFullTurn = 6.283185307179586;
  const uint64_t pair = i & ~uint64_t{1};
  const double above_zero = 1.0 - ToUnitDouble(key.Bits(0, pair));
  const double angle = kFullTurn * ToUnitDouble(key.Bits(0, pair + 1));
  return std::sqrt(-2.0 * std::log(above_zero)) * (i == pair ? std::cos(angle) : std::sin(angle));
}

void Run(OpContext& context) {
  const double mean = context.Attr<float>("mean");
  const double deviation = context.Attr<float>("std");
  RunRandom(context, [=](const RandomKey& key, int64_t i) {
    return mean + deviation * StandardNormal(key, static_cast<uint64_t>(i));
  });
}

REGISTER_OPERATOR(gaussian_random, Schema, Run);

}  // namespace
}  // namespace millhopper
