// SPDX-License-Identifier: Apache-2.0
// For tests of operators on images: images with known values, and one line for running them.
#ifndef MILLHOPPER_TESTS_OPERATORS_IMAGE_CHECKS_H_
#define MILLHOPPER_TESTS_OPERATORS_IMAGE_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "tests/run_op.h"
#include "tests/testing.h"

namespace millhopper {

// Images of random bytes.
inline LoDTensor RandomImages(const Dims& dims, uint64_t seed = 1) {
  const RandomKey key(seed, 0, "images");
  std::vector<uint8_t> values(static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<uint8_t>(key.Bits(0, k));
  return MakeTensor<uint8_t>(dims, values);
}

// Images whose values change slowly, so that a place that is off by little changes them little.
inline LoDTensor SmoothImages(const Dims& dims) {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < dims[0]; ++i) {
    for (int64_t y = 0; y < dims[1]; ++y) {
      for (int64_t x = 0; x < dims[2]; ++x) {
        for (int64_t c = 0; c < dims[3]; ++c) {
          values.push_back(static_cast<uint8_t>(20 + 3 * y + 4 * x + 17 * c + i));
        }
      }
    }
  }
  return MakeTensor<uint8_t>(dims, values);
}

// The output of an operator on images.
inline LoDTensor RunImageOp(const std::string& type, const LoDTensor& images,
                            const Attributes& attributes = {}, uint64_t seed = 0) {
  return RunOp(type, {{"X", images}}, {"Out"}, attributes, {{}, seed}).at("Out");
}

// The key that such an operator draws from.
inline RandomKey ImageOpKey(uint64_t seed = 0, uint64_t operator_seed = 0) {
  return RandomKey(seed, operator_seed, "out_variable");
}

// A draw as a number in [0, 1).
inline double UnitOf(uint64_t bits) { return static_cast<double>(bits >> 11) / 9007199254740992.0; }

using Floats = std::vector<float>;

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_IMAGE_CHECKS_H_
