// SPDX-License-Identifier: Apache-2.0
// What every operator that draws random numbers must do.
#ifndef MILLHOPPER_TESTS_OPERATORS_TENSOR_RANDOM_CHECKS_H_
#define MILLHOPPER_TESTS_OPERATORS_TENSOR_RANDOM_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/operators/run_op.h"

namespace millhopper {

// What the operator `type` draws in its own program, run with --seed=`run_seed`.
LoDTensor Draw(const std::string& type, const std::vector<int32_t>& shape, DataType dtype,
               uint64_t run_seed, Attributes attributes = {});

// The first values that an operator draws. They were computed by other code, from the definitions
// in framework/base/random.h.
struct GoldenValues {
  uint64_t run_seed;
  int32_t seed;
  std::vector<double> values;
};

// Checks that the operator draws these values. They depend on the seeds and on the name of the
// variable, but not on the shape. Also checks float32 and float64, and shapes without values.
void CheckRandomOp(const std::string& type, const std::vector<GoldenValues>& golden);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_TENSOR_RANDOM_CHECKS_H_
