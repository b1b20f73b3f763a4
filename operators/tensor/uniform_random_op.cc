// SPDX-License-Identifier: Apache-2.0
// uniform_random: random numbers of a uniform distribution.
#include "framework/base/attribute.h"
#include "operators/tensor/random_tensor.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return RandomSchema("Random numbers, uniform from min to max.")
      .Attr({"min", -1.0f, "the lowest"})
      .Attr({"max", 1.0f, "the highest"});
}

void Run(OpContext& context) {
  const double lowest = context.Attr<float>("min");
  const double range = context.Attr<float>("max") - lowest;
  Require(range >= 0, "attribute 'max' is ", lowest + range, ", below 'min', which is ", lowest);
  RunRandom(context, [=](const RandomKey& key, int64_t i) {
    return lowest + range * ToUnitDouble(key.Bits(0, static_cast<uint64_t>(i)));
  });
}

REGISTER_OPERATOR(uniform_random, Schema, Run);

}  // namespace
}  // namespace millhopper
